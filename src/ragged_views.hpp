// Parts of views: one matrix of a batch, some rows of a matrix; and a matrix as a batch. Of views
// that have been checked (check_views in ragged.hpp): strides that lead too far would overflow
// here.
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
auto first_matrix_of(const Batch& batch) {
  using View =
      std::conditional_t<std::is_same_v<Batch, ConstBatchView>, ConstMatrixView, MatrixView>;
  return View{batch.data, batch.rows, batch.cols, batch.row_stride, batch.col_stride, batch.type};
}
template <class Batch>
auto matrix_of(const Batch& batch, std::int64_t group) {
  auto matrix = first_matrix_of(batch);
  matrix.data = advanced(batch.data, group * batch.group_stride, batch.type);
  return matrix;
}

// Rows [begin, begin + count); an empty range points nowhere else than the matrix does.
template <class View>
View rows_of(View view, std::int64_t begin, std::int64_t count) {
  if (count > 0) view.data = advanced(view.data, begin * view.row_stride, view.type);
  view.rows = count;
  return view;
}

inline ConstBatchView batch_of_one(const ConstMatrixView& view) {
  return {view.data, 1, view.rows, view.cols, 0, view.row_stride, view.col_stride, view.type};
}
inline BatchView batch_of_one(const MatrixView& view) {
  return {view.data, 1, view.rows, view.cols, 0, view.row_stride, view.col_stride, view.type};
}

// A batch, or a matrix as one.
template <class View>
ConstBatchView as_batch(const View& view) {
  if constexpr (requires { view.groups; }) {
    return view;
  } else {
    return batch_of_one(view);
  }
}

// Group g's row of biases; nothing where none is asked for, as its view may then be any.
inline ConstVectorView bias_of(const ConstMatrixView& bias, BiasAxis axis, std::int64_t group) {
  if (axis == BiasAxis::none) return {};
  return {advanced(bias.data, group * bias.row_stride, bias.type), bias.cols, bias.col_stride,
          bias.type};
}

}  // namespace tessera
