// A problem cut by the tiles of one kernel: what the costs of all schedules of these tiles share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/catalogue.hpp"
#include "plan/shape_runs.hpp"
#include "plan/traffic.hpp"
#include "plan/worker_time.hpp"
#include "schedule/iteration_space.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// A run of equal products, cut into tiles.
struct RunProfile {
  ShapeRun run;
  TileGrid grid;
  std::int64_t tiles = 0;  // of all its products
  WorkerTime time;
};

struct TileProfile {
  std::vector<RunProfile> runs;
  std::vector<GroupExtent> line;  // each run's first product, where the run begins
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;
  std::int64_t most_iterations = 1;  // of any tile
  double packing_seconds = 0;        // of all iterations, on one worker
  double footprint_bytes = 0;        // all operands and results, each once ...
  double result_bytes = 0;           // ... and C alone
  double partial_bytes = 0;          // of a tile of accumulators, as one block publishes it
  double extra_launch_seconds = 0;   // the kernel's own
  double copying_seconds = 0;        // operands, before the kernel starts
  double bytes_in_flight = 0;        // of operands, that a block asks memory for at a time
  int blocks_per_worker = 1;         // a cluster's
  bool reads_for_few_rows = false;   // every product's worker does (WorkerTime)
  bool in_turns = false;             // a worker stores a tile while it multiplies the next
  bool has_records = false;          // several products on a GPU, each with a record
  bool are_claimed = false;          // workers claim units (claims_tiles)

  // The line of all runs: tiles and iterations are the problem's, extents are runs.
  IterationSpace space() const {
    return {line.data(), static_cast<std::int32_t>(line.size()), tiles, iterations};
  }
};

// `kernel` may be null: a tile that no kernel is compiled for. `workers` are the schedule's.
TileProfile profile_tiles(const std::vector<ShapeRun>& runs, const Problem& problem,
                          const Machine& machine, const TileConfig& tile, const KernelEntry* kernel,
                          int workers);

// What `workers` workers load and store in a tile order.
Traffic traffic_of(const TileProfile& profile, const Problem& problem, const Machine& machine,
                   TileOrderChoice order, int workers);

}  // namespace tessera
