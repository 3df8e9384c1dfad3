// A WorkItem: a run of consecutive MAC iterations of one output tile, and where that tile's partial
// sums meet. partition.hpp makes them; kernels read them and need to know nothing else.
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"

namespace tessera {

struct WorkItem {
  std::int32_t group = 0;
  std::int32_t tile_m = 0;
  std::int32_t tile_n = 0;
  std::int32_t k_begin = 0;  // in iterations of block_k; the item covers [k_begin, k_end)
  std::int32_t k_end = 0;

  // Fix-up (fixup.hpp). `peers` items share the tile; this is number `peer`, counted along k. With
  // one peer the fields below are unused.
  std::int32_t peers = 1;
  std::int32_t peer = 0;
  std::int64_t counter = 0;  // the first of the tile's peers − 1 arrival counters
  std::int64_t first_slot = 0;
  std::int64_t next_slot = 0;
  std::int32_t slot_stride = 1;

  // The workspace slot that holds peer p's partial tile.
  TESSERA_HD std::int64_t slot(std::int32_t p) const {
    return p == 0 ? first_slot : next_slot + static_cast<std::int64_t>(p - 1) * slot_stride;
  }
  TESSERA_HD bool is_whole_tile() const { return peers == 1; }
};

}  // namespace tessera
