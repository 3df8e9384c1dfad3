// The device side of a benchmark: memory with random contents, a cache flush that also
// hides launch costs, and the state of the clocks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tessera/element_type.hpp"

namespace tessera::bench {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// Standard normal numbers rounded to the type; whole numbers from −100 to 100 for 8-bit integers.
void fill_random(void* data, std::int64_t elements, ElementType type, std::uint64_t seed,
                 cudaStream_t stream);

// Queues a read of all of `memory`: what was cached before is gone, and no dirty lines are left to
// be written back during what comes next. It runs for tens of microseconds, in which the host
// queues the work to be timed behind it.
void flush_cache(const DeviceMemory& memory, cudaStream_t stream);

// max |p − q| / max |q| over elements of the type.
double largest_difference(const void* p, const void* q, std::int64_t elements, ElementType type,
                          cudaStream_t stream);

struct ClockReading {
  int sm_mhz = 0;
  int memory_mhz = 0;
  double watts = 0;
  int celsius = 0;
};

// Reads the first GPU's clocks through the driver's management library; zeros where it is not
// there.
ClockReading read_clocks();

}  // namespace tessera::bench
