// The operands of one group as kernels see them. Needs no CUDA header, so that device_groups.hpp
// can be made outside this folder.
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"

namespace tessera::cuda {

// The views of one group, flattened. Strides are in elements.
struct GroupOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_row_stride = 0;
  std::int64_t a_col_stride = 0;
  std::int64_t b_row_stride = 0;
  std::int64_t b_col_stride = 0;
  std::int64_t c_row_stride = 0;
  std::int64_t c_col_stride = 0;
  std::int64_t bias_stride = 0;

  // Cᵀ = Bᵀ·Aᵀ.
  TESSERA_HD GroupOperands turned() const {
    return {b,
            a,
            c,
            bias,
            n,
            m,
            k,
            b_col_stride,
            b_row_stride,
            a_col_stride,
            a_row_stride,
            c_col_stride,
            c_row_stride,
            bias_stride};
  }
};

}  // namespace tessera::cuda
