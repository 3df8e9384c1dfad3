#include "plan/scratchpad.hpp"

#include "core/block_spec.hpp"

namespace tessera {
namespace {

std::string kilobytes(std::int64_t bytes) {
  const std::int64_t tenths = (bytes * 10 + 512) / 1024;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " KB";
}

}  // namespace

ScratchpadUse scratchpad_use(const TileConfig& tile, const GemmTypes& types,
                             std::int64_t epilogue_bytes) {
  const OperandSpecs specs = operand_specs(tile);
  return {.a_bytes = specs.a.elements() / tile.cluster_m * size_of(types.a),
          .b_bytes = specs.b.elements() / tile.cluster_n * size_of(types.b),
          .stages = tile.stages,
          .epilogue_bytes = epilogue_bytes};
}

std::int64_t accumulator_bytes(const TileConfig& tile, const GemmTypes& types) {
  return operand_specs(tile).c.elements() * size_of(accumulator_of(types));
}

std::int64_t epilogue_bytes(const KernelEntry* kernel, const TileConfig& tile,
                            const GemmTypes& types) {
  return kernel != nullptr ? kernel->epilogue_bytes : accumulator_bytes(tile, types);
}

std::optional<std::string> why_not_resident(const ScratchpadUse& use, const Machine& machine) {
  if (use.total() <= machine.scratchpad_bytes) return std::nullopt;
  return "wants " + kilobytes(use.total()) + " of scratchpad (" + std::to_string(use.stages) +
         (use.stages == 1 ? " stage of " : " stages of ") + kilobytes(use.stage_bytes()) + " and " +
         kilobytes(use.epilogue_bytes) + " for the epilogue); the machine has " +
         kilobytes(machine.scratchpad_bytes);
}

}  // namespace tessera
