// What tests that repeat products need: captured work, to be replayed, a caller's workspace between
// guards, and two threads.
#pragma once

#include <array>
#include <exception>
#include <string>
#include <thread>

#include "cuda/device_matrix.hpp"
#include "cuda/workspace.hpp"
#include "tessera/tessera.hpp"

namespace tessera::test {

// What `queue_work` queues on a stream, captured.
class Graph {
 public:
  template <class QueueWork>
  Graph(cudaStream_t stream, QueueWork queue_work) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    queue_work();
    check(cudaStreamEndCapture(stream, &graph_));
    check(cudaGraphInstantiate(&replay_, graph_, 0));
  }
  ~Graph() {
    cudaGraphExecDestroy(replay_);
    cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void replay(cudaStream_t stream) const { check(cudaGraphLaunch(replay_, stream)); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t replay_ = nullptr;
};

// Memory of a caller's between guard bands: zeros where a workspace has to begin with them, and
// 0xff bytes, which are NaN, in all the rest.
class GuardedWorkspace {
 public:
  explicit GuardedWorkspace(std::size_t bytes)
      : memory_(ElementType::u8, 1, static_cast<std::int64_t>(bytes), DeviceFill::poison, 0) {
    initialize_workspace(memory_.view().data, bytes, nullptr);
    check(cudaDeviceSynchronize());
  }

  RunOptions options(cudaStream_t stream) const {
    return {.stream = stream,
            .workspace = memory_.view().data,
            .workspace_size = static_cast<std::size_t>(memory_.view().cols)};
  }

  // Between launches anything may lie in it but for the counters.
  void scramble(cudaStream_t stream) const {
    constexpr std::size_t kKept = cuda::WorkspaceLayout::kCounterBytes;
    const auto bytes = static_cast<std::size_t>(memory_.view().cols);
    if (bytes <= kKept) return;
    check(cudaMemsetAsync(static_cast<std::byte*>(memory_.view().data) + kKept, 0xff, bytes - kKept,
                          stream));
  }

  // Empty, or what was written beside it.
  std::string damage() const { return memory_.damage(); }

 private:
  DeviceMatrix memory_;
};

// Two empty texts where work(0) and work(1) at once went well: what each says, or what it throws.
template <class Work>
std::array<std::string, 2> on_two_threads(Work work) {
  std::array<std::string, 2> said;
  const auto speak = [&](std::size_t which) {
    try {
      said[which] = work(which);
    } catch (const std::exception& error) {
      said[which] = error.what();
    }
  };
  std::thread other(speak, 1);
  speak(0);
  other.join();
  return said;
}

}  // namespace tessera::test
