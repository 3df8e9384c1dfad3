// cp.async.bulk.prefetch.tensor: asks the L2 cache for a box of a matrix.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline void prefetch_box(const void* map, const std::int32_t (&at)[2]) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];"
               :
               : "l"(map), "r"(at[0]), "r"(at[1])
               : "memory");
}

}  // namespace tessera::ptx
