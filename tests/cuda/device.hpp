// What every GPU test needs: error checks, owned device memory, streams, and a fixture that skips
// where no CUDA device is present.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "tessera/machine.hpp"

namespace tessera::test {

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

// Why GPU tests cannot run here; empty where they can.
inline std::string why_no_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(error);
  return count == 0 ? "no CUDA device" : "";
}

// Owned device memory. Freeing it waits for all work of the device, as cudaFree does.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;

  void* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// The first device, as far as forced plans need to know it.
const Machine& device_under_test();

class CudaTest : public ::testing::Test {
 public:
  ~CudaTest() override;

 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

}  // namespace tessera::test
