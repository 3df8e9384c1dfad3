#include "cuda/hog.hpp"

#include <chrono>
#include <thread>

namespace tessera::test {
namespace {

// Ends by itself after some 20 s, so that a failing test cannot leave the device occupied.
__global__ void hog_kernel(int* running, const volatile int* stop) {
  extern __shared__ char all_of_it[];
  if (threadIdx.x != 0) return;
  all_of_it[0] = 1;
  atomicAdd_system(running, 1);
  const long long start = clock64();
  while (*stop == 0 && clock64() - start < 40'000'000'000LL) __nanosleep(1000);
}

}  // namespace

Hog::Hog(int blocks) {
  check(cudaMallocHost(&shared_, sizeof(Shared)));
  *shared_ = {0, 0};
  int shared_bytes = 0;
  check(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  check(
      cudaFuncSetAttribute(hog_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  hog_kernel<<<static_cast<unsigned>(blocks), 1024, static_cast<std::size_t>(shared_bytes),
               stream_>>>(&shared_->running, &shared_->stop);
  check(cudaGetLastError());
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

}  // namespace tessera::test
