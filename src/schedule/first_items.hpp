// The workers' first items, as far as they are known before the workers start: whole tiles, each of
// the worker's own number.
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"
#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"
#include "schedule/work_item.hpp"

namespace tessera {

// So many workers have one, if there are so many.
TESSERA_HD inline std::int64_t given_first_items(const Partition& partition, std::int64_t tiles) {
  return partition.stream_tiles > 0 ? 0 : partition.splits == 1 ? tiles : partition.whole_tiles;
}

// That of a worker, whose tile lies in `group`; without peers where the worker has none.
TESSERA_HD inline WorkItem first_item(const IterationSpace& space, const Partition& partition,
                                      std::int32_t group, std::int32_t worker) {
  if (worker < given_first_items(partition, space.tiles)) {
    return whole_tile(space, partition, group, worker);
  }
  WorkItem none;
  none.peers = 0;
  return none;
}

}  // namespace tessera
