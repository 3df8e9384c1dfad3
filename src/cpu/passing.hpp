// Packing in passing: where A's rows lie along k and B's along n, neither is packed beforehand. The
// first strip of A's rows reads B where it lies and leaves it behind as a panel while it
// multiplies, with stores that have nothing else to do; the strips below read that panel, which is
// still in the nearest cache. A's rows are read where they lie all along.
//
// Register tiles are 8 rows by 3 vectors, so that 8 rows' addresses and all else find room in the
// registers. Every other row's elements are read by the multiply-adds themselves: fewer
// instructions, of which a core that runs two threads is short, but more loads, of which there are
// two a cycle. Emerald Rapids, f32, 384×384×3000, 2026-11, milliseconds of one thread with the core
// to itself, and of two in minutes when others were on it: no row read so 5.24 and 3.75, every
// other 5.25 and 3.53, three of four 5.27 and 3.60; four steps of k at a time instead of eight 5.24
// and 3.74, with every other 5.27 and 3.63.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/passing_rule.hpp"
#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"
#include "cpu/register_tile.hpp"

namespace tessera::cpu {
namespace {

constexpr int kPassingVectors = 3;
constexpr int kLinesFetched = 4;
constexpr int kSteps = 8;  // of k, before the loop goes round

template <class Ops>
struct PassingTask {
  const typename Ops::A* a;  // in place
  std::int64_t a_row;        // strides in elements
  const typename Ops::B* b;  // in place
  std::int64_t b_step;
  typename Ops::B* b_panel;
  std::int64_t depth;
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
  typename Ops::Mask mask;  // of the last vector's columns
  LookAhead* ahead;
};

// Keeps the compiler from working one row's address out of another's in every step.
template <class Element>
[[gnu::always_inline]] inline void keep(Element*& address) {
  asm("" : "+r"(address));
}

// Rows are folded over, not looped over: GCC 12 leaves an array of addresses in memory otherwise.
template <class Ops, int Vectors, bool Packs, std::size_t... R>
[[gnu::always_inline]] inline void passing_tile(const PassingTask<Ops>& task,
                                                std::index_sequence<R...>) {
  using A = typename Ops::A;
  using Vec = typename Ops::Vec;
  constexpr int kRows = sizeof...(R);
  constexpr int kLanes = Ops::kLanes;

  const A* a[kRows];
  ((a[R] = task.a + static_cast<std::int64_t>(R) * task.a_row, keep(a[R])), ...);
  [[maybe_unused]] const auto* b = task.b;
  [[maybe_unused]] const std::int64_t b_step = task.b_step;
  auto* b_panel = task.b_panel;
  const std::int64_t sum_stride = task.sum_stride;
  const typename Ops::Mask mask = task.mask;
  typename Ops::Acc* const sum_begin = task.sum;

  Vec sum[kRows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) sum[r][v] = Ops::zero();
  }

  // One step of k, `u` steps on.
  const auto add_step = [&](int u) __attribute__((always_inline)) {
    typename Ops::BVec columns[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      auto* packed = b_panel + (u * Vectors + v) * kLanes;
      if constexpr (Packs) {
        columns[v] =
            v == Vectors - 1 ? Ops::load_b(b + v * kLanes, mask) : Ops::load_b(b + v * kLanes);
        Ops::store(packed, columns[v]);
      } else {
        columns[v] = Ops::load_now(packed);
      }
    }
    if constexpr (Packs) b += b_step;
    const auto add_row = [&](auto& row_sum, const A* at, bool reads_at_once)
        __attribute__((always_inline)) {
      if (reads_at_once) {
#pragma GCC unroll 3
        for (int v = 0; v < Vectors; ++v) {
          row_sum[v] = Ops::multiply_add_at(row_sum[v], at, columns[v]);
        }
        return;
      }
      const auto element = Ops::broadcast_now(at);
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) {
        row_sum[v] = Ops::multiply_add_to(row_sum[v], element, columns[v]);
      }
    };
    (add_row(sum[R], a[R] + u, R % 2 == 1), ...);
  };
  // `count` steps done: all go on.
  const auto advance = [&](int count) __attribute__((always_inline)) {
    ((a[R] += count, keep(a[R])), ...);
    b_panel += count * Vectors * kLanes;
  };
  const auto add_steps = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int u = 0; u < kSteps; ++u) add_step(u);
    advance(kSteps);
  };

  // C's rows are fetched one by one shortly before they are needed, as in register_tile.hpp; the
  // last so early that it comes from the last cache in time: 1000³ takes 12.43 ms so, 12.55 with
  // half of it, 384×384×3000 5.26 and 5.30 ms.
  constexpr std::int64_t kGroupsAfterFetch = 4;
  const std::int64_t groups = task.depth / kSteps;
  const std::int64_t fetching = std::min<std::int64_t>(groups, kRows + kGroupsAfterFetch);
  LineRun far = task.ahead->run;
#pragma GCC unroll 1
  for (std::int64_t group = fetching; group < groups; ++group) {
#pragma GCC unroll 4
    for (int line = 0; line < kLinesFetched; ++line, far.next += far.step) {
      __builtin_prefetch(far.next, 0, 2);
    }
    far.left -= kLinesFetched;
    if (far.left <= 0) far = next_run(*task.ahead, task.b_panel);
    add_steps();
  }
  task.ahead->run = far;
  const auto* fetched = sum_begin;
#pragma GCC unroll 1
  for (std::int64_t group = 0; group < fetching; ++group) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) Ops::prefetch(fetched + v * kLanes);
    Ops::prefetch(fetched + Vectors * kLanes - 1);
    if (group < kRows - 1) fetched += sum_stride;
    add_steps();
  }
#pragma GCC unroll 1
  for (std::int64_t step = groups * kSteps; step < task.depth; ++step) {
    add_step(0);
    advance(1);
  }

  store_sums<Ops>(sum, task.alpha, task.beta, mask, sum_begin, sum_stride);
}

template <class Ops, int Rows, int Vectors, bool Packs>
void passing_tile(const PassingTask<Ops>& task) {
  passing_tile<Ops, Vectors, Packs>(task, std::make_index_sequence<Rows>());
}

// All sizes of one register tile, by rows − 1 and vectors − 1.
template <class Ops, bool Packs>
struct PassingTable {
  using Function = void (*)(const PassingTask<Ops>&);

  template <int Rows, std::size_t... V>
  static constexpr std::array<Function, kPassingVectors> row(std::index_sequence<V...>) {
    return {&passing_tile<Ops, Rows, static_cast<int>(V) + 1, Packs>...};
  }
  template <std::size_t... R>
  static constexpr std::array<std::array<Function, kPassingVectors>, kPassingRows> all(
      std::index_sequence<R...>) {
    return {row<static_cast<int>(R) + 1>(std::make_index_sequence<kPassingVectors>())...};
  }
  static constexpr auto kFunctions = all(std::make_index_sequence<kPassingRows>());
};

// Columns of the next panel, of which `left` remain: four vectors are two and two, for a single
// one keeps too few sums under way.
template <class Ops>
std::int64_t passing_columns(std::int64_t left) {
  constexpr std::int64_t kWidest = kPassingVectors * Ops::kLanes;
  if (left > kWidest && left <= kWidest + Ops::kLanes) return 2 * Ops::kLanes;
  return std::min(left, kWidest);
}

// KernelCode::multiply of a task with a `passing_panel`.
template <class Ops>
void multiply_passing(const BlockTask& task) {
  using A = typename Ops::A;
  using B = typename Ops::B;
  using Acc = typename Ops::Acc;
  constexpr int kLanes = Ops::kLanes;
  constexpr std::int64_t kWidest = kPassingVectors * kLanes;
  static constexpr std::array tables = {PassingTable<Ops, false>::kFunctions,
                                        PassingTable<Ops, true>::kFunctions};
  alignas(64) Acc register_tile[kPassingRows * kWidest];
  const auto* a = static_cast<const A*>(task.a.data);
  const auto* b = static_cast<const B*>(task.b.data);

  LookAhead nothing_ahead;
  LookAhead& ahead = task.ahead != nullptr ? *task.ahead : nothing_ahead;
  const FarRows after_b = ahead.b;

  PassingTask<Ops> tile;
  tile.a_row = task.a.along_stride;
  tile.b_step = task.b.depth_stride;
  tile.b_panel = static_cast<B*>(task.passing_panel);
  tile.depth = task.depth;
  tile.alpha = Ops::scalar(task.alpha);
  tile.beta = Ops::scalar(task.beta);
  tile.ahead = &ahead;
  const std::int64_t strips = (task.rows + kPassingRows - 1) / kPassingRows;
  const std::int64_t row_bytes = task.b.depth_stride * static_cast<std::int64_t>(sizeof(B));
  std::int64_t cols = 0;
  for (std::int64_t col = 0; col < task.cols; col += cols) {
    cols = passing_columns<Ops>(task.cols - col);
    const std::int64_t next_col = col + cols;
    const auto vectors = static_cast<int>((cols + kLanes - 1) / kLanes);
    tile.b = b + col;
    tile.mask = Ops::mask(static_cast<int>(cols) - (vectors - 1) * kLanes);
    if (ahead.run.step == 0) ahead.run = {};
    ahead.b = after_b;
    if (next_col < task.cols) {
      ahead.b = {reinterpret_cast<const unsigned char*>(b + next_col), row_bytes,
                 passing_columns<Ops>(task.cols - next_col) * static_cast<std::int64_t>(sizeof(B)),
                 task.depth};
    }
    std::int64_t rows = 0;
    for (std::int64_t strip = 0, row = 0; strip < strips; ++strip, row += rows) {
      // Nearly equal numbers of rows.
      rows = (task.rows - row + strips - strip - 1) / (strips - strip);
      tile.a = a + row * task.a.along_stride;
      if (task.sum != nullptr) {
        tile.sum = static_cast<Acc*>(task.sum) + row * task.sum_stride + col;
        tile.sum_stride = task.sum_stride;
      } else {
        tile.sum = register_tile;
        tile.sum_stride = kWidest;
      }
      tables[strip == 0][static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(vectors - 1)](
          tile);
      if (task.finish != nullptr) {
        finish_block<Acc>(sub_block(*task.finish, row, col), tile.sum, tile.sum_stride, rows, cols);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
