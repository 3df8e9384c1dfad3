// Packing in passing: where B's rows lie along n and A's along k, or across it, neither is packed
// beforehand. The first strip of A's rows reads B where it lies and leaves it behind as a panel
// while it multiplies, with stores that have nothing else to do; the strips below read that panel,
// which is still in the nearest cache. A's rows are read where they lie all along.
//
// Register tiles are 8 rows by 3 vectors: with four addresses for the rows of A all else finds room
// in the registers; of an A whose rows lie side by side one is enough. Where it lies in rows, and
// the processor has loads to spare (BlockTask::multiply_adds_load), the multiply-adds of those that
// have an address load A's elements themselves: 31 instructions a step in place of 35, for 24
// multiply-adds, and 19 loads, of which there are two a cycle, in place of 11. Emerald Rapids, f32,
// one thread, 2026-11, the time without over the time so: beside a busy hardware thread 128³ to
// 1000³ 1.02 to 1.05, with the core to itself 1.00 to 1.01. The others, with an index in the
// address, lose by it (0.8), and so does an A whose rows lie side by side with the core to itself
// (f32 192³ to 512³ 0.96 to 0.98; beside a busy thread 1.00 to 1.04). Granite Rapids, a core to
// itself, 2026-11, the time so over the time without: f32 250³ to 1025³ 1.03 to 1.10,
// 64×4096×4096 1.08, 192×192×16384 1.08 to 1.11, f64 192³ to 1025³ 1.06 to 1.09. AMD's
// processors were not measured with it.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/passing_rule.hpp"
#include "cpu/cache_line.hpp"
#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"
#include "cpu/register_tile.hpp"

namespace tessera::cpu {
namespace {

constexpr int kPassingVectors = 3;

// Of k, before the loop goes round. Watched by a sanitizer each is a page of code.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSteps = 2;
#else
constexpr int kSteps = 8;
#endif

// Lines fetched each kSteps: with more, few strips of rows wait for them. Per cent of the peak with
// 4, 6 and any number: 14×124×1355 70, 69 and 65, 128×128×32768 91.4, 92.3 and 92.4.
constexpr std::int64_t kMostLines = 6;

// Lines of a row that are fetched at a time, for each time takes a dozen instructions: as many as a
// panel's row has, or a strip of an A that lies across k.
template <bool Across>
constexpr int kLinesTogether = Across ? 2 : 4;

// Where a strip's elements of A lie, and whether multiply-adds load those of rows that have an
// address. In the order of multiply_passing's tables.
enum class Elements { along, loaded_by_multiply_adds, across };

template <class Ops>
struct PassingTask {
  const typename Ops::A* a;  // in place
  std::int64_t a_row;        // strides in elements; 1 where A lies across k, and
  std::int64_t a_step;       // 1 where it lies along k
  const typename Ops::B* b;  // in place
  std::int64_t b_step;
  typename Ops::B* b_panel;
  std::int64_t depth;
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
  typename Ops::Mask mask;  // of the last vector's columns
  LookAhead* ahead;         // is fetched,
  std::int64_t fetches;     // by so many fetches spread over k,
  bool fetches_near;        // BlockTask's
};

// Keeps the compiler from working one row's address out of another's in every step.
template <class Element>
[[gnu::always_inline]] inline void keep(Element*& address) {
  asm("" : "+r"(address));
}

// Rows are folded over, not looped over: GCC 12 leaves an array of addresses in memory otherwise.
template <class Ops, int Vectors, bool Packs, Elements Of, std::size_t... R>
[[gnu::always_inline]] inline void passing_tile(const PassingTask<Ops>& task,
                                                std::index_sequence<R...>) {
  using A = typename Ops::A;
  using Vec = typename Ops::Vec;
  constexpr int kRows = sizeof...(R);
  constexpr int kLanes = Ops::kLanes;
  constexpr bool kAcross = Of == Elements::across;

  // Of every other row: the next one's elements are reached from there. Across k the first row's is
  // near all others.
  const A* a[kAcross ? 1 : (kRows + 1) / 2];
  if constexpr (kAcross) {
    a[0] = task.a;
  } else {
    ((a[R / 2] = task.a + static_cast<std::int64_t>(R / 2 * 2) * task.a_row, keep(a[R / 2])), ...);
  }
  [[maybe_unused]] const std::int64_t a_step = task.a_step;
  [[maybe_unused]] const std::int64_t a_row_bytes =
      task.a_row * static_cast<std::int64_t>(sizeof(A));
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

  // One step of k, kStep steps on.
  const auto add_step = [&]<int kStep>(std::integral_constant<int, kStep>)
      __attribute__((always_inline)) {
    typename Ops::BVec columns[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      auto* packed = b_panel + (kStep * Vectors + v) * kLanes;
      if constexpr (Packs) {
        columns[v] =
            v == Vectors - 1 ? Ops::load_b(b + v * kLanes, mask) : Ops::load_b(b + v * kLanes);
        Ops::store(packed, columns[v]);
      } else {
        columns[v] = Ops::load_now(packed);
      }
    }
    if constexpr (Packs) b += b_step;
    const auto add_row = [&](auto& row_sum, auto element) __attribute__((always_inline)) {
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) {
        row_sum[v] = Ops::multiply_add_to(row_sum[v], element, columns[v]);
      }
    };
    [[maybe_unused]] const auto add_loaded = [&](auto& row_sum, const A* element)
        __attribute__((always_inline)) {
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) {
        row_sum[v] = Ops::multiply_add_element(row_sum[v], element, columns[v]);
      }
    };
    if constexpr (kAcross) {
      (add_row(sum[R], Ops::template broadcast_now<static_cast<int>(R)>(a[0])), ...);
      a[0] += a_step;
      keep(a[0]);
    } else {
      constexpr bool kLoad = Of == Elements::loaded_by_multiply_adds;
      ((R % 2 == 1 ? add_row(sum[R], Ops::template broadcast_below<kStep>(a[R / 2], a_row_bytes))
        : kLoad    ? add_loaded(sum[R], a[R / 2] + kStep)
                   : add_row(sum[R], Ops::template broadcast_now<kStep>(a[R / 2]))),
       ...);
    }
  };
  const auto add_steps = [&]<int... kStep>(std::integer_sequence<int, kStep...>)
      __attribute__((always_inline)) {
    (add_step(std::integral_constant<int, kStep>()), ...);
  };
  // `count` steps done: all go on.
  const auto advance = [&](int count) __attribute__((always_inline)) {
    if constexpr (!kAcross) {
      ((R % 2 == 0 ? (a[R / 2] += count, keep(a[R / 2])) : void()), ...);
    }
    b_panel += count * Vectors * kLanes;
  };

  // C's rows are fetched one by one shortly before they are needed, as in register_tile.hpp; the
  // last so early that it comes from the last cache in time: 1000³ takes 12.43 ms so, 12.55 with
  // half of it, 384×384×3000 5.26 and 5.30 ms.
  constexpr std::int64_t kGroupsAfterFetch = 4;
  const std::int64_t groups = task.depth / kSteps;
  const std::int64_t first_fetch = std::max<std::int64_t>(0, groups - kRows - kGroupsAfterFetch);
  const auto* fetched = sum_begin;
  const std::int64_t fetches = task.fetches;
  LineRun far = next_run(*task.ahead, task.b_panel);
  std::int64_t due = 0;
#pragma GCC unroll 1
  for (std::int64_t group = 0; group < groups; ++group) {
    due += fetches;
#pragma GCC unroll 1
    for (; due >= groups; due -= groups) {
      if (task.fetches_near) {
        fetch_lines<3, kLinesTogether<kAcross>>(far, *task.ahead, task.b_panel);
      } else {
        fetch_lines<2, kLinesTogether<kAcross>>(far, *task.ahead, task.b_panel);
      }
    }
    if (group >= first_fetch && group < first_fetch + kRows) {
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) Ops::prefetch(fetched + v * kLanes);
      Ops::prefetch(fetched + Vectors * kLanes - 1);
      fetched += sum_stride;
    }
    add_steps(std::make_integer_sequence<int, kSteps>());
    advance(kSteps);
  }
#pragma GCC unroll 1
  for (std::int64_t step = groups * kSteps; step < task.depth; ++step) {
    add_step(std::integral_constant<int, 0>());
    advance(1);
  }

  store_sums<Ops>(sum, task.alpha, task.beta, mask, sum_begin, sum_stride);
}

template <class Ops, int Rows, int Vectors, bool Packs, Elements Of>
void passing_tile(const PassingTask<Ops>& task) {
  passing_tile<Ops, Vectors, Packs, Of>(task, std::make_index_sequence<Rows>());
}

// All sizes of one register tile, by rows − 1 and vectors − 1.
template <class Ops, bool Packs, Elements Of>
struct PassingTable {
  using Function = void (*)(const PassingTask<Ops>&);

  // A single vector and few rows are edges: not worth the time that another instantiation takes to
  // compile.
  static constexpr Elements elements(int rows, int vectors) {
    const bool may_load = vectors > 1 && 2 * rows > kPassingRows;
    return Of == Elements::loaded_by_multiply_adds && !may_load ? Elements::along : Of;
  }
  template <int Rows, std::size_t... V>
  static constexpr std::array<Function, kPassingVectors> row(std::index_sequence<V...>) {
    return {&passing_tile<Ops, Rows, static_cast<int>(V) + 1, Packs,
                          elements(Rows, static_cast<int>(V) + 1)>...};
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

// Fetches of a row of so many bytes, wherever it starts.
inline std::int64_t fetches_of(std::int64_t bytes, int lines_together) {
  constexpr auto kLine = static_cast<std::int64_t>(kCacheLine);
  return (bytes + kLine - 2) / (lines_together * kLine) + 1;
}

// KernelCode::multiply of a task with a `passing_panel`.
//
// While a strip is multiplied, what comes next is fetched into L2: beside the first panel, which is
// when A's rows come in, the next strip of them; of the next panels' columns its share; and at the
// end the first strip of the task after this. It is spread evenly, for lines that come long before
// they are needed are gone by then. Emerald Rapids, f32, one thread, 2026-11, per cent of the peak
// without any of it and with it: 128×128×32768 81 and 90, 192×192×16384 85 and 92, 1000³ 88 and 91.
// What is left of a row counts as a fetch, too: lines of one row only, counted as lines, left out a
// third of B's rows where three at a time met rows of four (96×5001×3001 on a Zen 5 77 instead of
// 91).
template <class Ops>
void multiply_passing(const BlockTask& task) {
  using A = typename Ops::A;
  using B = typename Ops::B;
  using Acc = typename Ops::Acc;
  constexpr int kLanes = Ops::kLanes;
  constexpr std::int64_t kWidest = kPassingVectors * kLanes;
  // By whether the strip packs, after where A's elements are.
  static constexpr std::array tables = {
      PassingTable<Ops, false, Elements::along>::kFunctions,
      PassingTable<Ops, true, Elements::along>::kFunctions,
      PassingTable<Ops, false, Elements::loaded_by_multiply_adds>::kFunctions,
      PassingTable<Ops, true, Elements::loaded_by_multiply_adds>::kFunctions,
      PassingTable<Ops, false, Elements::across>::kFunctions,
      PassingTable<Ops, true, Elements::across>::kFunctions};
  alignas(64) Acc register_tile[kPassingRows * kWidest];
  const auto* a = static_cast<const A*>(task.a.data);
  const auto* b = static_cast<const B*>(task.b.data);
  const LookAhead after = task.ahead != nullptr ? *task.ahead : LookAhead();

  LookAhead ahead;
  PassingTask<Ops> tile;
  tile.a_row = task.a.along_stride;
  tile.a_step = task.a.depth_stride;
  tile.b_step = task.b.depth_stride;
  tile.b_panel = static_cast<B*>(task.passing_panel);
  tile.depth = task.depth;
  tile.alpha = Ops::scalar(task.alpha);
  tile.beta = Ops::scalar(task.beta);
  tile.ahead = &ahead;
  tile.fetches_near = task.fetches_near;

  // Strips of nearly equal numbers of rows.
  const std::int64_t strips = (task.rows + kPassingRows - 1) / kPassingRows;
  const std::int64_t least_rows = task.rows / strips;
  const std::int64_t longer_strips = task.rows % strips;
  const bool is_across = task.a.depth_stride != 1;
  const Elements elements = is_across                 ? Elements::across
                            : task.multiply_adds_load ? Elements::loaded_by_multiply_adds
                                                      : Elements::along;
  const int lines_together = is_across ? kLinesTogether<true> : kLinesTogether<false>;
  constexpr auto kSizeA = static_cast<std::int64_t>(sizeof(A));
  // Of a strip of A, what lies in one piece.
  const std::int64_t pieces_of_a = is_across ? task.depth : kPassingRows;
  const std::int64_t bytes_of_piece = (is_across ? kPassingRows : task.depth) * kSizeA;
  const std::int64_t piece_stride =
      (is_across ? task.a.depth_stride : task.a.along_stride) * kSizeA;
  const std::int64_t b_row_bytes = task.b.depth_stride * static_cast<std::int64_t>(sizeof(B));
  const std::int64_t groups = std::max<std::int64_t>(1, task.depth / kSteps);
  const std::int64_t together = panels_fetched_together(task.rows, task.fetches_near);

  FarRows next_b;  // of the panels after those that go together
  std::int64_t share_of_b = 0;
  std::int64_t cols = 0;
  for (std::int64_t col = 0, panel = 0; col < task.cols; col += cols, ++panel) {
    cols = passing_columns<Ops>(task.cols - col);
    const bool is_last_panel = col + cols >= task.cols;
    const auto vectors = static_cast<int>((cols + kLanes - 1) / kLanes);
    tile.b = b + col;
    tile.mask = Ops::mask(static_cast<int>(cols) - (vectors - 1) * kLanes);

    if (panel % together == 0) {
      const std::int64_t left = task.cols - col;
      const std::int64_t next = together * kWidest;
      next_b = after.soon;
      if (next < left) {
        next_b = {reinterpret_cast<const unsigned char*>(tile.b + next), b_row_bytes,
                  std::min(next, left - next) * static_cast<std::int64_t>(sizeof(B)), task.depth};
      }
      const std::int64_t panels = std::min(together, (left + kWidest - 1) / kWidest);
      share_of_b = (next_b.left + panels * strips - 1) / (panels * strips);
    }
    const std::int64_t fetches_of_b = share_of_b * fetches_of(next_b.bytes, lines_together);
    const std::int64_t fetches_of_both =
        fetches_of_b + pieces_of_a * fetches_of(bytes_of_piece, lines_together);

    std::int64_t rows = 0;
    for (std::int64_t strip = 0, row = 0; strip < strips; ++strip, row += rows) {
      const bool is_last_strip = strip + 1 == strips;
      rows = least_rows + (strip < longer_strips ? 1 : 0);
      tile.a = a + row * task.a.along_stride;
      if (task.sum != nullptr) {
        tile.sum = static_cast<Acc*>(task.sum) + row * task.sum_stride + col;
        tile.sum_stride = task.sum_stride;
      } else {
        tile.sum = register_tile;
        tile.sum_stride = kWidest;
      }
      ahead.soon = {};
      if (is_last_strip && is_last_panel) ahead.soon = after.later;
      if (!is_last_strip && col == 0 && !after.a_is_near) {
        ahead.soon = {reinterpret_cast<const unsigned char*>(tile.a + rows * task.a.along_stride),
                      piece_stride, bytes_of_piece, is_across ? task.depth : rows};
      }
      ahead.later = next_b;
      ahead.later.left = std::min(share_of_b, next_b.left);
      next_b.next += ahead.later.left * next_b.stride;
      next_b.left -= ahead.later.left;
      const std::int64_t fetches = ahead.soon.left > 0 ? fetches_of_both : fetches_of_b;
      tile.fetches = std::min(fetches, groups * kMostLines / lines_together);
      tables[2 * static_cast<std::size_t>(elements) + (strip == 0 ? 1 : 0)]
            [static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(vectors - 1)](tile);
      if (task.finish != nullptr) {
        finish_block<Acc>(sub_block(*task.finish, row, col), tile.sum, tile.sum_stride, rows, cols);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
