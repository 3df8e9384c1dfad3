// What a traced launch leaves in device memory: for each block a head, and an ItemRecord for each
// of its WorkItems. block_recorder.cuh writes them; launch_trace.cu makes a Trace of them.
#pragma once

#include <cstdint>

#include "schedule/work_item.hpp"

namespace tessera::cuda {

// One moment on two clocks. The global timer is the same on all SMs but may tick coarsely; an SM's
// cycle counter is fine but means nothing to another SM.
struct ClockPair {
  std::uint64_t nanoseconds = 0;
  std::int64_t cycles = 0;
};

struct BlockRecord {
  std::int32_t sm = 0;
  std::int32_t items = 0;  // how many there were, recorded or not
  ClockPair begin;
  ClockPair end;
  ClockPair edge;  // just after `end`, at a tick of the global timer: exact on both clocks
};

// Moments are in cycles of the block's SM.
struct ItemRecord {
  WorkItem item;
  std::int32_t worker = 0;
  std::int64_t start = 0;
  std::int64_t multiplied = 0;
  std::int64_t end = 0;
  std::int64_t waited = 0;  // for blocks of A and B
};

struct TraceSpace {
  BlockRecord* blocks = nullptr;
  // (blocks, items_per_block + 1): what is too many for a block all goes to its last place.
  ItemRecord* items = nullptr;
  std::int32_t items_per_block = 0;
};

}  // namespace tessera::cuda
