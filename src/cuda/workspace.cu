#include "cuda/workspace.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "cuda/check.hpp"
#include "schedule/fixup.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

constexpr std::size_t kAlignment = 1024;
constexpr std::size_t kGrowth = std::size_t{16} << 20;  // fewer, larger allocations

std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

struct Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// Lives as long as the process: at exit the driver takes the memory back, and may be gone first.
struct Pool {
  std::mutex mutex;
  // By device and the stream's number, which is never reused, unlike its handle.
  std::map<std::pair<int, unsigned long long>, Block> blocks;
  std::map<std::pair<int, cudaStream_t>, unsigned long long> numbers;
};

Pool& pool() {
  static Pool* const the_pool = new Pool;
  return *the_pool;
}

}  // namespace

WorkspaceLayout workspace_layout(const Partition& partition, std::int64_t tiles, int parts,
                                 std::size_t slot_bytes, std::size_t group_bytes) {
  WorkspaceLayout layout;
  layout.counters_per_level = arrival_counters(partition, tiles);
  layout.counters_per_part = layout.counters_per_level * kFixupLevels;
  const auto counters = static_cast<std::size_t>(layout.counters_per_part * parts);
  if (counters * sizeof(std::uint32_t) > WorkspaceLayout::kFaultOffset) {
    throw Error(ErrorCode::unsupported, "schedule",
                "need at most " +
                    std::to_string(WorkspaceLayout::kFaultOffset / sizeof(std::uint32_t)) +
                    " arrival counters",
                std::to_string(counters), "split into fewer pieces, or use stream_k");
  }
  layout.slot_bytes_per_part =
      round_up(static_cast<std::size_t>(partial_slots(partition, tiles)) * slot_bytes, kAlignment);
  layout.groups_offset = layout.slots_offset + layout.slot_bytes_per_part * parts;
  const std::size_t end = layout.groups_offset + group_bytes;
  layout.bytes = end > WorkspaceLayout::kCounterBytes ? round_up(end, kAlignment) : 0;
  return layout;
}

void add_copies(WorkspaceLayout& layout, std::size_t bytes) {
  if (bytes == 0) return;
  layout.copies_offset = std::max(layout.bytes, WorkspaceLayout::kCounterBytes);
  layout.bytes = layout.copies_offset + round_up(bytes, kAlignment);
}

std::byte* library_workspace(cudaStream_t stream, std::size_t bytes) {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "asking whether the stream is captured");
  const bool is_captured = capture != cudaStreamCaptureStatusNone;

  const std::lock_guard lock(pool().mutex);
  // A stream that is being captured does not tell its number; it is the one that its handle had
  // last. Where the handle is a new stream's that has not run anything yet, the memory is a dead
  // stream's, which serves as well.
  unsigned long long& stream_number = pool().numbers[{device, stream}];
  if (!is_captured)
    check(cudaStreamGetId(stream, &stream_number), "asking for the stream's number");
  Block& block = pool().blocks[{device, stream_number}];
  if (block.bytes >= bytes) return block.data;

  if (is_captured) {
    throw Error(ErrorCode::out_of_memory, "workspace",
                "exist before a stream is captured, with " + std::to_string(bytes) + " bytes",
                std::to_string(block.bytes) + " bytes",
                "pass RunOptions::workspace, or run the plan on this stream once before capturing");
  }
  const std::size_t wanted = round_up(bytes, kGrowth);
  void* memory = nullptr;
  const std::string doing = "allocating a workspace of " + std::to_string(wanted) +
                            " bytes (where operands are copied into it, a plan without "
                            "PlanOptions::allow_copies needs less)";
  check(cudaMallocAsync(&memory, wanted, stream), doing.c_str());
  if (block.data == nullptr) {
    check(cudaMemsetAsync(memory, 0, WorkspaceLayout::kCounterBytes, stream),
          "zeroing the workspace");
  } else {
    // Zeros but for a fault that nobody has asked about yet.
    check(cudaMemcpyAsync(memory, block.data, WorkspaceLayout::kCounterBytes,
                          cudaMemcpyDeviceToDevice, stream),
          "keeping the workspace's counters");
    check(cudaFreeAsync(block.data, stream), "freeing a smaller workspace");
  }
  block = {static_cast<std::byte*>(memory), wanted};
  return block.data;
}

}  // namespace tessera::cuda
