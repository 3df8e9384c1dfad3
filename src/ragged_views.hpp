// Parts of views: one matrix of a batch, some rows of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tessera/grouped.hpp"

namespace tessera {

template <class Data>
Data* advanced(Data* data, std::int64_t elements, ElementType type) {
  using Byte = std::conditional_t<std::is_const_v<Data>, const std::byte, std::byte>;
  if (data == nullptr) return nullptr;
  return static_cast<Byte*>(data) + elements * size_of(type);
}

template <class Batch>
auto matrix_of(const Batch& batch, std::int64_t group) {
  using View =
      std::conditional_t<std::is_same_v<Batch, ConstBatchView>, ConstMatrixView, MatrixView>;
  return View{advanced(batch.data, group * batch.group_stride, batch.type),
              batch.rows,
              batch.cols,
              batch.row_stride,
              batch.col_stride,
              batch.type};
}

// Rows [begin, begin + count); an empty range points nowhere else than the matrix does.
template <class View>
View rows_of(View view, std::int64_t begin, std::int64_t count) {
  if (count > 0) view.data = advanced(view.data, begin * view.row_stride, view.type);
  view.rows = count;
  return view;
}

// Group g's row of biases.
inline ConstVectorView bias_of(const ConstMatrixView& bias, std::int64_t group,
                               std::int64_t values) {
  return {advanced(bias.data, group * bias.row_stride, bias.type), values, bias.col_stride,
          bias.type};
}

}  // namespace tessera
