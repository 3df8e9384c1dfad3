// GPU tiles: those of the compiled kernels; or the caller's, compiled or not.
#include <algorithm>

#include "core/operand_copies.hpp"
#include "core/sm90_tiles.hpp"
#include "plan/candidates.hpp"
#include "plan/scratchpad.hpp"

namespace tessera {
namespace {

bool same_blocks(const TileConfig& p, const TileConfig& q) {
  return p.block_m == q.block_m && p.block_n == q.block_n && p.block_k == q.block_k;
}

// A worker is a cluster of blocks, one on each SM. Clusters lie within groups of 16 or 18 SMs,
// which larger clusters do not fill: 30 of four blocks run at once on an H200, and 15 of eight, of
// 33 and 16 by the count of SMs.
int workers_of(const PlanRequest& request, const TileConfig& tile) {
  if (request.options.workers) return *request.options.workers;
  const int blocks = tile.cluster_m * tile.cluster_n;
  const int sms = request.machine.workers;
  return std::max(1, (blocks > 2 ? sms * 10 / 11 : sms) / blocks);
}

std::optional<std::string> why_not_resident(const PlanRequest& request, const TileConfig& tile,
                                            const KernelEntry* kernel) {
  const GemmTypes& types = request.problem.types;
  return why_not_resident(scratchpad_use(tile, types, epilogue_bytes(kernel, tile, types)),
                          request.machine);
}

// As many stages as fit, since more hide more latency; up to 4, beyond which nothing was gained on
// any GPU so far. One stage is kept even if it does not fit: the rejection then shows both numbers.
int choose_stages(const PlanRequest& request, TileConfig tile) {
  constexpr int kEnoughStages = 4;
  for (tile.stages = kEnoughStages; tile.stages > 1; --tile.stages) {
    if (!why_not_resident(request, tile, nullptr)) break;
  }
  return tile.stages;
}

// The caller's tile where no kernel has it: planned as if there were one whose epilogue holds a
// whole tile of accumulators.
void add_analytic(const PlanRequest& request, TileConfig tile, TileChoices& choices) {
  if (tile.stages <= 1) tile.stages = choose_stages(request, tile);
  if (auto reason = why_not_resident(request, tile, nullptr)) {
    choices.rejected.push_back({std::string(kAnalyticKernel), tile, *reason});
    return;
  }
  choices.accepted.push_back({nullptr, tile, workers_of(request, tile)});
}

}  // namespace

void enumerate_gpu_tiles(const PlanRequest& request, TileChoices& choices) {
  const auto& wanted = request.options.tile;
  for (const KernelEntry& kernel : cuda_kernels()) {
    if (kernel.a != request.problem.types.a || kernel.b != request.problem.types.b) continue;
    const auto reject = [&](std::string reason) {
      choices.rejected.push_back({std::string(kernel.name), kernel.tile, std::move(reason)});
    };
    if (request.options.kernel && *request.options.kernel != kernel.name) continue;
    if (request.for_layer != nullptr && request.for_layer->name != kernel.name) {
      reject("does worse by layers of experts");
    } else if (kernel.is_for_layers && request.for_layer == nullptr && !request.options.kernel) {
      reject("is for layers of experts, or for who names it");
    } else if (wanted && !same_blocks(*wanted, kernel.tile)) {
      reject("has tiles of another shape than was asked for");
    } else if (auto reason = why_not(kernel, request.problem, request.machine)) {
      reject(*reason);
    } else if (auto in_place = why_not_in_place(kernel, request.problem);
               in_place && !may_copy(request.options)) {
      reject(*in_place);
    } else if (auto too_big = why_not_resident(request, kernel.tile, &kernel)) {
      reject(*too_big);
    } else {
      choices.accepted.push_back({&kernel, kernel.tile, workers_of(request, kernel.tile)});
    }
  }
  if (wanted && choices.accepted.empty() && !request.options.kernel) {
    add_analytic(request, *wanted, choices);
  }
}

}  // namespace tessera
