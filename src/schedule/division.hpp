// What a partition's numbers mean, for those who tell of it, and for what runs on the host alone.
#pragma once

#include <cstdint>

#include "schedule/partition.hpp"
#include "tessera/plan.hpp"

namespace tessera {

// What a hybrid cuts so that its workers end together.
enum class HybridCut : std::uint8_t {
  last_tiles,  // where units are claimed: in pieces, which come last
  one_tile,    // the partial wave: less than a tile's work for each worker
  two_tiles,   // and one full wave
};
HybridCut hybrid_cut(const Partition& hybrid);

// Of a plan's candidate, in its own tiles and as its kernel would have it.
Partition partition_of(const Problem& problem, const Candidate& candidate);
// Of a plan, for those who need no line.
Partition partition_of(const Plan& plan);

}  // namespace tessera
