// The host's side of a traced launch: room for the records on the device, and afterwards a Trace
// made of them.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "cuda/device_memory.hpp"
#include "cuda/trace_record.hpp"
#include "schedule/partition.hpp"
#include "tessera/trace.hpp"

namespace tessera::cuda {

struct TracedLaunch {
  int workers = 0;
  int blocks_per_worker = 1;          // they compute one tile side by side
  std::int64_t items_per_worker = 0;  // at most
  std::size_t items_at_once = 1;      // that a block has, in turns
  bool transposed = false;  // the kernel computes Cᵀ: its rows of tiles are the caller's columns
};

class LaunchTrace {
 public:
  // A null `trace` makes everything here do nothing. Throws Error(unsupported) while the stream is
  // being captured, and whatever an allocation throws.
  LaunchTrace(Trace* trace, const TracedLaunch& launch, cudaStream_t stream);
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

  // For the kernel's arguments; null pointers without a trace.
  const TraceSpace& space() const { return space_; }

  // After the launch: waits for the stream and fills the trace.
  void finish();

 private:
  Trace* trace_;
  TracedLaunch launch_;
  cudaStream_t stream_;
  DeviceMemory memory_;
  TraceSpace space_;
};

// Where workers claim units, one may have nearly all of them; up to a quarter of a gigabyte in all.
inline std::int64_t most_claims(std::int64_t units) {
  constexpr std::int64_t kMostItems = 16384;
  return std::min(units + 1, kMostItems);
}

// Of the worker that has most.
std::int64_t most_items(const IterationSpace& space, const Partition& partition);

}  // namespace tessera::cuda
