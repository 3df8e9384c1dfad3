// stmatrix: a warp stores four 8×8 matrices of 16-bit values from the layout that wgmma leaves in
// registers. Lane l gives the address of row l mod 8 of matrix l / 8.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline void stmatrix_x4(std::uint32_t shared_row, std::uint32_t m0, std::uint32_t m1,
                                   std::uint32_t m2, std::uint32_t m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_row),
               "r"(m0), "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}

// The same with each matrix transposed: a line in memory is a column of the registers' matrix.
__device__ inline void stmatrix_transposed_x4(std::uint32_t shared_line, std::uint32_t m0,
                                              std::uint32_t m1, std::uint32_t m2,
                                              std::uint32_t m3) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_line),
      "r"(m0), "r"(m1), "r"(m2), "r"(m3)
      : "memory");
}

}  // namespace tessera::ptx
