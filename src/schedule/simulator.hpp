// Runs a schedule on the host without multiplying anything, to prove that it is sound: every
// (tile, k) is computed exactly once, every shared tile is summed once, completely and in order,
// the workspace suffices, and nothing is left behind in it — for any start order, any number of
// workers resident at a time, and any interleaving of their steps.
//
// The fix-up depends on no waiting, so a wait cycle cannot exist; what could go wrong instead is a
// sum that starts before all its terms are published, a slot that is overwritten while it is still
// needed, or a share of a sum that two workers add or none. Those are what the simulator looks for.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"

namespace tessera {

enum class StartOrder : std::uint8_t { ascending, descending, random };

struct Simulation {
  StartOrder order = StartOrder::ascending;
  int resident = 0;        // workers that can run at a time; 0: all
  std::uint64_t seed = 0;  // of the start order and of the interleaving
  bool lock_step = false;  // advance all residents in turn instead of picking at random
  int meets_from = 0;      // so many peers meet (fixup_meeting.hpp); 0: all add up a tree
  int patience = 8;        // a peer looks so often whether all have come, before it leaves
};

struct SimulationResult {
  std::string fault;  // empty: sound
  std::int64_t steps = 0;
  std::int64_t published = 0;    // partial tiles written to the workspace
  std::int64_t shared = 0;       // tiles that several workers added up a share of each
  std::int64_t longest_run = 0;  // iterations of the busiest worker
};

SimulationResult simulate(const IterationSpace& space, const Partition& partition,
                          const Simulation& simulation);

}  // namespace tessera
