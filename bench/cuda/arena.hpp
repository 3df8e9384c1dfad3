// Device memory that a benchmark's cases share: grown, never shrunk, and filled with random numbers
// once per growth.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

#include "bench/cuda/device.hpp"
#include "tessera/element_type.hpp"

namespace tessera::bench {

class OperandArena {
 public:
  // At least `bytes` of memory with random elements of `type`.
  void* random(std::size_t bytes, ElementType type, cudaStream_t stream) {
    if (reserve(bytes) || type_ != type) {
      fill_random(memory_->data(), static_cast<std::int64_t>(memory_->size()) / size_of(type), type,
                  1, stream);
      type_ = type;
    }
    return memory_->data();
  }
  void* any(std::size_t bytes) {
    reserve(bytes);
    return memory_->data();
  }

  static std::size_t round_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  // Whether the memory is new.
  bool reserve(std::size_t bytes) {
    if (memory_ && memory_->size() >= bytes) return false;
    memory_.reset();
    memory_.emplace(round_up(bytes == 0 ? 1 : bytes));
    return true;
  }

  std::optional<DeviceMemory> memory_;
  ElementType type_ = ElementType::f64;
};

}  // namespace tessera::bench
