#include "support/ragged_sizes.hpp"

#include <algorithm>
#include <cstring>

namespace tessera::test {

std::vector<std::int64_t> draw_offsets(Spread spread, std::int64_t groups, std::int64_t length,
                                       bool slack, std::mt19937_64& random) {
  const std::int64_t begin = slack ? length / 7 : 0;
  const std::int64_t end = slack ? length - length / 5 : length;
  const auto count = static_cast<std::size_t>(groups);
  std::vector<double> shares(count, spread == Spread::even ? 1.0 : 0.0);
  if (spread == Spread::one_has_all && count > 0) shares[random() % count] = 1;
  if (spread == Spread::dirichlet) {
    std::gamma_distribution<double> gamma(0.3);
    for (double& share : shares) share = gamma(random);
  }
  double whole = 0;
  for (const double share : shares) whole += share;
  std::vector<std::int64_t> offsets = {begin};
  double sum = 0;
  for (const double share : shares) {
    sum += share;
    const auto at = whole > 0 ? static_cast<double>(end - begin) * sum / whole : 0.0;
    offsets.push_back(std::clamp(begin + static_cast<std::int64_t>(at), offsets.back(), end));
  }
  if (whole > 0) offsets.back() = end;
  return offsets;
}

BatchView stack_of(GuardedMatrix& matrices, std::int64_t groups) {
  const MatrixView all = matrices.view();
  const std::int64_t rows = groups > 0 ? all.rows / groups : 0;
  return {all.data,       groups,         rows,    all.cols, rows * all.row_stride,
          all.row_stride, all.col_stride, all.type};
}

ConstMatrixView matrix_of(const ConstBatchView& batch, std::int64_t group) {
  return {
      static_cast<const std::byte*>(batch.data) + group * batch.group_stride * size_of(batch.type),
      batch.rows,
      batch.cols,
      batch.row_stride,
      batch.col_stride,
      batch.type};
}
MatrixView matrix_of(const BatchView& batch, std::int64_t group) {
  return {static_cast<std::byte*>(batch.data) + group * batch.group_stride * size_of(batch.type),
          batch.rows,
          batch.cols,
          batch.row_stride,
          batch.col_stride,
          batch.type};
}

std::int64_t changed_elements(const GuardedMatrix& matrix, const GuardedMatrix& before,
                              std::int64_t begin, std::int64_t end) {
  const ConstMatrixView now = matrix.view();
  const ConstMatrixView then = before.view();
  const std::int64_t size = size_of(now.type);
  std::int64_t changed = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t col = 0; col < now.cols; ++col) {
      const std::int64_t at = (row * now.row_stride + col * now.col_stride) * size;
      changed += std::memcmp(static_cast<const std::byte*>(now.data) + at,
                             static_cast<const std::byte*>(then.data) + at,
                             static_cast<std::size_t>(size)) != 0;
    }
  }
  return changed;
}

}  // namespace tessera::test
