// Where the panels of a packed B lie: all panels of the first block of k, then of the next. A
// panel's place does not depend on how a plan cuts n, so that one packing serves plans with any
// block_n.
#pragma once

#include <cstdint>

#include "core/block_spec.hpp"
#include "cpu/kernel.hpp"
#include "tessera/plan.hpp"

namespace tessera::cpu {

struct PackedLayout {
  BlockSpec panel;                       // block_k × nr
  std::int64_t panels = 0;               // across n
  std::int64_t iterations = 0;           // blocks of k
  std::int64_t bytes_per_iteration = 0;  // of a full block
  std::int64_t bytes = 0;

  // Of a panel of a block of k; `panel_bytes`, because the last block may be less deep.
  std::int64_t offset(std::int64_t iteration, std::int64_t column, std::int64_t panel_bytes) const {
    return iteration * bytes_per_iteration + column * panel_bytes;
  }
};

inline PackedLayout packed_layout(const KernelCode& code, std::int64_t block_k, std::int64_t k,
                                  std::int64_t n) {
  PackedLayout layout;
  layout.panel = {block_k, code.nr, GridAxis::k, GridAxis::n};
  const BlockIndex grid = layout.panel.grid(k, n);
  layout.panels = grid.col;
  layout.iterations = grid.row;
  layout.bytes_per_iteration = layout.panels * code.panel_bytes_b(block_k);
  layout.bytes = layout.iterations * layout.bytes_per_iteration;
  return layout;
}

// Throws Error(invalid_argument) where a packed B is not what the plan's kernel would read.
void check_packed(const Plan& plan, const KernelCode& code, const Operands& operands);

}  // namespace tessera::cpu
