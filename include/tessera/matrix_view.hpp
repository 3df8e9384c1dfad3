// Views of the caller's memory. A view owns nothing; strides are in elements, never in bytes.
//
// One struct covers row-major, column-major, transposed and generally strided matrices: NN, NT, TN
// and TT products differ in nothing but the strides of their views.
#pragma once

#include <cstdint>

#include "tessera/element_type.hpp"

namespace tessera {

struct ConstMatrixView {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;  // from (i, j) to (i + 1, j)
  std::int64_t col_stride = 0;  // from (i, j) to (i, j + 1)
  ElementType type = ElementType::f32;

  ConstMatrixView transposed() const { return {data, cols, rows, col_stride, row_stride, type}; }
};

struct MatrixView {
  void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  ElementType type = ElementType::f32;

  operator ConstMatrixView() const { return {data, rows, cols, row_stride, col_stride, type}; }
  MatrixView transposed() const { return {data, cols, rows, col_stride, row_stride, type}; }
};

// A bias: element i is at data + i·stride. Its type is C's type or the accumulator's.
struct ConstVectorView {
  const void* data = nullptr;
  std::int64_t size = 0;
  std::int64_t stride = 1;
  ElementType type = ElementType::f32;
};

// Rows lie one after another, `leading` elements apart (default: cols).
template <class T>
MatrixView row_major(T* data, std::int64_t rows, std::int64_t cols, std::int64_t leading = -1) {
  return {data, rows, cols, leading < 0 ? cols : leading, 1, element_type_of<T>};
}
template <class T>
ConstMatrixView row_major(const T* data, std::int64_t rows, std::int64_t cols,
                          std::int64_t leading = -1) {
  return {data, rows, cols, leading < 0 ? cols : leading, 1, element_type_of<T>};
}

// Columns lie one after another, `leading` elements apart (default: rows).
template <class T>
MatrixView column_major(T* data, std::int64_t rows, std::int64_t cols, std::int64_t leading = -1) {
  return {data, rows, cols, 1, leading < 0 ? rows : leading, element_type_of<T>};
}
template <class T>
ConstMatrixView column_major(const T* data, std::int64_t rows, std::int64_t cols,
                             std::int64_t leading = -1) {
  return {data, rows, cols, 1, leading < 0 ? rows : leading, element_type_of<T>};
}

}  // namespace tessera
