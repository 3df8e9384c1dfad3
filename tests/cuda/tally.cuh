// What a kernel finds wrong: how often, and where first. Shared by the judge and the matrices.
#pragma once

#include "cuda/device.hpp"

namespace tessera::test {

struct Tally {
  unsigned long long count = 0;
  unsigned long long first = ~0ULL;

  __device__ void note(std::int64_t where) {
    atomicAdd(&count, 1ULL);
    atomicMin(&first, static_cast<unsigned long long>(where));
  }
};

// One in device memory, read back after the work that counted.
class DeviceTally {
 public:
  explicit DeviceTally(cudaStream_t stream = nullptr) : buffer_(sizeof(Tally)), stream_(stream) {
    const Tally none;
    check(cudaMemcpyAsync(buffer_.data(), &none, sizeof none, cudaMemcpyHostToDevice, stream_));
  }

  Tally* device() const { return static_cast<Tally*>(buffer_.data()); }

  Tally read() const {
    Tally tally;
    check(cudaGetLastError());
    check(cudaMemcpyAsync(&tally, buffer_.data(), sizeof tally, cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    return tally;
  }

 private:
  DeviceBuffer buffer_;
  cudaStream_t stream_;
};

}  // namespace tessera::test
