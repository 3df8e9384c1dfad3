#include "plan/tile_profile.hpp"

#include <algorithm>

#include "core/operand_copies.hpp"
#include "core/sm90_tiles.hpp"
#include "plan/scratchpad.hpp"

namespace tessera {
namespace {

// A kernel before the product's that copies operands: its start, and a pass over them.
constexpr double kCopyLaunch = 2.5e-6;

double copying_seconds(const std::vector<ShapeRun>& runs, const Problem& problem,
                       const Machine& machine, const KernelEntry* kernel) {
  const OperandCopies copies = kernel != nullptr ? copies_of(*kernel, problem) : OperandCopies{};
  if (!copies.any()) return 0;
  double bytes = 0;
  for (const ShapeRun& run : runs) {
    bytes += static_cast<double>(run.count) * bytes_to_copy(copies, problem, run.shape);
  }
  return kCopyLaunch + 2 * bytes / machine.memory_bytes_per_second;
}

// Rows and columns beyond an operand's edge are not fetched.
double bytes_in_flight(const GemmShape& shape, const Problem& problem, const TileConfig& tile) {
  const auto rows = static_cast<double>(std::min<std::int64_t>(shape.m, tile.block_m));
  const auto cols = static_cast<double>(std::min<std::int64_t>(shape.n, tile.block_n));
  return tile.stages * tile.block_k *
         (rows / tile.cluster_m * size_of(problem.types.a) +
          cols / tile.cluster_n * size_of(problem.types.b));
}

}  // namespace

TileProfile profile_tiles(const std::vector<ShapeRun>& runs, const Problem& problem,
                          const Machine& machine, const TileConfig& tile, const KernelEntry* kernel,
                          int workers) {
  TileProfile profile;
  profile.blocks_per_worker = tile.cluster_m * tile.cluster_n;
  profile.in_turns = takes_turns(tile);
  profile.has_records = machine.kind == MachineKind::gpu && problem.groups.size() > 1;
  profile.are_claimed = kernel != nullptr && claims_tiles(*kernel, problem);
  profile.partial_bytes =
      static_cast<double>(accumulator_bytes(tile, problem.types)) / profile.blocks_per_worker;
  if (kernel != nullptr) profile.extra_launch_seconds = kernel->speed.launch_seconds;
  profile.copying_seconds = copying_seconds(runs, problem, machine, kernel);
  profile.runs.reserve(runs.size());
  profile.line.reserve(runs.size());
  const double footprint = footprint_bytes(runs, problem);
  profile.footprint_bytes = footprint;
  profile.result_bytes = result_bytes(runs, problem);
  const double all_seconds = peak_seconds(runs, problem, machine);
  for (const ShapeRun& run : runs) {
    const GroupExtent extent =
        make_extent(run.shape.m, run.shape.n, run.shape.k, tile.block_m, tile.block_n, tile.block_k,
                    profile.tiles, profile.iterations);
    if (extent.tiles() == 0) continue;
    profile.line.push_back(extent);
    RunProfile each;
    each.run = run;
    each.grid = {extent.grid_m, extent.grid_n, extent.iterations};
    each.tiles = extent.tiles() * run.count;
    each.time =
        machine.kind == MachineKind::gpu
            ? time_on_gpu(run.shape, problem, machine, tile, kernel, all_seconds)
            : time_on_cpu(run.shape, each.grid, problem, machine, tile, kernel, workers, footprint);
    profile.reads_for_few_rows =
        (profile.tiles == 0 || profile.reads_for_few_rows) && each.time.reads_for_few_rows;
    const std::int64_t iterations = each.tiles * each.grid.k;
    profile.bytes_in_flight =
        std::max(profile.bytes_in_flight, bytes_in_flight(run.shape, problem, tile));
    profile.tiles += each.tiles;
    profile.iterations += iterations;
    profile.packing_seconds += static_cast<double>(iterations) * each.time.packing;
    profile.most_iterations = std::max<std::int64_t>(profile.most_iterations, each.grid.k);
    profile.runs.push_back(each);
  }
  return profile;
}

Traffic traffic_of(const TileProfile& profile, const Problem& problem, const Machine& machine,
                   TileOrderChoice order, int workers) {
  Traffic sum;
  for (const RunProfile& run : profile.runs) {
    const Traffic traffic = estimate_traffic(run.run, run.grid, problem, order, workers, machine);
    sum.memory_bytes += traffic.memory_bytes;
    sum.cache_bytes += traffic.cache_bytes;
    sum.scattered_bytes += traffic.scattered_bytes;
  }
  return sum;
}

}  // namespace tessera
