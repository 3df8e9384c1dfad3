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

#include "plan/tile_profile.hpp"
#include "plan/traffic.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera {

// Candidates and schedules come in order of complication; a later one has to be better by more than
// the model's noise.
inline constexpr double kWorthwhile = 0.99;

// Whole tiles are dealt by turns here, and levelled where workers claim them. So a hybrid's pieces,
// which are levelled here, too, have to win by more. H200, 2026-11, 1200 groups of random sizes,
// each with whole tiles and as a hybrid: 48 hybrids that promised 1 to 10 % lost 1 %, 18 that
// promised more gained 2 %.
inline constexpr double kWorthPieces = 0.9;

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
