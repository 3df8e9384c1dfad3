#include "cuda/workspace.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/library_workspace.hpp"
#include "cuda/turn.hpp"
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

// Goes again unless it is kept.
class NewBlock {
 public:
  NewBlock(std::size_t bytes, cudaStream_t stream)
      : bytes_(round_up(bytes, kGrowth)), stream_(stream) {
    const std::string doing = "allocating a workspace of " + std::to_string(bytes_) +
                              " bytes (where operands are copied into it, a plan without "
                              "PlanOptions::allow_copies needs less)";
    check(cudaMallocAsync(&memory_, bytes_, stream), doing.c_str());
  }
  ~NewBlock() {
    if (memory_ != nullptr) release(memory_, stream_);
  }
  NewBlock(const NewBlock&) = delete;
  NewBlock& operator=(const NewBlock&) = delete;

  void* data() const { return memory_; }
  void zero_counters() const {
    check(cudaMemsetAsync(memory_, 0, WorkspaceLayout::kCounterBytes, stream_),
          "zeroing the workspace");
  }
  Block keep() { return {static_cast<std::byte*>(std::exchange(memory_, nullptr)), bytes_}; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_;
  cudaStream_t stream_;
};

// What is kept for a stream's handle.
struct Kept {
  std::recursive_mutex turn;
  // The stream's number, which is never reused, unlike its handle; 0 before any is known.
  unsigned long long number = 0;
  Block queued;    // of work that runs in the stream's order
  Block captured;  // of graphs, which may run beside it
  // Of graphs that hold a smaller one, or were captured on a stream that is no more: whether they
  // still need it cannot be known.
  std::vector<Block> given_away;
};

struct Owner {
  int device = 0;
  cudaStream_t stream = nullptr;
  std::thread::id thread;  // where one handle stands for each thread's own stream

  auto operator<=>(const Owner&) const = default;
};

// Lives as long as the process: at exit the driver takes the memory back, and may be gone first.
// What is kept for an owner never moves.
struct Pool {
  std::mutex mutex;
  std::map<Owner, Kept> of_owner;
};

Kept& kept_in_pool(const Owner& owner) {
  static Pool* const pool = new Pool;
  const std::lock_guard lock(pool->mutex);
  return pool->of_owner[owner];
}

// A launch asks several times, and most threads launch on one stream again and again.
Kept& kept_for(cudaStream_t stream) {
  struct Found {
    Owner owner;
    Kept* kept = nullptr;
  };
  thread_local Found last;
  Owner owner;
  owner.stream = stream == cudaStreamLegacy ? nullptr : stream;
  check(cudaGetDevice(&owner.device), "asking for the current device");
  if (stream == cudaStreamPerThread) owner.thread = std::this_thread::get_id();
  if (last.kept == nullptr || last.owner != owner) last = {owner, &kept_in_pool(owner)};
  return *last.kept;
}

void give_away(Kept& kept, Block& block) {
  if (block.data != nullptr) kept.given_away.push_back(block);
  block = {};
}

void grow_queued(Kept& kept, std::size_t bytes, cudaStream_t stream) {
  NewBlock block(bytes, stream);
  if (kept.queued.data == nullptr) {
    block.zero_counters();
  } else {
    // Zeros but for a fault that nobody has asked about yet.
    check(cudaMemcpyAsync(block.data(), kept.queued.data, WorkspaceLayout::kCounterBytes,
                          cudaMemcpyDeviceToDevice, stream),
          "keeping the workspace's counters");
    check(cudaFreeAsync(kept.queued.data, stream), "freeing a smaller workspace");
  }
  kept.queued = block.keep();
}

// A stream on which to prepare memory while others are captured, in whatever mode.
class StreamBesideCapture {
 public:
  StreamBesideCapture() {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "preparing memory for a graph");
    const cudaError_t status = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    if (status != cudaSuccess) {
      cudaThreadExchangeStreamCaptureMode(&mode_);
      check(status, "preparing memory for a graph");
    }
  }
  ~StreamBesideCapture() {
    cudaStreamDestroy(stream_);
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  StreamBesideCapture(const StreamBesideCapture&) = delete;
  StreamBesideCapture& operator=(const StreamBesideCapture&) = delete;

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  cudaStream_t stream_ = nullptr;
};

// The graph keeps the memory's address, so that what has been captured is never freed.
void grow_captured(Kept& kept, std::size_t bytes) {
  const StreamBesideCapture stream;
  NewBlock block(bytes, stream);
  block.zero_counters();
  check(cudaStreamSynchronize(stream), "zeroing the workspace");
  give_away(kept, kept.captured);
  kept.captured = block.keep();
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

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "asking whether the stream is captured");
  return capture != cudaStreamCaptureStatusNone;
}

std::unique_lock<std::recursive_mutex> take_turn(const RunOptions& options) {
  if (options.device != kHost) {
    int current = 0;
    check(cudaGetDevice(&current), "asking for the current device");
    if (current != options.device) {
      throw Error(ErrorCode::invalid_argument, "options.device",
                  "be the calling thread's current device, " + std::to_string(current),
                  std::to_string(options.device),
                  "make it current by cudaSetDevice or a tessera::Device");
    }
  }
  if (options.workspace != nullptr) return {};
  return std::unique_lock(kept_for(static_cast<cudaStream_t>(options.stream)).turn);
}

std::byte* library_workspace(cudaStream_t stream, std::size_t bytes) {
  Kept& kept = kept_for(stream);
  if (is_captured(stream)) {
    if (kept.captured.bytes < bytes) grow_captured(kept, bytes);
    return kept.captured.data;
  }
  // A stream that is being captured does not tell its number.
  unsigned long long number = 0;
  check(cudaStreamGetId(stream, &number), "asking for the stream's number");
  if (number != kept.number) {
    // A new stream, whose predecessor is gone and has done its work, or the handle would not be
    // free: its memory serves on. Its graphs may live.
    give_away(kept, kept.captured);
    kept.number = number;
  }
  if (kept.queued.bytes < bytes) grow_queued(kept, bytes, stream);
  return kept.queued.data;
}

std::vector<std::byte*> library_workspaces(cudaStream_t stream) {
  const Kept& kept = kept_for(stream);
  std::vector<std::byte*> found;
  for (const Block& block : {kept.queued, kept.captured}) {
    if (block.data != nullptr) found.push_back(block.data);
  }
  for (const Block& block : kept.given_away) found.push_back(block.data);
  return found;
}

}  // namespace tessera::cuda
