// Random numbers on the device, for filling operands: a counter-based generator, so that an
// element's value depends on the seed and its index alone. Benchmarks and tests share it.
#pragma once

#include <cstdint>

namespace tessera {

// A grid-stride loop over elements: from first_index() on in steps of index_step().
__device__ inline std::int64_t first_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t index_step() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

// The finaliser of splitmix64.
__device__ inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace tessera
