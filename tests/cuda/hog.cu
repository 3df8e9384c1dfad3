#include "cuda/hog.hpp"

#include <chrono>
#include <thread>

namespace tessera::test {
namespace {

constexpr int kClusterBlocks = 8;
constexpr int kLeftFree = 8;

__global__ void hog_kernel(int* running, const volatile int* stop) {
  extern __shared__ char all_of_it[];
  if (threadIdx.x != 0) return;
  all_of_it[0] = 1;
  atomicAdd_system(running, 1);
  const long long start = clock64();
  while (*stop == 0 && clock64() - start < 10'000'000'000LL) __nanosleep(1000);
}

}  // namespace

Hog::Hog() {
  check(cudaMallocHost(&shared_, sizeof(Shared)));
  *shared_ = {0, 0};
  const Machine& machine = device_under_test();
  const auto shared_bytes = static_cast<int>(machine.scratchpad_bytes);
  check(
      cudaFuncSetAttribute(hog_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  int blocks = machine.workers - kLeftFree;
  cudaLaunchConfig_t config{};
  config.blockDim = 1024;
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.stream = stream_;
  // The blocks of a cluster run on neighbours. Placed one by one, the hog would leave a
  // multiprocessor here and there, and no cluster could ever start beside it.
  cudaLaunchAttribute cluster{};
  if (machine.architecture == "sm_90") {
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {kClusterBlocks, 1, 1};
    config.attrs = &cluster;
    config.numAttrs = 1;
    config.gridDim = kClusterBlocks;
    int clusters = 0;
    check(cudaOccupancyMaxActiveClusters(&clusters, hog_kernel, &config));
    blocks = (clusters - 1) * kClusterBlocks;
  }
  config.gridDim = static_cast<unsigned>(blocks);
  check(cudaLaunchKernelEx(&config, hog_kernel, &shared_->running,
                           static_cast<const volatile int*>(&shared_->stop)));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (*static_cast<volatile int*>(&shared_->running) < blocks &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Hog::~Hog() {
  *static_cast<volatile int*>(&shared_->stop) = 1;
  cudaStreamSynchronize(stream_);
  cudaFreeHost(shared_);
}

bool Hog::is_running() const {
  const bool is_running = cudaStreamQuery(stream_) == cudaErrorNotReady;
  static_cast<void>(cudaGetLastError());  // not ready counts as an error
  return is_running;
}

}  // namespace tessera::test
