// How long workers are busy under a partition: with their runs of the stream region, and with the
// units behind it. cost.hpp adds what the launch, the memory and the fix-up take.
#pragma once

#include <cstdint>

#include "plan/tile_profile.hpp"
#include "schedule/partition.hpp"
#include "tessera/machine.hpp"

namespace tessera {

// How long workers are busy, without the fix-up's tail. Everyone starts with its run of the stream
// region.
struct Loads {
  double busiest = 0;
  double busiest_streaming = 0;  // of it, in the stream region
  double total = 0;
  std::int64_t active = 0;  // workers with anything to do
  double busy_share = 0;    // of the machine's workers, those that have anything to do at first
};

Loads loads_of(const TileProfile& profile, const Machine& machine, const Partition& partition);

// Not more than loads_of's total, at a fraction of its cost.
double least_load(const TileProfile& profile, const Machine& machine, const Partition& partition);

}  // namespace tessera
