// The partition that a plan's workers walk: what the planner prices, reports draw and GPUs launch.
#pragma once

#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"
#include "tessera/plan.hpp"

namespace tessera {

// Of any line. Whether its units are claimed is the kernel's affair (claims_tiles).
inline Partition partition_of(const Schedule& schedule, const IterationSpace& space,
                              bool are_claimed) {
  return are_claimed ? make_claimed_partition(schedule, space) : make_partition(schedule, space);
}

// Of a plan's products, whose sizes the host knows, in tiles of the plan.
Partition partition_of(const Plan& plan, const IterationSpace& space);
// Of the same, divided in another way.
Partition partition_of(const Plan& plan, const Schedule& schedule, const IterationSpace& space);

}  // namespace tessera
