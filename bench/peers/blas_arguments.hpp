// A product's operands as a BLAS call with row-major C wants them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "tessera/problem.hpp"

namespace tessera::bench {

struct BlasArguments {
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  void* c = nullptr;
  std::int64_t ldc = 0;
};

// Nothing where an operand has no unit stride, or C is not stored by rows.
inline std::optional<BlasArguments> blas_arguments(const Operands& o) {
  const auto by_rows = [](const ConstMatrixView& view) { return view.col_stride == 1; };
  const auto by_columns = [](const ConstMatrixView& view) { return view.row_stride == 1; };
  const bool readable = (by_rows(o.a) || by_columns(o.a)) && (by_rows(o.b) || by_columns(o.b));
  if (!readable || !by_rows(o.c)) return std::nullopt;
  const auto leading = [&](const ConstMatrixView& view) {
    return by_rows(view) ? std::max<std::int64_t>({view.row_stride, view.cols, 1})
                         : std::max<std::int64_t>({view.col_stride, view.rows, 1});
  };
  return BlasArguments{!by_rows(o.a), !by_rows(o.b), o.c.rows,     o.c.cols, o.a.cols,    o.a.data,
                       leading(o.a),  o.b.data,      leading(o.b), o.c.data, leading(o.c)};
}

}  // namespace tessera::bench
