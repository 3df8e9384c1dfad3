// The other microkernel: C as dot products, where rows of A and columns of B both lie along k, as
// weights that are stored transposed do. k fills the vectors, so both are read where they lie,
// whatever the type, and a few columns of B are as many long streams. It pays while each element of
// B is used by few rows; adding up the lanes is what it costs.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <cstdint>

#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"

namespace tessera::cpu {
namespace {

// Rows and columns of C whose sums stay in registers together. With one or two rows, more columns:
// enough sums for the latency, and enough streams for the memory.
constexpr std::int64_t kDotRows = 4;
constexpr std::int64_t kDotColumns = 4;
constexpr std::int64_t kDotColumnsOfFewRows = 8;

// Where a tile of dot products finds its operands and leaves its sums. Strides in elements.
template <class Ops>
struct DotTask {
  const typename Ops::A* a;
  const typename Ops::B* b;
  std::int64_t a_row;
  std::int64_t b_column;
  std::int64_t depth;
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
};

template <class Ops, int Rows, int Columns>
void dot_tile(const DotTask<Ops>& task) {
  using Acc = typename Ops::Acc;
  using Vec = typename Ops::Vec;
  using Dots = typename Ops::Dots;
  constexpr std::int64_t kStep = Ops::kLanes * Ops::kGroup;

  Vec sum[Rows][Columns];
  Vec offset[Columns];  // what A's offset (Ops::kOffsetA) adds to each column
#pragma GCC unroll 8
  for (int c = 0; c < Columns; ++c) {
    offset[c] = Ops::zero();
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) sum[r][c] = Ops::zero();
  }
  const auto add = [&](auto load_a, auto load_b) __attribute__((always_inline)) {
    decltype(load_b(0)) columns[Columns];
#pragma GCC unroll 8
    for (int c = 0; c < Columns; ++c) {
      columns[c] = load_b(c);
      if constexpr (Ops::kOffsetA) {
        offset[c] = Ops::multiply_add(offset[c], Ops::offset(), columns[c]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const auto row = load_a(r);
#pragma GCC unroll 8
      for (int c = 0; c < Columns; ++c) sum[r][c] = Ops::multiply_add(sum[r][c], row, columns[c]);
    }
  };

  // The next columns are fetched where elements are small and arithmetic is soon done: Zen 4, n = k
  // = 4096, 2026-11, 4 rows: i8 261 GFLOP/s (201 without), bf16 with 16 rows 105 (97), but f32 29
  // (31).
  const auto* a = task.a;
  const auto* b = task.b;
  const std::int64_t a_row = task.a_row;
  const std::int64_t b_column = task.b_column;
  std::int64_t left = task.depth;
  for (; left >= kStep; left -= kStep, a += kStep, b += kStep) {
    add([&](int r) { return Dots::load_a(a + r * a_row); },
        [&](int c) {
          if constexpr (Ops::kGroup > 1) __builtin_prefetch(b + (c + Columns) * b_column);
          return Dots::load_b(b + c * b_column);
        });
  }
  if (left > 0) {
    const auto some = Dots::first(static_cast<int>(left));
    add([&](int r) { return Dots::load_a(a + r * a_row, some); },
        [&](int c) { return Dots::load_b(b + c * b_column, some); });
  }

  for (int r = 0; r < Rows; ++r) {
    Acc* const to = task.sum + r * task.sum_stride;
    for (int c = 0; c < Columns; ++c) {
      Vec lanes = sum[r][c];
      if constexpr (Ops::kOffsetA) lanes = Ops::subtract(lanes, offset[c]);
      const Acc value = multiply_add(task.alpha, Dots::add_lanes(lanes), Acc(0));
      to[c] = task.beta != 0 ? multiply_add(task.beta, to[c], value) : value;
    }
  }
}

template <class Ops, int Columns>
void dot_rows(const DotTask<Ops>& task, std::int64_t rows) {
  switch (rows) {
    case 1:
      return dot_tile<Ops, 1, Columns>(task);
    case 2:
      return dot_tile<Ops, 2, Columns>(task);
    case 3:
      if constexpr (Columns <= kDotColumns) return dot_tile<Ops, 3, Columns>(task);
      break;
    default:
      if constexpr (Columns <= kDotColumns) return dot_tile<Ops, 4, Columns>(task);
  }
}

// KernelCode::multiply where B's columns lie along k: `cols` a few at a time, whose part of k stays
// in the nearest cache while the rows pass by.
template <class Ops>
void multiply_dots(const BlockTask& task) {
  using Acc = typename Ops::Acc;
  alignas(64) Acc few_sums[kDotRows * kDotColumnsOfFewRows];

  DotTask<Ops> dots;
  dots.a_row = task.a.along_stride;
  dots.b_column = task.b.along_stride;
  dots.depth = task.depth;
  dots.alpha = Ops::scalar(task.alpha);
  dots.beta = Ops::scalar(task.beta);
  const std::int64_t widest = task.rows <= 2 ? kDotColumnsOfFewRows : kDotColumns;

  std::int64_t cols = 0;
  for (std::int64_t col = 0; col < task.cols; col += cols) {
    cols = task.cols - col >= widest ? widest : 1;
    dots.b = static_cast<const typename Ops::B*>(task.b.data) + col * dots.b_column;
    for (std::int64_t row = 0; row < task.rows; row += kDotRows) {
      const std::int64_t rows = task.rows - row < kDotRows ? task.rows - row : kDotRows;
      dots.a = static_cast<const typename Ops::A*>(task.a.data) + row * dots.a_row;
      dots.sum = few_sums;
      dots.sum_stride = kDotColumnsOfFewRows;
      if (task.sum != nullptr) {
        dots.sum = static_cast<Acc*>(task.sum) + row * task.sum_stride + col;
        dots.sum_stride = task.sum_stride;
      }
      if (cols == kDotColumnsOfFewRows) {
        dot_rows<Ops, kDotColumnsOfFewRows>(dots, rows);
      } else if (cols == kDotColumns) {
        dot_rows<Ops, kDotColumns>(dots, rows);
      } else {
        dot_rows<Ops, 1>(dots, rows);
      }
      if (task.finish != nullptr) {
        finish_block<Acc>(sub_block(*task.finish, row, col), dots.sum, dots.sum_stride, rows, cols);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
