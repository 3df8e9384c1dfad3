#include "plan/scratchpad.hpp"

namespace tessera {
namespace {

std::string kilobytes(std::int64_t bytes) {
  const std::int64_t tenths = (bytes * 10 + 512) / 1024;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + " KB";
}

std::int64_t stage_bytes(const TileConfig& tile, const GemmTypes& types) {
  const std::int64_t rows = tile.block_m / tile.cluster_m;
  const std::int64_t cols = tile.block_n / tile.cluster_n;
  return tile.block_k * (rows * size_of(types.a) + cols * size_of(types.b));
}

}  // namespace

std::int64_t scratchpad_bytes(const TileConfig& tile, const GemmTypes& types,
                              std::int64_t epilogue_bytes) {
  return tile.stages * stage_bytes(tile, types) + epilogue_bytes;
}

std::int64_t accumulator_bytes(const TileConfig& tile, const GemmTypes& types) {
  return std::int64_t{tile.block_m} * tile.block_n * size_of(accumulator_of(types));
}

std::optional<std::string> why_not_resident(const TileConfig& tile, const GemmTypes& types,
                                            std::int64_t epilogue_bytes, const Machine& machine) {
  const std::int64_t needed = scratchpad_bytes(tile, types, epilogue_bytes);
  if (needed <= machine.scratchpad_bytes) return std::nullopt;
  return "wants " + kilobytes(needed) + " of scratchpad (" + std::to_string(tile.stages) +
         (tile.stages == 1 ? " stage of " : " stages of ") + kilobytes(stage_bytes(tile, types)) +
         " and " + kilobytes(epilogue_bytes) + " for the epilogue); the machine has " +
         kilobytes(machine.scratchpad_bytes);
}

}  // namespace tessera
