// The WorkItems of every worker of a partition, for those who show and predict it. Where units are
// claimed, the next one is taken by who has done the fewest iterations, as if nothing else took
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"
#include "schedule/work_item.hpp"

namespace tessera {

// Unit `unit` where units are claimed; without peers where a tile has fewer iterations than pieces.
WorkItem claimed_item(const IterationSpace& space, const Partition& partition, std::int32_t unit);

class WorkerItems {
 public:
  WorkerItems(const IterationSpace& space, const Partition& partition);

  // The first items of a worker, in their order.
  std::vector<WorkItem> of(std::int32_t worker,
                           std::size_t most = std::numeric_limits<std::size_t>::max()) const;

  // Units that fall to a worker, which are all its items but those of the stream region.
  std::int64_t units_of(std::int32_t worker) const;

 private:
  void deal();

  IterationSpace space_;
  Partition partition_;
  std::vector<std::vector<std::int32_t>> claimed_;  // each worker's units; empty where none are
};

}  // namespace tessera
