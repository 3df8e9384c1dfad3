// The other microkernel: C as dot products, where rows of A and columns of B both lie along k, as
// weights that are stored transposed do, and few columns beside a row-major A, which are turned
// round and copied. k fills the vectors, so both are read where they lie, whatever the type, and a
// few columns of B are as many long streams. It pays while each element of B is used by few rows,
// or columns leave lanes of panels empty; adding up the lanes is what it costs.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <cstdint>

#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"
#include "cpu/nearest_cache.hpp"

namespace tessera::cpu {
namespace {

// Rows and columns of C whose sums stay in registers together. With one or two rows, more columns:
// enough sums for the latency, and enough streams for the memory.
constexpr std::int64_t kDotRows = 4;
template <class Ops>
constexpr bool kHasWideDots = sizeof(typename Ops::Vec) == 64;
template <class Ops>
constexpr std::int64_t kDotColumns = kHasWideDots<Ops> ? 4 : 3;
template <class Ops>
constexpr std::int64_t most_dot_columns(std::int64_t rows) {
  if (rows > 2) return kDotColumns<Ops>;
  return kHasWideDots<Ops> || rows == 1 ? 8 : 6;
}

// Short registers take half a line of each column at a time, or less. Of fewer columns more lines
// are there still when their next part is wanted, beside those that are fetched from memory: where
// columns are a multiple of the nearest cache's sets apart, all of these lie in one set. Columns of
// smaller elements that keep apart are as many as near ones (six of bf16 take 1.05). Zen 3, one
// thread, 2026-11, the time by as many columns as are near over the time so, ten products of one
// and two rows: f32 1.07, f64 1.09, bf16 1.15, f16 1.12, i8 1.26; 1×2048×8192 1.23, 1.17, 1.52,
// 1.46, 1.92, 1×3000×3000 1.02, 1.17, 1.00, 1.02, 1.03.
template <class Ops>
std::int64_t widest_dots(std::int64_t rows, std::int64_t column, bool are_far) {
  constexpr std::int64_t kColumnsThatCollide = 4;
  constexpr std::int64_t kColumnsFromMemory = 6;
  const std::int64_t most = most_dot_columns<Ops>(rows <= 2 ? rows : kDotRows);
  if (kHasWideDots<Ops> || !are_far) return most;
  constexpr std::size_t kSize = sizeof(typename Ops::B);
  if (static_cast<std::size_t>(column) * kSize % kNearestSetBytes == 0) {
    return most < kColumnsThatCollide ? most : kColumnsThatCollide;
  }
  return kSize < 4 || most < kColumnsFromMemory ? most : kColumnsFromMemory;
}

// Where a tile of dot products finds its operands and leaves its sums. Strides in elements.
template <class Ops>
struct DotTask {
  const typename Ops::A* a;
  const typename Ops::B* b;
  std::int64_t a_row;
  std::int64_t b_column;
  std::int64_t depth;
  std::int64_t b_ahead = 0;  // to the columns that are fetched; 0: these, which are near
  // So many columns of a B in memory are fetched into the second-level cache, from so far ahead on.
  int fetched = 0;
  std::int64_t far_ahead = 0;
  typename Ops::Acc* sum;
  std::int64_t sum_row;
  std::int64_t sum_column;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
};

// The lanes of as many sums as a vector has are added up together (lanes_avx512.hpp), in the order
// of one by one. Zen 5, one thread, f32, B along k, 2026-11, microseconds one by one and together:
// 668×8×172 24.9 and 17.9, 8×330×698 21.9 and 18.9, 16×100×200 5.1 and 3.3.
template <class Ops, int Rows, int Columns>
void store_dots(const DotTask<Ops>& task, const typename Ops::Vec (&sum)[Rows][Columns]) {
  using Acc = typename Ops::Acc;
  constexpr int kSums = Rows * Columns;
  constexpr int kTogether = Ops::kLanes;
  alignas(64) Acc values[(kSums + kTogether - 1) / kTogether * kTogether];
#pragma GCC unroll 8
  for (int first = 0; first < kSums; first += kTogether) {
    typename Ops::Vec some[kTogether];
    // What is missing of them is there twice, and computed once.
#pragma GCC unroll 16
    for (int i = 0; i < kTogether; ++i) {
      const int index = (first + i) % kSums;
      some[i] = sum[index / Columns][index % Columns];
    }
    Ops::store(values + first, Ops::multiply(Ops::set(task.alpha), Ops::add_lanes(some)));
  }
  const auto store = [&](std::int64_t column) __attribute__((always_inline)) {
    for (int r = 0; r < Rows; ++r) {
      Acc* const row = task.sum + r * task.sum_row;
      for (int c = 0; c < Columns; ++c) {
        Acc& to = row[c * column];
        const Acc value = values[r * Columns + c];
        to = task.beta != 0 ? multiply_add(task.beta, to, value) : value;
      }
    }
  };
  if (task.sum_column == 1) {
    store(1);
  } else {
    store(task.sum_column);
  }
}

// Operands that are widened on the way, not before (widened_*.hpp).
template <class Ops, class Widened>
struct DotOpsOf : Ops {
  using Dots = Widened;
  using A = typename Widened::A;
  using B = typename Widened::B;
};

// Columns that come from memory are fetched into the second-level cache by all rows that pass: a
// tile's steps are too short to wait for them, and a processor follows columns of a few pages each
// only so far (steps.cpp: which needs none). Time without over the time with it, one thread,
// 2026-11, twelve products of 1 to 16 rows by 2048×2048 to 5000×1333 and 16×2048×8192: Zen 4
// f32 1.28 (16×4096×4096 1.40), f64 1.26, bf16 1.30 (8×4096×4096 1.7), f16 1.23, i8 1.09; two
// threads f32 1.33, f64 1.30, bf16 1.26, i8 1.04, f16 1.23; with short registers f32 1.51,
// f64 1.47, bf16 1.35. One row of f32, eight products of 3000×3000 to 11008×4096, 1.13, two
// threads 1.20. Emerald Rapids, 11 products of which eight come from memory, one thread f32 1.03,
// f64 1.10, with AVX-512 alone bf16 1.03, AVX2 f32 1.08, 4 and 16 threads f32 1.15 and 1.02.
//
// More rows than a tile's come in parts, of which each fetches so many: 13 to 16 rows ask for two
// tiles' columns and so for most twice, since what is asked for once may be dropped, and no part
// looks farther. Zen 4, f32, 2026-11, the time by as many as the next tile has over the time so:
// 16×4096×4096 1.18, 16×3000×3000 1.12, 8×4096×4096 1.02.
constexpr std::int64_t kFetchedByParts = 2;
constexpr std::int64_t kMostPartsAhead = 3;

template <int Columns, class B>
[[gnu::always_inline]] inline void fetch_columns(const B* line, std::int64_t column) {
#pragma GCC unroll 8
  for (int c = 0; c < Columns; ++c) __builtin_prefetch(line + c * column, 0, 2);
}

template <class Ops, int Rows, int Columns>
void dot_tile(const DotTask<Ops>& task) {
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
  // Half as many registers hold two rows and one column beside the sums, or more rows and one.
  constexpr bool kRowsFirst = !kHasWideDots<Ops> && Rows <= 2;
  const auto add = [&](auto load_a, auto load_b) __attribute__((always_inline)) {
    if constexpr (kRowsFirst) {
      decltype(load_a(0)) rows[Rows];
#pragma GCC unroll 2
      for (int r = 0; r < Rows; ++r) rows[r] = load_a(r);
#pragma GCC unroll 8
      for (int c = 0; c < Columns; ++c) {
        const auto column = load_b(c);
#pragma GCC unroll 2
        for (int r = 0; r < Rows; ++r) sum[r][c] = Ops::multiply_add(sum[r][c], rows[r], column);
      }
      return;
    }
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

  // The next columns of a B in caches are fetched where elements are small and arithmetic is soon
  // done, while the last rows pass these: Zen 4, n = k = 4096, 2026-11, 4 rows: i8 261 GFLOP/s (201
  // without), bf16 with 16 rows 105 (97), but f32 29 (31). Fetched by all rows they leave the
  // nearest cache again: bf16, 40 products of 17 to 64 columns 1.03 times as long, of 2 to 20 rows
  // 1.02. Those in memory: fetch_columns().
  const auto* a = task.a;
  const auto* b = task.b;
  const std::int64_t a_row = task.a_row;
  const std::int64_t b_column = task.b_column;
  const std::int64_t b_ahead = task.b_ahead;
  const int fetched = task.fetched;
  const std::int64_t far_ahead = task.far_ahead;
  std::int64_t left = task.depth;
  for (; left >= kStep; left -= kStep, a += kStep, b += kStep) {
    // Written out: a loop that counts its requests makes one row of f32 1.04 times as fast,
    // not 1.16.
    if (fetched == Columns) {
      fetch_columns<Columns>(b + far_ahead, b_column);
    } else if (fetched == kFetchedByParts) {
      fetch_columns<kFetchedByParts>(b + far_ahead, b_column);
    } else {
      for (int c = 0; c < fetched; ++c) fetch_columns<1>(b + far_ahead + c * b_column, 0);
    }
    add([&](int r) { return Dots::load_a(a + r * a_row); },
        [&](int c) {
          if constexpr (Ops::kGroup > 1) __builtin_prefetch(b + c * b_column + b_ahead);
          return Dots::load_b(b + c * b_column);
        });
  }
  if (left > 0) {
    const auto some = Dots::first(static_cast<int>(left), task.depth);
    add([&](int r) { return Dots::load_a(a + r * a_row, some); },
        [&](int c) { return Dots::load_b(b + c * b_column, some); });
  }

  if constexpr (Ops::kOffsetA) {
#pragma GCC unroll 8
    for (int c = 0; c < Columns; ++c) {
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) sum[r][c] = Ops::subtract(sum[r][c], offset[c]);
    }
  }
  store_dots<Ops>(task, sum);
}

template <class Ops, int Rows, int Columns = static_cast<int>(most_dot_columns<Ops>(Rows))>
void dot_columns(const DotTask<Ops>& task, std::int64_t cols) {
  if constexpr (Columns > 1) {
    if (cols < Columns) return dot_columns<Ops, Rows, Columns - 1>(task, cols);
  }
  dot_tile<Ops, Rows, Columns>(task);
}

template <class Ops>
void dot_rows(const DotTask<Ops>& task, std::int64_t rows, std::int64_t cols) {
  switch (rows) {
    case 1:
      return dot_columns<Ops, 1>(task, cols);
    case 2:
      return dot_columns<Ops, 2>(task, cols);
    case 3:
      return dot_columns<Ops, 3>(task, cols);
    default:
      return dot_columns<Ops, 4>(task, cols);
  }
}

// `rows` × `cols` sums, a few columns at a time, whose part of k stays in the nearest cache while
// the rows pass by in equal parts. `far`: so many columns of B, these and others after them, come
// from memory; 0: they are near.
template <class Ops>
void multiply_dots(DotTask<Ops> dots, std::int64_t rows, std::int64_t cols, std::int64_t far) {
  const std::int64_t widest = widest_dots<Ops>(rows, dots.b_column, far > 0);
  const std::int64_t parts = (rows + kDotRows - 1) / kDotRows;
  const std::int64_t tallest = (rows + parts - 1) / parts;
  const DotTask<Ops> first = dots;
  std::int64_t some = 0;
  for (std::int64_t col = 0; col < cols; col += some) {
    some = cols - col;
    if (some > widest) some = some >= 2 * widest ? widest : (some + 1) / 2;
    dots.b = first.b + col * dots.b_column;
    const std::int64_t each = parts == 1 ? some : kFetchedByParts;
    for (std::int64_t row = 0; row < rows; row += tallest) {
      const std::int64_t tall = rows - row < tallest ? rows - row : tallest;
      if (far > 0) {
        const std::int64_t part = row / tallest;
        const std::int64_t ahead = some + each * (part < kMostPartsAhead ? part : kMostPartsAhead);
        const std::int64_t left = far - col - ahead;
        dots.far_ahead = ahead * dots.b_column;
        dots.fetched = static_cast<int>(left < 0 ? 0 : left < each ? left : each);
      } else {
        dots.b_ahead = row + tall == rows ? some * dots.b_column : 0;
      }
      dots.a = first.a + row * dots.a_row;
      dots.sum = first.sum + row * dots.sum_row + col * dots.sum_column;
      dot_rows(dots, tall, some);
    }
  }
}

// KernelCode::multiply where B's columns lie along k. Sums that are no C go to `finish` by so many
// rows and columns.
constexpr std::int64_t kFinishedRows = 16;
constexpr std::int64_t kFinishedColumns = 64;

template <class Ops>
void multiply_dots(const BlockTask& task) {
  using Acc = typename Ops::Acc;
  DotTask<Ops> dots;
  dots.a = static_cast<const typename Ops::A*>(task.a.data);
  dots.b = static_cast<const typename Ops::B*>(task.b.data);
  dots.a_row = task.a.along_stride;
  dots.b_column = task.b.along_stride;
  dots.depth = task.depth;
  dots.alpha = Ops::scalar(task.alpha);
  dots.beta = Ops::scalar(task.beta);
  if (task.sum != nullptr) {
    dots.sum = static_cast<Acc*>(task.sum);
    dots.sum_row = task.sum_stride;
    dots.sum_column = task.sum_column;
    multiply_dots(dots, task.rows, task.cols, task.b_is_far ? task.cols : 0);
    if (task.finish != nullptr) {
      finish_block<Acc>(*task.finish, task.sum, task.sum_stride, task.rows, task.cols);
    }
    return;
  }
  alignas(64) Acc sums[kFinishedRows * kFinishedColumns];
  dots.sum = sums;
  dots.sum_row = kFinishedColumns;
  dots.sum_column = 1;
  const DotTask<Ops> first = dots;
  for (std::int64_t row = 0; row < task.rows; row += kFinishedRows) {
    const std::int64_t rows = task.rows - row < kFinishedRows ? task.rows - row : kFinishedRows;
    dots.a = first.a + row * dots.a_row;
    for (std::int64_t col = 0; col < task.cols; col += kFinishedColumns) {
      const std::int64_t cols =
          task.cols - col < kFinishedColumns ? task.cols - col : kFinishedColumns;
      dots.b = first.b + col * dots.b_column;
      multiply_dots(dots, rows, cols, task.b_is_far ? task.cols - col : 0);
      finish_block<Acc>(sub_block(*task.finish, row, col), sums, kFinishedColumns, rows, cols);
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
