// Changes a tensor map that lies in shared memory.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline void set_map_address(std::uint32_t map, const void* address) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(map),
               "l"(address)
               : "memory");
}

// kAxis 0 is the dense one.
template <int kAxis>
__device__ inline void set_map_extent(std::uint32_t map, std::uint32_t extent) {
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], %1, %2;" ::"r"(map),
               "n"(kAxis), "r"(extent)
               : "memory");
}

// From line to line of a matrix, in bytes.
__device__ inline void set_map_stride(std::uint32_t map, std::uint64_t bytes) {
  asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(map),
               "l"(bytes)
               : "memory");
}

}  // namespace tessera::ptx
