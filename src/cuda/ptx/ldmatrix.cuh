// ldmatrix: a warp loads four 8×8 matrices of 16-bit values into the layout that wgmma leaves in
// registers; what stmatrix.cuh stores. Lane l gives the address of row l mod 8 of matrix l / 8.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline void ldmatrix_x4(std::uint32_t shared_row, std::uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(shared_row)
               : "memory");
}

// The same with each matrix transposed: a line in memory is a column of the registers' matrix.
__device__ inline void ldmatrix_transposed_x4(std::uint32_t shared_line, std::uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(shared_line)
               : "memory");
}

}  // namespace tessera::ptx
