#include "cuda/device_memory.hpp"

#include <cuda_runtime_api.h>

#include "cuda/check.hpp"

namespace tessera::cuda {

int set_current_device(int device) {
  int former = 0;
  check(cudaGetDevice(&former), "asking for the current device");
  check(cudaSetDevice(device), "changing the current device");
  return former;
}

void restore_current_device(int device) noexcept {
  // Nobody is left to be told.
  static_cast<void>(cudaSetDevice(device));
}

void* allocate(std::size_t bytes, void* stream) {
  void* memory = nullptr;
  check(cudaMallocAsync(&memory, bytes, static_cast<cudaStream_t>(stream)),
        "allocating a workspace");
  return memory;
}

void release(void* memory, void* stream) noexcept {
  static_cast<void>(cudaFreeAsync(memory, static_cast<cudaStream_t>(stream)));
}

}  // namespace tessera::cuda
