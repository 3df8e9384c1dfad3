// B packed ahead, for commands that run products with it (`--trans NP`).
#pragma once

#include <vector>

#include "tessera/packed.hpp"

namespace tessera::cli {

// Packs each B for the plan, but empty ones, and gives it to its product. The result has to outlive
// the operands' use, and may be moved.
inline std::vector<PackedMatrix> pack_each(const Plan& plan, std::vector<Operands>& operands) {
  std::vector<PackedMatrix> packed;
  packed.reserve(operands.size());
  for (Operands& product : operands) {
    if (product.b.rows == 0 || product.b.cols == 0) continue;
    product.packed_b = &packed.emplace_back(pack_b(plan, product.b));
  }
  return packed;
}

}  // namespace tessera::cli
