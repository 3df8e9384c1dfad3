// The few rows that may have B packed by pieces (core/tile_registers_rule.hpp), of a product as the
// kernel faces it. The backend has the same from its operands (cpu/blocking.cpp).
#pragma once

#include "core/catalogue.hpp"
#include "core/passing_rule.hpp"
#include "core/tile_registers_rule.hpp"
#include "plan/cpu_blocks.hpp"
#include "plan/orientation.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// Beside tiles of `cols` columns, in `blocks` blocks of B for a worker, `depth` deep.
inline FewRows few_rows_of(const FacedProduct& faced, const Problem& problem,
                           const KernelEntry& kernel, std::int64_t cols, std::int64_t depth,
                           std::int64_t blocks) {
  return {.rows = faced.shape.m,
          .cols = cols,
          .depth = depth,
          .packed_size = kernel.packed_size,
          .b_row_bytes = faced.shape.n * size_of(kernel.b),
          .b_bytes = static_cast<double>(blocks) * bytes_of(depth, cols, kernel.b),
          .a_is_on_lines = faced.a_lies_along_k && faced.a_begins_at_lines,
          .c_is_on_lines = begin_at_lines(problem.c.alignment)};
}

}  // namespace tessera
