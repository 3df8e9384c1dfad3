// Sizes of groups for tests: what routers, decoders and unlucky callers produce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "support/guarded_matrix.hpp"
#include "tessera/grouped.hpp"

namespace tessera::test {

enum class Spread {
  even,
  dirichlet,    // skewed: a few groups have most, many have none
  one_has_all,  // every other group is empty
  all_empty,
};

// G + 1 offsets into `length`. With `slack` a part before the first group and after the last
// belongs to none.
std::vector<std::int64_t> draw_offsets(Spread spread, std::int64_t groups, std::int64_t length,
                                       bool slack, std::mt19937_64& random);

// A stack of `groups` matrices of rows × cols, made of one matrix with groups·rows rows.
BatchView stack_of(GuardedMatrix& matrices, std::int64_t groups);

// Matrix number `group`, by the definition of a batch.
ConstMatrixView matrix_of(const ConstBatchView& batch, std::int64_t group);
MatrixView matrix_of(const BatchView& batch, std::int64_t group);

// Rows [begin, begin + count).
template <class View>
View rows_of(View view, std::int64_t begin, std::int64_t count) {
  using Byte = std::conditional_t<std::is_same_v<View, MatrixView>, std::byte, const std::byte>;
  view.data = static_cast<Byte*>(view.data) + begin * view.row_stride * size_of(view.type);
  view.rows = count;
  return view;
}

// Elements of rows [begin, end) that differ from those of `before`, bit for bit.
std::int64_t changed_elements(const GuardedMatrix& matrix, const GuardedMatrix& before,
                              std::int64_t begin, std::int64_t end);

}  // namespace tessera::test
