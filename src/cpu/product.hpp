// One product of a group as the microkernels see it: turned round (Cᵀ = Bᵀ·Aᵀ) where that lets C's
// rows lie in vectors, and cut into the blocks that the operands' BlockSpecs say.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/block_spec.hpp"
#include "core/near_rule.hpp"
#include "core/passing_rule.hpp"
#include "core/turned_axis.hpp"
#include "cpu/kernel.hpp"
#include "schedule/work_item.hpp"
#include "tessera/packed.hpp"
#include "tessera/plan.hpp"
#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera::cpu {

// A tile's place in a product.
struct TileExtent {
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

struct Product {
  const KernelCode* code = nullptr;
  ConstMatrixView a;
  ConstMatrixView b;
  MatrixView c;
  ConstVectorView bias;
  Epilogue epilogue;
  OperandSpecs specs;
  bool turned = false;
  bool a_in_place = false;
  bool b_in_place = false;
  // Small ones: A, and B where its rows are dense, are read from copies that are widened first, as
  // a whole (direct.cpp). Others widen what they pack.
  bool widens_whole = false;
  // B in place along k, and A too where it lies so; else A is copied so.
  bool is_dots = false;
  // A single row of C whose columns lie a row's distance apart, as those of more rows do.
  bool is_row_of_columns = false;
  const PackedMatrix* packed_b = nullptr;

  std::int64_t depth() const { return a.cols; }

  // Of a full block.
  std::int64_t block_rows() const { return std::min<std::int64_t>(specs.c.block_rows, c.rows); }
  std::int64_t block_cols() const { return std::min<std::int64_t>(specs.c.block_cols, c.cols); }
  std::int64_t block_depth() const { return std::min<std::int64_t>(specs.a.block_cols, depth()); }

  TileExtent extent(const WorkItem& item) const {
    const GridPoint at{turned ? item.tile_n : item.tile_m, turned ? item.tile_m : item.tile_n, 0};
    const BlockIndex block = specs.c.index(at);
    const std::int64_t row = block.row * specs.c.block_rows;
    const std::int64_t col = block.col * specs.c.block_cols;
    return {row, col, std::min(specs.c.block_rows, c.rows - row),
            std::min(specs.c.block_cols, c.cols - col)};
  }

  // Of sums in C, from one column to the next.
  std::int32_t sum_column() const { return is_dots ? static_cast<std::int32_t>(c.col_stride) : 1; }

  // Of B in place, in elements.
  // A single column has no next one, and 1 would say that it is rows.
  std::int64_t along_stride_b() const {
    if (!is_dots) return 1;
    return b.cols == 1 ? 0 : b.col_stride;
  }

  // Whether A's rows are copied as what they are multiplied as, and how large a copied element is.
  bool widens_a() const { return b_in_place && !is_dots && code->widen_rows != nullptr; }
  int copied_size_a() const { return widens_a() ? code->packed_size_a : size_of(a.type); }

  // Whether sums can be collected in C itself: those of dot products go to any strides that
  // BlockTask can say.
  bool sums_in_c() const {
    const bool fits = static_cast<std::int32_t>(c.col_stride) == c.col_stride;
    const bool are_anywhere = is_dots && fits && epilogue == Epilogue{};
    return c.type == code->accumulator && !is_row_of_columns &&
           (c.col_stride == 1 || c.cols == 1 || are_anywhere);
  }
};

inline bool is_by_columns(const MatrixView& c) {
  return c.col_stride != 1 && c.row_stride == 1;
}

inline PlacesInMemory places_of(const Product& product) {
  const int size_a = size_of(product.a.type);
  const int size_b = size_of(product.b.type);
  return {product.a.col_stride == 1, static_cast<double>(product.a.col_stride) * size_a,
          static_cast<double>(product.b.row_stride) * size_b,
          begin_at_lines(product.b.row_stride * size_b,
                         reinterpret_cast<std::uintptr_t>(product.b.data))};
}

// With so many rows and columns of C.
inline FacedSizes faced_sizes(const Product& product, std::int64_t rows, std::int64_t cols) {
  const KernelCode& code = *product.code;
  return {{code.mr, code.nr},        static_cast<double>(rows),
          static_cast<double>(cols), static_cast<double>(product.depth()),
          size_of(product.a.type),   size_of(code.accumulator)};
}

inline FacedSizes faced_block(const Product& product) {
  return faced_sizes(product, product.block_rows(), product.block_cols());
}

// As if C's rows were dense.
inline StoredProduct stored_by_rows(const Operands& operands) {
  const ConstMatrixView& a = operands.a;
  const ConstMatrixView& b = operands.b;
  return {operands.c.rows,
          operands.c.cols,
          a.cols,
          size_of(a.type),
          a.col_stride == 1 || a.rows == 1,
          b.row_stride == 1 || b.cols == 1};
}

// A result's column per lane is wanted: of a row-major C its rows, of a column-major one its
// columns; and of a narrow C mostly its long side (core/orientation_rule.hpp).
inline bool is_better_turned(const Operands& operands, const Plan& plan, const KernelCode& code) {
  return tessera::is_better_turned(
      stored_by_rows(operands), is_by_columns(operands.c),
      register_tile(code.mr, code.nr, plan.machine),
      may_be_turned_for_size(plan.tile, plan.problem, operands.c.type == code.accumulator));
}

// Of one of a plan's groups; sizes and types are the operands'.
inline Product product_of(const Operands& operands, const Plan& plan, const KernelCode& code) {
  const TileConfig& tile = plan.tile;
  Product product;
  // A packed B stays B.
  product.packed_b = operands.packed_b;
  product.turned = product.packed_b == nullptr && is_better_turned(operands, plan, code);
  product.epilogue = plan.problem.epilogue;
  product.epilogue.bias = turned(product.epilogue.bias, product.turned);
  product.bias = operands.bias;
  TileConfig turned_tile = tile;
  if (product.turned) {
    product.code = code.turned != nullptr ? code.turned : &code;
    product.a = operands.b.transposed();
    product.b = operands.a.transposed();
    product.c = operands.c.transposed();
    std::swap(turned_tile.block_m, turned_tile.block_n);
    std::swap(turned_tile.a_in_place, turned_tile.b_in_place);
  } else {
    product.code = &code;
    product.a = operands.a;
    product.b = operands.b;
    product.c = operands.c;
  }
  // Beside a packed B, which is not turned: more rows do not collect sums in such a C.
  product.is_row_of_columns = tile.rows_alike && product.packed_b != nullptr &&
                              product.c.rows == 1 && product.c.row_stride == 1 &&
                              product.c.cols > 1;
  product.specs = operand_specs(turned_tile);
  const KernelCode& kernel = *product.code;
  const bool wants_b = turned_tile.b_in_place && product.packed_b == nullptr;
  const bool b_has_rows = product.b.col_stride == 1 || product.b.cols == 1;
  // The column of a single element lies along k, whatever its other stride, and so does one beside
  // a few rows that were turned round for it (core/orientation_rule.hpp); beside more, of a k so
  // short that they were not, it is rows of one.
  const bool is_one = product.c.rows == 1 && product.c.cols == 1;
  const bool is_of_few = product.turned && product.c.cols == 1 && !is_by_columns(operands.c) &&
                         makes_dots_of_few(stored_by_rows(operands), {code.mr, code.nr});
  product.is_dots = wants_b && kernel.multiplies_dots && (!b_has_rows || is_one || is_of_few) &&
                    product.b.row_stride == 1 && product.depth() > 0;
  product.a_in_place =
      product.is_dots ? product.a.col_stride == 1 : turned_tile.a_in_place && kernel.reads_in_place;
  product.widens_whole =
      turned_tile.a_in_place && kernel.widen_lines != nullptr && !product.is_dots;
  const bool reads_b =
      kernel.reads_in_place || ((kernel.interleaves || kernel.widens) &&
                                product.b.cols >= least_columns_in_registers(kernel.mr, kernel.nr));
  product.b_in_place = product.is_dots || (wants_b && b_has_rows && reads_b);
  return product;
}

}  // namespace tessera::cpu
