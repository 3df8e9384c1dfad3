// A B in place for few rows of C, or several of its packed panels: register tiles of those rows, as
// wide as the registers hold, down all of a block's k. B comes once, several lines of a row at a
// time, and what comes next is fetched into the nearest cache, for rows lie too far apart for the
// processor to see it coming. Against register_tile.hpp, which is as wide for one row as for
// twelve, a step of k has as much to do for each instruction around it, and enough sums to hide the
// arithmetic's latency.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"
#include "cpu/register_tile.hpp"

namespace tessera::cpu {
namespace {

template <class Ops>
constexpr int kVectorRegisters = sizeof(typename Ops::Vec) == 64 ? 32 : 16;

// Rows of C at a time, and vectors of each: sums, and of a step of k either all of A and a vector
// of B or the other way round, fit the registers.
template <class Ops>
constexpr int kWideRows = kVectorRegisters<Ops> / 4;
constexpr int kMostWideVectors = 8;

template <class Ops>
constexpr int wide_vectors(int rows) {
  int vectors = kMostWideVectors;
  while (vectors > 1 && rows * vectors + std::min(rows, vectors) + 1 > kVectorRegisters<Ops>) {
    --vectors;
  }
  return vectors;
}

// Lines that are fetched and wait in the nearest cache: a third of 48 KB at most. From memory,
// where they are most, Zen 5, one thread, f32, n = 5008, k = 3001, 2026-11, GB/s of B with 16, 32
// and 64 rows fetched ahead: m = 1 (eight vectors wide) 53, 54, 51; 4 (six) 39, 46, 42, four
// vectors wide 33, 42, 48; 8 (three) 26, 33, 45.
constexpr std::int64_t kLinesAhead = 256;

template <class Ops>
struct WideTask {
  const typename Ops::A* a;
  const typename Ops::B* b;
  std::int64_t a_row;  // strides in elements
  std::int64_t a_step;
  std::int64_t b_row;
  std::int64_t b_panel = 0;  // from one packed panel to the next
  std::int64_t depth;
  std::int64_t rows_ahead;  // of B
  // From the first row of these columns to that of the next, whose first rows are fetched in the
  // end; 0: these are the last.
  std::int64_t next_columns;
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
  typename Ops::Mask mask;  // of the last vector, at an edge
};

// B's vectors side by side in its rows, the last one masked; or in packed panels, two vectors of
// each.
enum class WideReading { rows, rows_edge, panels };
constexpr int kVectorsOfPanel = 2;

template <class Ops, int Rows, int Vectors, WideReading How>
void wide_tile(const WideTask<Ops>& task) {
  constexpr bool kEdge = How == WideReading::rows_edge;
  constexpr bool kPanels = How == WideReading::panels;
  using Vec = typename Ops::Vec;
  constexpr int kLanes = Ops::kLanes;
  constexpr int kVectorBytes = static_cast<int>(kLanes * sizeof(typename Ops::B));
  constexpr int kVectorsOfLine = std::max(1, static_cast<int>(kCacheLine) / kVectorBytes);
  const std::int64_t a_row = task.a_row;
  const std::int64_t a_step = task.a_step;
  const std::int64_t b_row = task.b_row;
  const auto mask = task.mask;
  // Every fourth row's address; the compiler, kept from seeing how they are related, adds one, two
  // or three strides for those between.
  constexpr int kQuads = (Rows + 3) / 4;
  std::int64_t a_row3 = 3 * a_row;
  asm("" : "+r"(a_row3));
  const typename Ops::A* a[kQuads];
#pragma GCC unroll 2
  for (int q = 0; q < kQuads; ++q) {
    a[q] = task.a + 4 * q * a_row;
    asm("" : "+r"(a[q]));
  }
  const auto element_of_a = [&](int r) __attribute__((always_inline)) {
    return Ops::broadcast(a[r / 4] + (r % 4 == 3 ? a_row3 : r % 4 * a_row));
  };
  const auto* b = task.b;
  const std::int64_t b_panel = task.b_panel;
  const auto at_vector = [&](int v) __attribute__((always_inline)) {
    if constexpr (kPanels) return b + v / kVectorsOfPanel * b_panel + v % kVectorsOfPanel * kLanes;
    return b + v * kLanes;
  };
  const auto vector_of_b = [&](int v) __attribute__((always_inline)) {
    const auto* from = at_vector(v);
    return kEdge && v == Vectors - 1 ? Ops::load_b(from, mask) : Ops::load_b(from);
  };

  Vec sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[r][v] = Ops::zero();
  }
  const std::int64_t depth = task.depth;
  const std::int64_t rows_ahead = std::min(task.rows_ahead, depth);
  std::int64_t until = depth - rows_ahead;
  std::int64_t ahead = rows_ahead * b_row;
  for (std::int64_t k = 0;;) {
#pragma GCC unroll 1
    for (; k < until; ++k, b += b_row) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; v += kVectorsOfLine) {
        __builtin_prefetch(at_vector(v) + ahead);
      }
      if constexpr (Rows == 1 && !kEdge) {
        const auto element = element_of_a(0);
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) {
          sum[0][v] = multiply_add_alone<Ops>(sum[0][v], element, at_vector(v));
        }
      } else if constexpr (Rows <= Vectors) {
        decltype(element_of_a(0)) elements[Rows];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) elements[r] = element_of_a(r);
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) {
          const auto columns = vector_of_b(v);
#pragma GCC unroll 8
          for (int r = 0; r < Rows; ++r) {
            sum[r][v] = Ops::multiply_add(sum[r][v], elements[r], columns);
          }
        }
      } else {
        typename Ops::BVec columns[Vectors];
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) columns[v] = vector_of_b(v);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
          const auto element = element_of_a(r);
#pragma GCC unroll 8
          for (int v = 0; v < Vectors; ++v) {
            sum[r][v] = Ops::multiply_add(sum[r][v], element, columns[v]);
          }
        }
      }
#pragma GCC unroll 2
      for (int q = 0; q < kQuads; ++q) a[q] += a_step;
    }
    if (until == depth) break;
    ahead = task.next_columns != 0 ? task.next_columns - until * b_row : 0;
    until = depth;
  }
  store_sums<Ops>(sum, task.alpha, task.beta, mask, task.sum, task.sum_stride);
}

// By rows − 1, of all their vectors, and by vectors − 1 as well, the last one masked.
template <class Ops>
struct WideTable {
  using Function = void (*)(const WideTask<Ops>&);
  static constexpr std::size_t kRows = kWideRows<Ops>;

  template <int Rows, std::size_t... V>
  static constexpr std::array<Function, kMostWideVectors> edges(std::index_sequence<V...>) {
    return {&wide_tile<Ops, Rows, static_cast<int>(V) + 1, WideReading::rows_edge>...};
  }
  template <std::size_t... R>
  static constexpr std::array<Function, kRows> wholes(std::index_sequence<R...>) {
    return {&wide_tile<Ops, static_cast<int>(R) + 1, wide_vectors<Ops>(static_cast<int>(R) + 1),
                       WideReading::rows>...};
  }
  template <std::size_t... R>
  static constexpr std::array<std::array<Function, kMostWideVectors>, kRows> all_edges(
      std::index_sequence<R...>) {
    return {edges<static_cast<int>(R) + 1>(std::make_index_sequence<static_cast<std::size_t>(
                                               wide_vectors<Ops>(static_cast<int>(R) + 1))>())...};
  }
  static constexpr auto kWhole = wholes(std::make_index_sequence<kRows>());
  static constexpr auto kEdge = all_edges(std::make_index_sequence<kRows>());
};

// A block of C in wide tiles: so many of its rows at a time, and as many vectors of them.
template <class Ops>
class WideBlock {
 public:
  explicit WideBlock(const BlockTask& block) : block_(block) {
    constexpr std::int64_t kMostRows = kWideRows<Ops>;
    groups_ = (block.rows + kMostRows - 1) / kMostRows;
    vectors_ = wide_vectors<Ops>(static_cast<int>((block.rows + groups_ - 1) / groups_));
    tile_.a_row = block.a.along_stride;
    tile_.a_step = block.a.depth_stride;
    tile_.b_row = block.b.depth_stride;
    tile_.depth = block.depth;
    tile_.rows_ahead = std::min<std::int64_t>(block.rows_ahead, kLinesAhead / vectors_);
    tile_.sum_stride = block.sum_stride;
    tile_.alpha = Ops::scalar(block.alpha);
    tile_.beta = Ops::scalar(block.beta);
  }

  // B comes once, and stays near while all rows of C meet a tile's columns of it.
  void down_columns() {
    for (std::int64_t col = 0; col < block_.cols; col += cols_) {
      face_columns(col);
      for (std::int64_t group = 0, row = 0; group < groups_; ++group, row += rows_) {
        face_rows(group, row);
        multiply(row, col);
      }
    }
    finish(0, block_.rows);
  }

  // B stays near anyway, and C's rows are written from end to end.
  void along_rows() {
    tile_.rows_ahead = 0;
    for (std::int64_t group = 0, row = 0; group < groups_; ++group, row += rows_) {
      face_rows(group, row);
      for (std::int64_t col = 0; col < block_.cols; col += cols_) {
        face_columns(col);
        if (block_.fetches_sums) fetch_sums<Ops>(sum_at(row, col), tile_.sum_stride, rows_, cols_);
        multiply(row, col);
      }
      finish(row, rows_);
    }
  }

 private:
  static constexpr std::int64_t kLanes = Ops::kLanes;

  // Groups have nearly equal numbers of rows.
  void face_rows(std::int64_t group, std::int64_t row) {
    rows_ = (block_.rows - row) / (groups_ - group);
    tile_.a = static_cast<const typename Ops::A*>(block_.a.data) + row * tile_.a_row;
  }

  void face_columns(std::int64_t col) {
    cols_ = std::min(vectors_ * kLanes, block_.cols - col);
    taken_ = (cols_ + kLanes - 1) / kLanes;
    tile_.mask = Ops::mask(static_cast<int>(cols_ - (taken_ - 1) * kLanes));
    tile_.b = static_cast<const typename Ops::B*>(block_.b.data) + col;
    tile_.next_columns = col + cols_ < block_.cols ? cols_ : 0;
  }

  typename Ops::Acc* sum_at(std::int64_t row, std::int64_t col) const {
    return static_cast<typename Ops::Acc*>(block_.sum) + row * tile_.sum_stride + col;
  }

  void multiply(std::int64_t row, std::int64_t col) {
    tile_.sum = sum_at(row, col);
    const auto at = static_cast<std::size_t>(rows_ - 1);
    const bool is_whole =
        cols_ == vectors_ * kLanes && vectors_ == wide_vectors<Ops>(static_cast<int>(rows_));
    const auto function = is_whole
                              ? WideTable<Ops>::kWhole[at]
                              : WideTable<Ops>::kEdge[at][static_cast<std::size_t>(taken_ - 1)];
    function(tile_);
  }

  void finish(std::int64_t row, std::int64_t rows) const {
    if (block_.finish == nullptr) return;
    const auto* sum = static_cast<const typename Ops::Acc*>(block_.sum) + row * block_.sum_stride;
    finish_block<typename Ops::Acc>(sub_block(*block_.finish, row, 0), sum, block_.sum_stride, rows,
                                    block_.cols);
  }

  const BlockTask& block_;
  WideTask<Ops> tile_;
  std::int64_t groups_ = 0;   // of rows
  std::int64_t vectors_ = 0;  // of a tile
  std::int64_t rows_ = 0;     // at hand
  std::int64_t cols_ = 0;     // at hand, and the vectors that they take
  std::int64_t taken_ = 0;
};

// KernelCode::multiply where a B in place is walked so (BlockTask::rows_ahead).
template <class Ops>
void multiply_wide(const BlockTask& task) {
  WideBlock<Ops> block(task);
  if (task.sums_are_far) {
    block.along_rows();
  } else {
    block.down_columns();
  }
}

// Packed panels side by side for few rows: so many for so many rows, where a register tile has one,
// whose two sums of a row wait for each other, and which the processor follows as a single stream.
// Granite Rapids, 2026-12, the time panel by panel over the time so, one thread and two: f32
// 1×4096×4096 1.09, 1.14, 2×1000×1000 1.00, 1.33, 4×300×784 1.12, 1.08, f64 3×700×700 1.01, 1.35,
// 5×300×784 1.46, 1.24, f16 1×700×700 1.36, 1.41; what memory's pace decides, 17 MB in f32, 1.00.
template <class Ops>
constexpr int wide_panels(int rows) {
  return wide_vectors<Ops>(rows) / kVectorsOfPanel;
}

// How many rows take more than one.
template <class Ops>
constexpr int most_rows_of_panels() {
  int rows = 0;
  while (rows < kWideRows<Ops> && wide_panels<Ops>(rows + 1) > 1) ++rows;
  return rows;
}

// Rows times vectors of the largest such tile.
template <class Ops>
constexpr int most_vectors_of_panels() {
  int most = 0;
  for (int rows = 1; rows <= most_rows_of_panels<Ops>(); ++rows) {
    most = std::max(most, rows * kVectorsOfPanel * wide_panels<Ops>(rows));
  }
  return most;
}

// By rows − 1 and panels − 1.
template <class Ops>
struct PanelTable {
  using Function = void (*)(const WideTask<Ops>&);
  static constexpr int kMostPanels = kMostWideVectors / kVectorsOfPanel;
  static constexpr std::size_t kRows = most_rows_of_panels<Ops>();

  template <int Rows, std::size_t... P>
  static constexpr std::array<Function, kMostPanels> row(std::index_sequence<P...>) {
    return {
        &wide_tile<Ops, Rows, (static_cast<int>(P) + 1) * kVectorsOfPanel, WideReading::panels>...};
  }
  template <std::size_t... R>
  static constexpr std::array<std::array<Function, kMostPanels>, kRows> all(
      std::index_sequence<R...>) {
    return {row<static_cast<int>(R) + 1>(std::make_index_sequence<static_cast<std::size_t>(
                                             wide_panels<Ops>(static_cast<int>(R) + 1))>())...};
  }
  static constexpr auto kFunctions = all(std::make_index_sequence<kRows>());
};

// Of panels in the second-level cache so many steps of k are fetched into the nearest ahead: on the
// same machine eight products of f32 1.06 and 1.07 times as fast, of f64 1.00.
constexpr std::int64_t kNearStepsAhead = 8;

// All whole panels of a packed B beside all rows of a block, as few as they are: `finish` gets each
// column from which, and how many. Where the block has no sums, `room` for a register tile has
// them. Returns how many columns they are. `tile` has A's side, alpha and beta.
template <class Ops, class Finish>
std::int64_t multiply_panels(const BlockTask& block, WideTask<Ops> tile, typename Ops::Acc* room,
                             Finish finish) {
  using Acc = typename Ops::Acc;
  constexpr std::int64_t kWidth = kVectorsOfPanel * Ops::kLanes;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename Ops::B));
  const std::int64_t panels = block.cols / kWidth;
  const std::int64_t most = wide_panels<Ops>(static_cast<int>(block.rows));
  const std::int64_t groups = (panels + most - 1) / most;
  tile.b = static_cast<const typename Ops::B*>(block.b.data);
  tile.b_row = kWidth;
  tile.b_panel = block.b.panel_bytes / kSize;
  tile.rows_ahead =
      block.panels_ahead > 0 ? block.panels_ahead / (kWidth * kSize) : kNearStepsAhead;
  tile.mask = Ops::mask(Ops::kLanes);
  for (std::int64_t group = 0, panel = 0; group < groups; ++group) {
    const std::int64_t taken = (panels - panel) / (groups - group);
    const std::int64_t col = panel * kWidth;
    tile.sum = block.sum != nullptr ? static_cast<Acc*>(block.sum) + col : room;
    tile.sum_stride = block.sum != nullptr ? block.sum_stride : taken * kWidth;
    panel += taken;
    tile.next_columns = panel < panels ? taken * tile.b_panel : 0;
    PanelTable<Ops>::kFunctions[static_cast<std::size_t>(block.rows - 1)]
                               [static_cast<std::size_t>(taken - 1)](tile);
    tile.b += taken * tile.b_panel;
    finish(tile, col, taken * kWidth);
  }
  return panels * kWidth;
}

}  // namespace
}  // namespace tessera::cpu
