#include "cuda/device_memory.hpp"

#include <cuda_runtime_api.h>

#include "cuda/check.hpp"

namespace tessera::cuda {
namespace {

// Nobody is left to be told; the program must not take it for an error of its own.
void forget(cudaError_t status) {
  if (status != cudaSuccess) cudaGetLastError();
}

}  // namespace

int set_current_device(int device) {
  int former = 0;
  check(cudaGetDevice(&former), "asking for the current device");
  check(cudaSetDevice(device), "changing the current device");
  return former;
}

void restore_current_device(int device) noexcept {
  forget(cudaSetDevice(device));
}

void* allocate(std::size_t bytes, void* stream) {
  void* memory = nullptr;
  check(cudaMallocAsync(&memory, bytes, static_cast<cudaStream_t>(stream)),
        "allocating a workspace");
  return memory;
}

void release(void* memory, void* stream) noexcept {
  forget(cudaFreeAsync(memory, static_cast<cudaStream_t>(stream)));
}

}  // namespace tessera::cuda
