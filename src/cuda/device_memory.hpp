// What the objects of tessera/device.hpp own. Compiles and links everywhere, like run.hpp.
#pragma once

#include <cstddef>
#include <utility>

namespace tessera::cuda {

// Makes a device current for the calling thread; returns the one that was.
int set_current_device(int device);
void restore_current_device(int device) noexcept;

// Device memory, allocated and freed in the order of a cudaStream_t.
void* allocate(std::size_t bytes, void* stream);
void release(void* memory, void* stream) noexcept;

// The same, owned.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::size_t bytes, void* stream) : data_(allocate(bytes, stream)), stream_(stream) {}
  ~DeviceMemory() {
    if (data_ != nullptr) release(data_, stream_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(stream_, other.stream_);
    return *this;
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  // To whoever frees it.
  void* give() { return std::exchange(data_, nullptr); }

 private:
  void* data_ = nullptr;
  void* stream_ = nullptr;
};

}  // namespace tessera::cuda
