#include "plan/explain.hpp"

#include <algorithm>

#include "core/catalogue.hpp"
#include "plan/intensity.hpp"
#include "plan/passing.hpp"
#include "plan/shape_runs.hpp"

namespace tessera {
namespace {

Intensities intensities_of(const Plan& plan) {
  const Machine& machine = plan.machine;
  const GemmTypes& types = plan.problem.types;
  Intensities intensities;
  intensities.element = flops_per_byte({.block_m = 1, .block_n = 1, .block_k = 1}, types);
  intensities.tile = flops_per_byte(plan.tile, types);
  intensities.compulsory = flops_per_byte(plan.problem);
  if (plan.cost.memory_bytes > 0) {
    intensities.plan = flops_of(plan.problem) / plan.cost.memory_bytes;
  }
  intensities.ridge =
      best_rate(types.a, machine) * machine.workers / machine.memory_bytes_per_second;
  return intensities;
}

Waves waves_of(std::int64_t tiles, std::int64_t workers) {
  Waves waves;
  waves.full = tiles / workers;
  waves.last_tiles = tiles % workers;
  const std::int64_t places = (waves.full + (waves.last_tiles > 0 ? 1 : 0)) * workers;
  if (places > 0) waves.filled = static_cast<double>(tiles) / static_cast<double>(places);
  return waves;
}

// On a CPU the scratchpad is L2: it holds the piece of A that is packed at a time, a quarter of it
// where the backend chooses, half beside a B in place that is not packed in passing, and the panel
// of B in use.
ScratchpadUse cpu_scratchpad_use(const Plan& plan) {
  const std::int64_t depth_bytes = std::int64_t{plan.tile.block_k} * size_of(plan.problem.types.a);
  const std::int64_t whole_block = plan.tile.block_m * depth_bytes;
  const TileConfig& tile = plan.tile;
  const bool passes =
      !plan.problem.groups.empty() && packs_in_passing(tile, find_kernel(plan.kernel), plan.problem,
                                                       plan.problem.groups.front(), plan.machine);
  const std::int64_t share = tile.b_in_place && !passes ? 2 : 4;
  const std::int64_t chosen =
      tile.mc > 0 ? tile.mc * depth_bytes : plan.machine.scratchpad_bytes / share;
  return {.a_bytes = std::min(whole_block, chosen), .b_bytes = plan.tile.nr * depth_bytes};
}

}  // namespace

Explanation explain(const Plan& plan) {
  const KernelEntry* kernel = find_kernel(plan.kernel);
  const TileProfile profile = profile_tiles(shape_runs(plan.problem), plan.problem, plan.machine,
                                            plan.tile, kernel, plan.schedule.workers);
  Explanation e;
  e.intensities = intensities_of(plan);
  e.waves = waves_of(plan.decomposition.tiles, plan.schedule.workers);
  const GemmTypes& types = plan.problem.types;
  e.scratchpad = plan.machine.kind == MachineKind::cpu
                     ? cpu_scratchpad_use(plan)
                     : scratchpad_use(plan.tile, types, epilogue_bytes(kernel, plan.tile, types));
  e.scratchpad_limit = plan.machine.scratchpad_bytes;
  e.peers = most_peers(profile, plan.schedule);
  e.fixup = fixup_path(e.peers);
  const double peak = best_rate(types.a, plan.machine) * plan.machine.workers;
  if (plan.cost.seconds > 0) e.flops_per_second = flops_of(plan.problem) / plan.cost.seconds;
  if (peak > 0) e.share_of_peak = e.flops_per_second / peak;
  return e;
}

}  // namespace tessera
