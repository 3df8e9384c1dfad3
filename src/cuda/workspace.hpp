// The workspace of a launch: counters and slots of the fix-up, the records of grouped products, and
// copies of operands.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "schedule/group_sizes.hpp"
#include "schedule/partition.hpp"

namespace tessera::cuda {

// The first wrong size that a launch found in device memory, until it is asked for.
struct FoundFault {
  SizeFault fault = SizeFault::none;
  std::int32_t group = 0;
};

// What a launch keeps in its workspace. Counters come first and in a region of one size for all
// plans, because they have to be zero between launches whichever plans take turns in it.
struct WorkspaceLayout {
  static constexpr std::size_t kCounterBytes = std::size_t{1} << 20;
  // At the end of that region, where it starts as no fault: a FoundFault.
  static constexpr std::size_t kFaultOffset = kCounterBytes - 256;
  // And a counter of claimed units.
  static constexpr std::size_t kClaimsOffset = kCounterBytes - 128;

  std::int64_t counters_per_level = 0;
  std::int64_t counters_per_part = 0;
  std::size_t slot_bytes_per_part = 0;  // all slots of one part
  std::size_t slots_offset = kCounterBytes;
  std::size_t groups_offset = kCounterBytes;
  std::size_t copies_offset = 0;  // 0: there are none
  std::size_t bytes = 0;          // 0: the launch needs no workspace
};

// `parts` groups of threads fix up independently of one another; each keeps `slot_bytes` per slot.
// Throws Error(unsupported) where the partition needs more counters than there are.
WorkspaceLayout workspace_layout(const Partition& partition, std::int64_t tiles, int parts,
                                 std::size_t slot_bytes, std::size_t group_bytes);

// Makes room for copies of operands behind all else.
void add_copies(WorkspaceLayout& layout, std::size_t bytes);

// The library's own memory for a device and stream, another for graphs under capture there, which
// never goes: grows as needed, stays zeroed where it has to be. The thread has its turn on the
// stream (turn.hpp). Throws Error(out_of_memory).
std::byte* library_workspace(cudaStream_t stream, std::size_t bytes);

}  // namespace tessera::cuda
