// The cost model: a predicted time for one tile shape and one schedule on one machine. Pure
// arithmetic on the Machine's constants; docs/cost_model.md has the formula on one page and what it
// leaves out.
//
//   seconds = launch + copying + Σ over the two regions: max(busiest worker, memory) + last fix-up
//   worker  = a·items + Σ iterations·(max(arithmetic, cache) + c0 + packing) + C written
//   fix-up  = b·levels + d·bytes·additions         (schedule/fixup.hpp's tree)
//   memory  = bytes / min(machine's bandwidth, active workers · one worker's bandwidth)
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

// Candidates and schedules come in order of complication; a later one has to be better by more than
// the model's noise.
inline constexpr double kWorthwhile = 0.99;

// Whole tiles are dealt by turns here, and levelled where workers claim them. So a hybrid's pieces,
// which are levelled here, too, have to win by more. H200, 2026-11, 1200 groups of random sizes,
// each with whole tiles and as a hybrid: 48 hybrids that promised 1 to 10 % lost 1 %, 18 that
// promised more gained 2 %.
inline constexpr double kWorthPieces = 0.9;

// A run of equal products, cut into tiles.
struct RunProfile {
  ShapeRun run;
  TileGrid grid;
  std::int64_t tiles = 0;  // of all its products
  WorkerTime time;
};

// A problem cut by one kernel's tiles: what all schedules of these tiles share.
struct TileProfile {
  std::vector<RunProfile> runs;
  std::vector<GroupExtent> line;  // each run's first product, where the run begins
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;
  std::int64_t most_iterations = 1;  // of any tile
  double packing_seconds = 0;        // of all iterations, on one worker
  double footprint_bytes = 0;        // all operands, each once
  double partial_bytes = 0;          // of a tile of accumulators, as one block publishes it
  double extra_launch_seconds = 0;   // the kernel's own
  double copying_seconds = 0;        // operands, before the kernel starts
  double bytes_in_flight = 0;        // of operands, that a block asks memory for at a time
  int blocks_per_worker = 1;         // a cluster's
  bool in_turns = false;             // a worker stores a tile while it multiplies the next
  bool are_claimed = false;          // workers claim units (claims_tiles)

  // The line of all runs: tiles and iterations are the problem's, extents are runs.
  IterationSpace space() const {
    return {line.data(), static_cast<std::int32_t>(line.size()), tiles, iterations};
  }
};

// `kernel` may be null: a tile that no kernel is compiled for.
TileProfile profile_tiles(const std::vector<ShapeRun>& runs, const Problem& problem,
                          const Machine& machine, const TileConfig& tile,
                          const KernelEntry* kernel);

// A prediction's parts, in seconds; they add up to `seconds`.
struct Prediction {
  double seconds = 0;
  double launch = 0;
  double copying = 0;     // operands that the kernel cannot read where they lie
  double arithmetic = 0;  // multiplying, of an average worker
  double packing = 0;     // packing operands, of an average worker
  double items = 0;       // prologues, epilogues and the overhead of iterations, likewise
  double imbalance = 0;   // the busiest worker beyond the average
  double fixup = 0;       // adding partial tiles, after the last iteration
  double memory = 0;      // waiting for memory beyond the busiest worker
  double memory_bytes = 0;
  double cache_bytes = 0;
};

// What `workers` workers load and store in a tile order.
Traffic traffic_of(const TileProfile& profile, const Problem& problem, const Machine& machine,
                   TileOrderChoice order, int workers);

Prediction predict(const TileProfile& profile, const Machine& machine, const Schedule& schedule,
                   const Traffic& traffic);

// Not more than predict's seconds under any traffic, at a fraction of its cost.
double least_seconds(const TileProfile& profile, const Machine& machine, const Schedule& schedule);

// What candidates are compared by: their seconds, but more where the model is known to flatter.
double price_of(const TileProfile& profile, const Schedule& schedule, double seconds);

Cost to_cost(const Prediction& prediction);

// Contributors to the tile that has the most of them.
std::int64_t most_peers(const TileProfile& profile, const Schedule& schedule);

// Additions on the longest path of the fix-up tree of `peers` partial tiles, and its levels.
struct FixupPath {
  int levels = 0;
  int additions = 0;
};
FixupPath fixup_path(std::int64_t peers);

}  // namespace tessera
