// Writes down when one block was at which WorkItem (trace_record.hpp). One thread of the block
// calls all of it, in the order open, add…, close.
#pragma once

#include <cstdint>

#include "cuda/ptx/trace_clocks.cuh"
#include "cuda/trace_record.hpp"
#include "schedule/work_item.hpp"

namespace tessera::cuda {

__device__ inline ClockPair read_both_clocks() {
  return {ptx::global_nanoseconds(), ptx::cycles_of_sm()};
}

// No constructor, so that it can lie in shared memory.
struct BlockRecorder {
  BlockRecord* block;
  ItemRecord* items;
  std::int32_t room;
  std::int32_t seen;

  __device__ void open(const TraceSpace& space) {
    block = space.blocks + blockIdx.x;
    room = space.items_per_block;
    items = space.items + static_cast<std::int64_t>(blockIdx.x) * (room + 1);
    seen = 0;
    block->sm = ptx::sm_number();
    block->begin = read_both_clocks();
  }

  // An item's place, to be filled in; those that there is no room for share the last.
  __device__ ItemRecord* next(const WorkItem& item, std::int32_t worker) {
    ItemRecord* const record = items + (seen < room ? seen : room);
    record->item = item;
    record->worker = worker;
    ++seen;
    return record;
  }
  // An item that ends now.
  __device__ void add(std::int32_t worker, const WorkItem& item, std::int64_t start,
                      std::int64_t multiplied) {
    ItemRecord& record = *next(item, worker);
    record.start = start;
    record.multiplied = multiplied;
    record.end = ptx::cycles_of_sm();
    record.waited = 0;
  }

  __device__ void close() {
    constexpr int kMostLooks = 1 << 20;  // far more than a tick of any timer
    block->items = seen;
    const ClockPair end = read_both_clocks();
    ClockPair edge = end;
    for (int look = 0; look < kMostLooks && edge.nanoseconds == end.nanoseconds; ++look) {
      edge = read_both_clocks();
    }
    block->end = end;
    block->edge = edge;
  }
};

}  // namespace tessera::cuda
