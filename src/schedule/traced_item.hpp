// A WorkItem as a Trace shows it, before its times are known.
#pragma once

#include <cstdint>

#include "schedule/work_item.hpp"
#include "tessera/trace.hpp"

namespace tessera {

inline TracedItem traced_item(std::int32_t worker, const WorkItem& item) {
  return {.worker = worker,
          .group = item.group,
          .tile_m = item.tile_m,
          .tile_n = item.tile_n,
          .k_begin = item.k_begin,
          .k_end = item.k_end,
          .peers = item.peers,
          .peer = item.peer};
}

}  // namespace tessera
