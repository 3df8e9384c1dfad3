// From the views of a product to what kernels see of it. Apart from group_operands.hpp, so that
// kernels do not include a Problem.
#pragma once

#include "cuda/group_operands.hpp"
#include "tessera/problem.hpp"

namespace tessera::cuda {

inline GroupOperands flatten(const Operands& operands) {
  const ConstMatrixView& a = operands.a;
  const ConstMatrixView& b = operands.b;
  const MatrixView& c = operands.c;
  const ConstVectorView& bias = operands.bias;
  return {.a = a.data,
          .b = b.data,
          .c = c.data,
          .bias = bias.data,
          .m = c.rows,
          .n = c.cols,
          .k = a.cols,
          .a_row_stride = a.row_stride,
          .a_col_stride = a.col_stride,
          .b_row_stride = b.row_stride,
          .b_col_stride = b.col_stride,
          .c_row_stride = c.row_stride,
          .c_col_stride = c.col_stride,
          .bias_stride = bias.stride};
}

}  // namespace tessera::cuda
