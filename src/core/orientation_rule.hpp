// Which way round a CPU computes a product: the planner decides it from a problem's layouts
// (plan/orientation.hpp), the backend from strides (cpu/product.hpp), by the same rule.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/tile_registers_rule.hpp"
#include "core/work.hpp"
#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

// Whether a product's sizes may decide which way round it is computed: always, unless its rows must
// be alike beside however many others. Then it must have the same bits turned round: sums are not
// scaled, or of another type than C, which does not collect them then. (Operands are packed.)
inline bool may_be_turned_for_size(const TileConfig& tile, const Problem& problem,
                                   bool may_collect_in_c) {
  return !tile.rows_alike || !may_collect_in_c || (problem.alpha == 1 && problem.beta == 0);
}

// A product by how C lies: its `cols` are next to each other in memory. `rows_lie_along_k` of the
// operand whose rows are C's rows (A's, or of a column-major C B's columns), the other's
// `cols_lie_along_k`.
struct StoredProduct {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t depth = 0;
  int element_bytes = 0;
  bool rows_lie_along_k = false;
  bool cols_lie_along_k = false;

  GemmShape shape() const { return {rows, cols, depth}; }

  // Operands' elements are of one size.
  StoredProduct transposed() const {
    return {cols, rows, depth, element_bytes, cols_lie_along_k, rows_lie_along_k};
  }
};

// A register tile of sums, of `mr` rows and `nr` columns; `has_tall`: there are ones of more rows
// by a single vector besides (cpu/tall_tiles.hpp), which were measured on such a machine.
struct RegisterTile {
  int mr = 0;
  int nr = 0;
  bool has_tall = false;
};

// Tile registers' are square, and take what lies across k as B alone without transposing it: on an
// Emerald Rapids i8 241×5×103 with a column-major A takes 3.0 times as long along C's rows.
inline bool has_tile_registers(const RegisterTile& tile) {
  return tile.mr == tile.nr;
}

// Sums of a vector, of which a register tile mostly has two in a row.
inline std::int64_t lanes_of(const RegisterTile& tile) {
  return std::max(1, tile.nr / 2);
}

// Elements of a step of k: one of 4 bytes or more, or as many smaller ones as that holds.
inline std::int64_t elements_of_step(const StoredProduct& product) {
  return std::max<std::int64_t>(1, 4 / product.element_bytes);
}

// Bytes of a register tile's row of sums, and whether that is two of the widest vectors.
inline std::int64_t row_bytes(const StoredProduct& product, const RegisterTile& tile) {
  return tile.nr * std::max<std::int64_t>(4, product.element_bytes);
}

inline bool is_wide(const StoredProduct& product, const RegisterTile& tile) {
  return row_bytes(product, tile) >= 128;
}

// Bytes of wide registers that lie across k are copied for as much of it for each row. Zen 4, one
// thread, i8, 2026-11, the time by packing over the time by dots: A in rows, k = 520, 1000, 3000,
// 1589×2 1.97, 2.22, 1.97; 1589×4 1.59, 2.01, 2.20; 1589×8 1.12, 1.35, 1.60; 60×3 0.99, 1.41, 1.16;
// both transposed 3×1589 1.60, 2.04, 2.34; 8×1589 1.08, 1.29, 1.53; 12×1589 0.89, 1.10, 1.23;
// 16×1589 0.81, 1.01, 1.11; with 130, 200, 300 2×300 1.10, 1.60, 1.83.
inline constexpr std::int64_t kDotBytesForEachCopied = 64;

// The least k for which vectors had better run down C's long side than along its few columns: what
// lies along k is multiplied as dot products then, and what lies across is read in place, but sums
// go to C one by one. Before, the multiply-adds that leave most of a vector empty are fewer than
// what that takes. Zen 5, one thread, 2026-11, 200 rows, the time down the long side over the time
// along the columns, with 1, 2, 4 and 8 columns: f32 along k, k = 8 1.64, 3.65, 3.92, 5.08; 16
// 0.55, 0.82, 1.58, 3.17; 32 0.36, 0.53, 1.01, 2.05; 64 0.24, 0.36, 0.71, 0.98. bf16 16 2.14, 3.94,
// 4.02, 4.86; 32 0.52, 0.75, 1.10, 2.04; 128 0.23, 0.32, 0.46, 0.91. i8 64 0.58, 1.49, 1.76, 2.44;
// 256 0.65, 1.14, 1.17, 1.53; 512 0.19, 0.89, 0.95, 1.21. f64 with 1, 2 and 4, 4 1.30, 3.78, 4.88;
// 8 0.67, 0.91, 1.83; 24 0.44, 0.52, 1.07. Registers of half the width, f32: 8 0.65, 3.12, 3.66;
// 64 0.57, 1.13, 1.14; 128 0.72, 0.93, 0.97; f64 with two columns 32 2.47, 256 1.39. Rows across k
// beside those, Zen 3, 300 rows and two and four columns, the time along the columns over the time
// down: f32 k = 16 1.54, 1.11 (30 rows 0.93, 0.81), 32 2.40, 1.44 (1.35, 1.02), f64 32 1.65 with
// two, bf16 4 2.12, 1.21, 16 2.98, 1.51, 64 4.05, 2.53, i8 2.20, 1.77, 2.83, 2.21, 3.92, 3.06; 12
// rows f32 32 0.73, 0.69, eight bf16 4 1.17, 1.06, i8 1.10, 1.10, five bf16 16 0.86, 0.77.
// Bytes of few columns elsewhere, the time along the columns over the time down, k = 130, 200, 300,
// 450: Zen 4, 1589 rows, 2 columns 1.96, 2.42, 2.72, 3.11; 3 1.23, 1.47, 2.42, 2.67;
// 4 1.11, 1.24, 2.01, 2.17; 6 1.00, 1.02, 1.17, 1.21; 8 and 12 0.95 to 1.01; 60 rows,
// 6 1.00, 1.16, 1.21, 1.21; the columns along k, too, alike; Emerald Rapids without tile registers
// 1589×2×300 2.27, ×4×300 1.70, 60×3×200 0.80, the columns along k, too, 3.43, 2.24, 1.56. On the
// Zen 5 not measured again, so that columns which have to be copied go down from where that pays
// alone.
inline std::int64_t least_depth_down(const StoredProduct& product, const RegisterTile& tile) {
  constexpr std::int64_t kStepsOfNarrow = 64;
  constexpr std::int64_t kDepthOfNarrow = 32;
  constexpr std::int64_t kDepthOfNarrowWidened = 4;
  constexpr std::int64_t kRowsOfNarrow = 24;
  constexpr std::int64_t kRowsOfNarrowWidened = 8;
  constexpr std::int64_t kDepthOfNarrowDots = 8;
  constexpr std::int64_t kStepsForEach = 10;
  constexpr std::int64_t kStepsLess = 12;
  constexpr std::int64_t kBytesOfBytes = 512;
  constexpr std::int64_t kFewColumnsOfBytes = 6;
  constexpr std::int64_t kBytesOfFewColumns = 128;
  const std::int64_t size = product.element_bytes;
  const std::int64_t one_vector = row_bytes(product, tile) / 2 / size;
  if (product.cols == 1) return product.rows_lie_along_k ? one_vector : 0;
  if (has_tile_registers(tile)) return 2;  // 1 lies either way
  const std::int64_t step = elements_of_step(product);
  if (!is_wide(product, tile)) {
    if (product.rows_lie_along_k) return kDepthOfNarrowDots;
    const bool is_widened = size < 4;
    const std::int64_t many = is_widened ? kRowsOfNarrowWidened : kRowsOfNarrow;
    if (product.rows < many) return kStepsOfNarrow * step;
    return is_widened ? kDepthOfNarrowWidened : kDepthOfNarrow;
  }
  const bool are_bytes_along_k = size == 1 && product.rows_lie_along_k;
  const std::int64_t of_few =
      product.cols_lie_along_k ? kBytesOfFewColumns : kDotBytesForEachCopied * product.cols;
  const std::int64_t of_bytes = product.cols <= kFewColumnsOfBytes ? of_few : kBytesOfBytes;
  return std::max(are_bytes_along_k ? of_bytes : one_vector,
                  (kStepsForEach * product.cols - kStepsLess) * step);
}

// The share of so many elements in the vectors that hold them.
inline double fullness(std::int64_t count, std::int64_t lanes) {
  return static_cast<double>(count) / static_cast<double>((count + lanes - 1) / lanes * lanes);
}

inline bool are_fuller_down(const StoredProduct& product, const RegisterTile& tile) {
  constexpr double kFuller = 1.25;
  const std::int64_t lanes = lanes_of(tile);
  return fullness(product.rows, lanes) >= kFuller * fullness(product.cols, lanes);
}

// Whether vectors down the long side are so much fuller that it makes up for writing C across: for
// what lies across k, so that nothing is packed for it, and is some work. Zen 5, one thread, f32,
// 2026-11, A column-major, the time along C's rows over the time down its columns: 119×9×1093 1.97,
// 3000×12×3000 2.04, 1000×10×200 1.52, 60×12×300 1.14, 1000×18×1000 1.41, 521×37×1055 1.10,
// 300×36×300 1.09; with less to gain or to do 1000×40×500 1.02, 380×27×577 0.90, 238×17×68 0.87,
// 100×20×100 0.72.
//
// Up to 24 columns are as well where vectors are hardly fuller, for a column-major A is packed to
// run along them. Emerald Rapids, one thread, B in rows and along k: f32 816×13×143 1.42, 1.49,
// 1143×15×952 1.42, 1.49, 1847×16×306 1.33, 1.15, 857×16×1925 1.64, 1.50, 24×10×257 1.12, 2.04, f64
// 48×6×258 1.63, 2.51, 588×8×1716 1.37, 1.36, 1480×15×1974 1.76, 1.61, 755×24×669 1.25, 1.07; with
// less of k or emptier vectors f32 1236×14×128 0.92, 45×16×98 0.73, 41×16×327 0.85, 1.12, f64
// 376×21×183 0.93, 239×20×257 0.87, 1.00. AMD's were not measured.
inline bool fills_vectors_down(const StoredProduct& product, const RegisterTile& tile) {
  constexpr std::int64_t kMostVectors = 3;  // across
  constexpr std::int64_t kFewColumns = 24;
  constexpr std::int64_t kLeastDepth = 128;
  constexpr std::int64_t kDepthOfOneVector = 144;
  constexpr std::int64_t kDepthOfFewColumns = 256;
  constexpr double kLeastWork = 200e3;
  constexpr double kNearlyAsFull = 0.9;
  const auto [rows, cols, depth, size, rows_lie_along_k, cols_lie_along_k] = product;
  const std::int64_t lanes = lanes_of(tile);
  if (rows_lie_along_k || size < 4 || cols > kMostVectors * lanes) return false;
  const bool is_long = depth >= (cols <= lanes ? kDepthOfOneVector : kDepthOfFewColumns);
  if (cols <= kFewColumns && is_long) {
    return fullness(rows, lanes) >= kNearlyAsFull * fullness(cols, lanes);
  }
  return depth >= kLeastDepth && multiply_adds(product.shape()) >= kLeastWork &&
         are_fuller_down(product, tile);
}

// The same of registers of half the width, whatever size the elements have: column by column each
// strip of a few rows takes a part of a line in every step of k, and widens elements one by one; as
// rows they are whole. One thread, 2026-11, A column-major, the time along C's rows over the time
// down its columns. Zen 3, 12 products of 100 to 2500 rows and k = 64 to 1000, with 6, 8, 12 and 20
// columns: f32 1.05, 1.09, 1.17, 1.04 (2000×8×1000 2.1, 1000×16×1000 1.7), f64 1.26, 1.05, 1.05,
// 0.99 (with 4 1.26), bf16 1.97, 1.38, 1.15, 1.11, f16 2.13, 1.61, 1.25, 1.16, i8 2.70, 1.62, 1.62,
// 1.32. Less to do, or fewer rows: f32 300×8×64 0.84, 17×12×512 0.77, f64 33×8×512 0.72, bf16
// 33×12×512 0.76, i8 30×8×16 0.68. Sixty random products of 20 to 3000 rows, 2 to 24 columns and k
// of 4 to 3000: f32 1.06, f64 1.03, bf16 1.29, f16 1.31, i8 1.41, B along k 1.07, 1.04, 1.29, 1.35,
// 1.36; Emerald Rapids with AVX2 1.06, 1.02, 1.36, 1.26, 1.51. Tall ones, 50000×10×256: f32 2.05 (a
// Zen 5 with AVX2 0.70), f64 0.87 (×8×256 2.8), bf16 1.34, i8 1.76. Scalar kernels follow,
// unmeasured.
inline bool fills_short_vectors_down(const StoredProduct& product, const RegisterTile& tile) {
  constexpr std::int64_t kFewColumns = 12;
  constexpr std::int64_t kMostColumns = 24;
  constexpr std::int64_t kLeastRows = 8;
  constexpr std::int64_t kManyRows = 64;
  constexpr double kFarBytes = 2 << 20;
  const auto [rows, cols, depth, size, rows_lie_along_k, cols_lie_along_k] = product;
  if (rows_lie_along_k || cols > kMostColumns) return false;
  const std::int64_t lanes = lanes_of(tile);
  const bool are_few = cols <= kFewColumns;
  const double work = multiply_adds(product.shape());
  if (size < 4 && cols < lanes) return rows >= kLeastRows && depth >= 32;
  if (size == 1) {
    return rows >= kManyRows ? depth >= (are_few ? 32 : 64) : are_few && depth >= 256;
  }
  if (size == 2) {
    if (cols == lanes) return depth >= 64 && work >= 120e3;
    return rows >= kManyRows && depth >= (are_few ? 64 : 512) && work >= 150e3;
  }
  if (!are_few) {
    const double bytes = static_cast<double>(rows) * static_cast<double>(depth) * size;
    return size == 4 && rows >= kManyRows && bytes > kFarBytes;
  }
  if (!are_fuller_down(product, tile)) return rows >= 2 * kManyRows && depth >= 256;
  return cols < lanes ? depth >= 64 && work >= 30e3 : depth >= 128 && work >= 200e3;
}

// The same of registers of half the width, for columns that lie across k, too, which are copied.
// The more lanes the columns leave empty, the sooner adding up lanes is worth it; sooner where a
// tile is one vector wide, whose multiply-adds wait for an element of A each, and where packing
// widens. Zen 3, one thread, 2026-11, 200 rows, operands in rows, the time along C's rows over the
// time by dots, k = 16, 64, 256, 1024: f32 4 columns 1.05, 1.93, 2.64, 3.28; 6 0.81, 1.25, 1.86,
// 1.69; 8 0.33, 0.70, 1.31, 1.39; 10 0.53, 0.89, 1.29, 1.38; 16 0.21, 0.51, 0.80, 1.62; f64 4 0.72,
// 1.15, 1.35, 1.98; 8 0.41, 0.70, 0.89, 1.05; bf16 8 0.91, 1.10, 1.43, 1.50; 12 0.80, 0.87, 1.17,
// 1.18; 16 0.63, 0.61, 0.81, 0.83; i8 4 1.48, 2.69, 3.60, 4.08; 8 0.91, 1.39, 1.83, 1.98; 16 0.53,
// 0.88, 1.15, 1.15. Of few rows copying the columns is too much: f32 14×12×212 0.78.
inline bool makes_narrow_dots_down(const StoredProduct& product, const RegisterTile& tile) {
  constexpr double kOneVector = 1.3;
  constexpr double kWidenedFrom16 = 1.15;
  constexpr double kWidenedFrom8 = 1.5;
  constexpr double kStepsForEach = 6;
  constexpr std::int64_t kMostColumns = 14;
  constexpr std::int64_t kMostColumnsOfBytes = 16;
  constexpr std::int64_t kRowsForEachCopied = 4;
  const bool are_bytes = product.element_bytes == 1;
  if (product.cols > (are_bytes ? kMostColumnsOfBytes : kMostColumns)) return false;
  if (!product.cols_lie_along_k && product.rows < kRowsForEachCopied * product.cols) return false;
  const std::int64_t lanes = lanes_of(tile);
  const std::int64_t vectors = (product.cols + lanes - 1) / lanes;
  const double widening = are_bytes                    ? kWidenedFrom8
                          : product.element_bytes == 2 ? kWidenedFrom16
                                                       : 1;
  const double along = widening * (vectors == 1 ? kOneVector : static_cast<double>(vectors));
  const auto cols = static_cast<double>(product.cols);
  const double gain = along - cols / static_cast<double>(lanes);
  return static_cast<double>(product.depth) * gain >= kStepsForEach * cols;
}

// Whether so many columns that lie across k are worth copying for it, with wide registers. Granite
// Rapids, one thread, operands in rows, 2026-11, the time along C's rows over the time by dots: f32
// 41×12×1330 1.47, 100×10×1000 1.78, 27×14×1050 1.25, 18×12×1500 1.37, 433×9×500 1.43, 300×14×400
// 1.15, 100×12×300 1.16, 3000×10×2000 1.22, 1000×12×1000 1.10, 1000×14×1000 0.99; f64 55×5×1215
// 1.58, 200×5×400 2.3, 100×7×500 1.49, 64×6×4000 1.37, 200×10×500 1.36, 500×5×150 1.04, 3000×7×500
// 0.98; two threads f32 1.38, 1000×12×1000 1.17, 433×9×500 1.41. With less of k 400×13×250 0.85,
// 100×14×300 0.94; with less to do 17×14×500 0.68, 40×12×300 0.91, 20×10×500 0.96, f64 20×6×1000
// 0.88, 24×5×500 0.91; of columns that fill vectors f64 500×8×300 0.89, 300×12×1000 0.95,
// 300×14×500 0.91.
//
// Smaller elements leave as many columns as half a panel has lanes, whose groups are interleaved
// for it. Zen 4, one thread, operands in rows, 2026-11, the same, with 9, 10, 11 and 12 columns:
// bf16 40 rows, k = 128 0.93, 0.87, 0.80, 0.73, 256 1.17, 1.13, 1.04, 1.02, 700 1.31, 1.52, 1.39,
// 1.36; 300 rows, 256 1.19, 1.14, 1.06, 1.00, 2000 1.47, 1.34, 1.24, 1.20; 20 rows, 256 1.09, 1.12,
// 0.95, 0.96, 1000 1.26, 1.22, 1.06, 1.06; 2048 rows, 2048 1.89, 1.51 with 12; f16 40 rows, 256
// 1.82, 1.76, 1.62, 1.56, 300 rows, 2000 1.72, 1.72, 1.50, 1.44; i8 100 rows, 400 0.93, 0.88, 0.84,
// 0.78, 700 1.11, 1.04, 0.77, 0.73, 2000 1.24, 1.18, 1.04, 1.07. 13 and 14 columns of bf16 0.8 to
// 1.15. Emerald Rapids without tile registers, 40 products of 22 to 5000 rows, 9 to 12 columns and
// k of 200 to 5000, bf16 1.25, widened 1.40, f16 1.45, i8 1.11.
inline bool is_worth_copying_for_dots(const StoredProduct& product, const RegisterTile& tile) {
  constexpr double kLeastWork = 250e3;
  constexpr std::int64_t kStepsForEach = 40;
  constexpr std::int64_t kStepsLess = 200;
  constexpr double kLeastWorkOfSmaller = 100e3;
  constexpr std::int64_t kColumnsOfPairs = 12;
  constexpr std::int64_t kDepthOfPairs = 256;
  constexpr std::int64_t kColumnsOfBytes = 10;
  constexpr std::int64_t kDepthOfBytes = 700;
  const double work = multiply_adds(product.shape());
  if (product.element_bytes < 4) {
    const bool are_bytes = product.element_bytes == 1;
    return product.cols <= (are_bytes ? kColumnsOfBytes : kColumnsOfPairs) &&
           product.depth >= (are_bytes ? kDepthOfBytes : kDepthOfPairs) &&
           work >= kLeastWorkOfSmaller;
  }
  const std::int64_t lanes = lanes_of(tile);
  const bool leave_lanes =
      product.cols < lanes || (product.cols > lanes && 4 * product.cols <= 5 * lanes);
  return leave_lanes && work >= kLeastWork &&
         product.depth >= kStepsForEach * product.cols - kStepsLess;
}

// Whether more columns, which lie along k as the rows do or are copied, had better be multiplied
// with these as dot products, of which as many as there are columns share a row. Zen 5, one thread,
// 2026-11, B transposed, the time along C's rows over the time by dots, with 9, 12 and 16 columns:
// f32, 40 rows, k = 64 1.06, 0.95, 0.71, 100 1.24, 1.02, 0.78, 200 1.72, 1.41, 1.06,
// 500 2.48, 2.02, 1.41; 400 rows, 200 1.35, 1.14, 0.87; f64 64 1.12, 1.02, 0.81,
// 200 2.10, 1.68, 1.24; bf16 100 0.88, 0.75, 0.55, 200 1.33, 1.13, 0.85; i8 200 0.92, 0.78, 0.59,
// 500 1.33, 1.17, 0.67.
inline bool makes_dots_down(const StoredProduct& product, const RegisterTile& tile) {
  constexpr std::int64_t kMostColumns = 14;
  constexpr std::int64_t kLeastRows = 17;
  constexpr std::int64_t kStepsForEach = 20;
  constexpr std::int64_t kStepsLess = 110;
  if (!product.rows_lie_along_k) return false;
  if (!is_wide(product, tile)) return makes_narrow_dots_down(product, tile);
  const bool may_copy = product.cols_lie_along_k || is_worth_copying_for_dots(product, tile);
  return may_copy && product.cols <= kMostColumns && product.rows >= kLeastRows &&
         product.depth >=
             std::max(least_depth_down(product, tile),
                      (kStepsForEach * product.cols - kStepsLess) * elements_of_step(product));
}

// So many rows, or more, may be multiplied by tall register tiles: 12³ and 16³ took 1.0 to 1.07
// times as long by them.
inline constexpr std::int64_t kLeastRowsOfTall = 17;

// Whether rows along k meet a vector of columns at most. Of rows that collide the nearest cache
// does not hold 24 lines: Emerald Rapids, one thread, f32, 2026-11, the time by dot products or
// panels over the time by tall tiles all the same: 200×16×1024 0.85, 200×14×2048 0.85, with B along
// k 0.83, 0.74, 1000×16×4096 0.84; half as far apart 1000×12×512 1.09. How far apart they are their
// length tells here, as if nothing lay between them; the backend asks the strides.
inline bool may_take_tall_tiles(const StoredProduct& product, const RegisterTile& tile) {
  return tile.has_tall && product.element_bytes >= 4 && product.rows_lie_along_k &&
         product.rows >= kLeastRowsOfTall && product.cols > 1 && product.cols <= lanes_of(tile) &&
         !rows_collide(product.depth * product.element_bytes);
}

// Whether columns that leave lanes of a vector empty are multiplied by tall tiles all the same, and
// not, with rows that lie along k, as dot products, which fill vectors but add up lanes: that takes
// as long as some steps of k. Dot products read A again for every four columns, which shows where
// it is far, and where a few columns of B leave the nearest cache; for tall tiles columns that lie
// along k are packed. Emerald Rapids, one thread, 2026-11, the time by dot products over the time
// by tall tiles, 200 and 1000 rows, k = 50, 100, 150, 250, 400, 800, 1500 (or from some k on, where
// it was panels of two vectors before). B in rows, f32 6 columns 1.30 1.00 0.84 0.72 0.51 0.44
// 0.62, 1.43 0.97 0.87 0.73 0.66 0.82 0.95; 8 from 100 on 1.14 0.97 0.83 0.63 0.58 0.78, 1.19 1.03
// 0.81 0.77 0.86 1.02; 12 from 400 on 0.94 1.00 1.28, 1.22 1.05 1.35; 14 1.14 1.17 1.34, 1.29 1.30
// 1.47; f64 4 1.23 0.93 0.89 0.83 0.43 0.68 0.92, 1.22 0.92 0.85 1.04 0.90 0.88 0.93; 7 from 250 on
// 1.08 0.77 1.23 1.32, 1.53 1.13 1.22 1.41. Along k, f32 8 from 100 on 1.21 1.10 0.89 0.59 0.52
// 0.94, 1.26 1.11 0.96 0.89 0.90 1.09; 12 from 150 on 1.71 1.42 1.01 0.91 1.34, 1.85 1.52 1.02 1.21
// 1.52; f64 5 1.75 1.25 1.23 1.13 0.75 0.75 1.27, 2.24 1.64 1.52 1.42 1.09 1.06 1.32; with 20 rows,
// which packing is too much for, 1.02 0.73 0.66 0.66 0.42 0.41 0.64.
//
// Granite Rapids, one thread, 2026-11-30, 20, 32, 64, 200 and 1000 rows, k of 208, 400, 800 and
// 1504, and of 130, 200, 403, 803 and 1507, whose rows lie across lines: that costs dot products,
// which read vectors along k, a fifth, and where the columns lie along k, too, a third. Columns
// that are copied for them count as eight rows more. (Where rows begin their length tells here, as
// if nothing lay between them.) B in rows, f32 6 to 14 columns, f64 4 to 7: the time of what is
// chosen over the faster one's 1.008 and 1.012, B along k 1.005 and 1.009; by the rule that the
// Emerald Rapids' figures had led to, which knew neither, 1.067, 1.075, 1.015 and 1.021. It meets
// those above as well, of whose k 400 and 800 are lines.
inline bool suits_tall_tiles(const StoredProduct& product, const RegisterTile& tile) {
  constexpr double kStepsOfLanes = 2.5;
  constexpr double kRowsForPacking = 30;
  constexpr double kRowsForCopying = 8;
  constexpr double kDotsOverTall = 1.35;  // where nothing else differs
  constexpr double kRowsOffLines = 1.2;
  constexpr double kBothOffLines = 1.35;
  constexpr double kFarther = 1.2;
  constexpr double kFarBytes = 768 << 10;
  constexpr std::int64_t kLine = 64;
  // Beside a quarter of a vector dot products are as fast with any k.
  if (!may_take_tall_tiles(product, tile) || 4 * product.cols <= lanes_of(tile)) return false;
  const auto lanes = static_cast<double>(lanes_of(tile));
  const auto rows = static_cast<double>(product.rows);
  const auto depth = static_cast<double>(product.depth);
  const std::int64_t row_bytes = product.depth * product.element_bytes;
  double dots = kDotsOverTall * static_cast<double>(product.cols) / lanes;
  dots *= depth + kStepsOfLanes * lanes;
  if (row_bytes % kLine != 0) dots *= product.cols_lie_along_k ? kBothOffLines : kRowsOffLines;
  if (static_cast<double>(row_bytes) * rows >= kFarBytes) dots *= kFarther;
  if (product.cols_lie_along_k) return dots >= depth * (1 + kRowsForPacking / rows);
  return dots * (1 + kRowsForCopying / rows) >= depth;
}

// Rows beside each column that is copied, where many are.
inline constexpr std::int64_t kRowsForEachCopied = 2;

// Whether more than 16 columns, which lie across k, are worth copying for dot products: they leave
// lanes of vectors empty, as 17 to 23 and 33 to 35 do, of bytes 17 to 19, and a long k leaves none.
// Operands in rows, one thread, 2026-11, the time along C's rows over the time by dots: Zen 4 f32
// 116×18×2406 1.53, 587×18×942 1.58, 76×18×828 1.46, 271×20×836 1.40, 730×19×2269 1.48,
// 167×22×2013 1.31, 1029×21×619 1.13, 59×23×2378 1.08, bf16 1.22, 1.30, 1.49, 1.23, 1.32, i8
// 116×18×2406 1.33, 1403×17×2727 1.36; Emerald Rapids f32 116×18×2406 1.26 to 1.40, 271×20×836 1.27
// to 1.45, 76×18×828 1.27 to 1.9; 16 threads 1403×17×2727 1.36, 1792×18×1804 1.28, 59×23×2378 0.76.
// Beyond L2 f64 1792×18×1804 0.81, 1403×17×2727 0.80.
inline bool leaves_lanes_beside_long_rows(const StoredProduct& product, const RegisterTile& tile) {
  constexpr std::int64_t kLeastColumns = 17;
  constexpr int kMostBytes = 4;
  constexpr std::int64_t kVectorBytes = 64;
  constexpr double kLeastGain = 1.35;  // of lanes
  constexpr double kGainForLanes = 5;  // over the steps of k whose lanes are added up
  constexpr double kGainForOffset = 0.25;
  const bool are_copied = product.rows_lie_along_k && !product.cols_lie_along_k;
  if (!are_copied || !is_wide(product, tile)) return false;
  if (product.element_bytes > kMostBytes || product.cols < kLeastColumns) return false;
  if (product.rows < kRowsForEachCopied * product.cols) return false;
  const double steps = static_cast<double>(product.depth * product.element_bytes) / kVectorBytes;
  const double offset = product.element_bytes == 1 ? kGainForOffset : 0;
  return 1 / fullness(product.cols, lanes_of(tile)) >=
         kLeastGain + offset + kGainForLanes / std::max(1.0, steps);
}

// Long rows of A come again from beyond L2 for up to so many columns beside them, in several tiles
// (plan/cpu_variants.cpp).
constexpr std::int64_t kColumnsBesideLongRows = 192;
constexpr std::int64_t kBytesOfLongRows = 3072;

// Whether tile registers, which read rows of A along k where they lie, had better take B's columns
// for those: packing B transposes it, which takes longer than turning so few rows of sums back.
// Granite Rapids, one thread, 2026-11, the time by packing over the time so: bf16 8×4096×4096 2.0,
// 16×4096×4096 2.0, 64×4096×4096 2.2, 8×11008×4096 2.5, 16×1000×1000 2.0, 64×1000×1000 1.4,
// 16×512×512 2.6, 12×3000×100 1.5, 64×300×600 1.2, 50×100×500 1.0, 24×24×3000 0.95, i8 2.0, 2.0,
// 2.0, 1.9, 1.9, 1.1, 2.3, 1.05, 1.05, 1.0, 1.0, f16 16×4096×4096 1.1, 32×1000×1000 1.15; with
// less of k 20×700×90 0.96, i8 0.60, of a smaller B i8 30×60×300 0.67, 8×64×100 0.73. More rows
// beside long columns, one thread and two: bf16 96×4096×4096 1.6, 1.35, 128×4096×4096 1.5, 1.5,
// 192×4096×4096 1.3, 1.3, 128×2000×2000 1.4, 1.4, i8 1.5, 1.4, 1.2 on one.
inline bool has_long_columns(const StoredProduct& product) {
  constexpr std::int64_t kMostRows = 64;
  constexpr std::int64_t kManyBytes = 4 << 20;
  constexpr std::int64_t kDepthForEachRow = 8;
  constexpr std::int64_t kLeastRowBytes = 64;
  constexpr std::int64_t kLeastBytes = 20 << 10;  // of B
  const std::int64_t row_bytes = product.depth * product.element_bytes;
  const bool are_long = row_bytes >= kBytesOfLongRows && product.cols >= kManyBytes / row_bytes;
  const std::int64_t most = are_long ? kColumnsBesideLongRows : kMostRows;
  return product.cols_lie_along_k && product.rows <= most && row_bytes >= kLeastRowBytes &&
         product.depth >= kDepthForEachRow * product.rows &&
         product.cols >= (kLeastBytes + row_bytes - 1) / row_bytes;
}

// Whether a few rows beside as few columns or more, which lie across k, are made of dot products,
// for which so few are soon copied: they would leave most of a panel empty. One thread, operands in
// rows, 2026-11, the time by packing over the time so, k = 64, 200, 600, 2000. Zen 3: bf16 1×2 5.3,
// 11, 16, 22; 1×6 4.0, 6.4, 8.1, 9.6; 1×8 (rows of B as they are) 0.5; 2×2 6.9, 14, 22, 29;
// 4×4 4.2, 8.1, 11, 13; 6×6 3.0, 4.4 (300), 5.4 (1500); 2×8 1.0; 4×8 0.7; i8 1×2 4.0, 6.9, 10, 10;
// 2×2 3.1, 5.6, 7.8, 9.2; 4×6 2.3, 3.2, 3.4, 5.0; f32 1×2 1.1, 1.5, 1.9, 2.3;
// 1×4 1.2, 1.5, 1.7, 1.9; 2×2 1.0, 1.6, 2.1, 2.4; 2×3 1.0, 0.9, 1.3, 1.4; 4×4 0.8, 0.9, 1.1, 0.9
// to 1.3; 1×5 0.8, 1.0, 1.1, 1.1; 2×5 0.7, 1.0, 1.0, 1.0; f64 1×2 0.9, 1.2, 1.2, 1.3; 2×2
// 0.9, 1.2, 1.4, 1.3; 1×3 0.8. Emerald Rapids: f32 2×2 1.3, 2.7, 6.7, 5.6; 2×4 0.9, 1.1, 1.2, 1.1;
// 4×4 0.7, 0.9, 1.1, 1.0; f64 2×2 1.0, 1.7, 1.9, 1.2; bf16 2×2 2.1, 3.6, 5.3, 8.8;
// 2×8 1.3, 1.7, 1.7, 1.6; 4×8 1.1, 1.4, 1.6, 1.7; f16 2×2 1.3, 2.3 (600), 4×8 0.8, 6×6 1.3; i8 2×2
// 0.9, 2.6, 3.6, 4.9; 4×4 0.8, 0.9, 3.4, 5.4; 4×8 0.7, 0.8, 2.2, 2.7. One row there was measured by
// packing alone, and but for two columns of f32 and f64 is left.
inline bool makes_dots_of_few(const StoredProduct& product, const RegisterTile& tile) {
  constexpr std::int64_t kColumnsOfNarrow = 6;
  constexpr std::int64_t kDepthOfNarrow = 16;
  constexpr std::int64_t kColumnsOfNarrowFloats = 4;
  constexpr std::int64_t kColumnsOfWide = 8;
  constexpr std::int64_t kDepthOfTwoFloats = 64;
  constexpr std::int64_t kDepthOfTwoDoubles = 128;
  constexpr std::int64_t kDepthOfFloats = 256;
  constexpr std::int64_t kDepthOfPairs = 64;
  constexpr std::int64_t kDepthOfBytes = 512;
  const auto [rows, cols, depth, size, rows_lie_along_k, cols_lie_along_k] = product;
  if (!rows_lie_along_k || cols_lie_along_k || cols < 2) return false;
  const bool is_narrow = !is_wide(product, tile);
  if (size > 4) return cols == 2 && depth >= kDepthOfTwoDoubles;
  if (size == 4) {
    if (cols == 2) return depth >= kDepthOfTwoFloats;
    return is_narrow && cols <= kColumnsOfNarrowFloats &&
           depth >= (rows == 1 ? kDepthOfTwoFloats : kDepthOfFloats);
  }
  if (is_narrow) return cols <= kColumnsOfNarrow && depth >= kDepthOfNarrow;
  return rows > 1 && cols <= kColumnsOfWide && depth >= (size == 2 ? kDepthOfPairs : kDepthOfBytes);
}

// Whether vectors run down C's rows, though its columns are what is dense: where it has few of
// these, and more of those. Of tile registers, whether C's columns are their rows: where B's
// columns are long, or A's rows lie across k.
inline bool vectors_run_down(const StoredProduct& product, const RegisterTile& tile) {
  if (product.rows <= product.cols) {
    return has_tile_registers(tile) ? has_long_columns(product) : makes_dots_of_few(product, tile);
  }
  if (has_tile_registers(tile) && product.rows_lie_along_k) return false;
  if (suits_tall_tiles(product, tile)) return false;
  if (product.cols * 4 > tile.nr) {
    const bool fills = is_wide(product, tile) ? fills_vectors_down(product, tile)
                                              : fills_short_vectors_down(product, tile);
    return fills || makes_dots_down(product, tile) || leaves_lanes_beside_long_rows(product, tile);
  }
  return product.depth >= least_depth_down(product, tile);
}

// Whether a product, given as if C's rows were dense, is computed as Cᵀ = Bᵀ·Aᵀ. Its rows are A's.
// `for_size`: may_be_turned_for_size().
inline bool is_better_turned(const StoredProduct& by_rows, bool c_is_column_major,
                             const RegisterTile& tile, bool for_size) {
  if (!for_size) return c_is_column_major;
  const StoredProduct stored = c_is_column_major ? by_rows.transposed() : by_rows;
  return c_is_column_major != vectors_run_down(stored, tile);
}

}  // namespace tessera
