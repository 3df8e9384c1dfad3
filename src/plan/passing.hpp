// Whether the CPU backend packs B in passing (cpu/passing.hpp) under a tile that leaves both
// operands in place.
#pragma once

#include <algorithm>

#include "core/catalogue.hpp"
#include "core/passing_rule.hpp"
#include "plan/orientation.hpp"
#include "tessera/machine.hpp"

namespace tessera {

inline bool may_pass(const KernelEntry& kernel, const FacedProduct& product) {
  return kernel.device == MachineKind::cpu && kernel.reads_in_place &&
         (product.a_lies_along_k || product.a_lies_across_k) && product.b_rows_are_dense;
}

// In one pass over k.
inline bool may_go_short_way(const FacedProduct& product, const TileConfig& tile,
                             const KernelEntry& kernel, const Machine& machine) {
  const GemmShape& shape = product.shape;
  const FacedSizes sizes{{tile.mr, tile.nr},
                         static_cast<double>(shape.m),
                         static_cast<double>(shape.n),
                         static_cast<double>(shape.k),
                         size_of(kernel.a),
                         size_of(accumulator_of({kernel.a, kernel.b, kernel.a}))};
  return goes_short_way(machine, sizes, may_pass(kernel, product) && product.b_begins_at_lines);
}

inline bool packs_in_passing(const TileConfig& tile, const KernelEntry* kernel,
                             const Problem& problem, const GemmShape& shape,
                             const Machine& machine) {
  if (kernel == nullptr || !tile.a_in_place || !tile.b_in_place) return false;
  const FacedProduct product = face(problem, shape, tile, machine);
  if (!may_pass(*kernel, product)) return false;
  const GemmShape& sizes = product.shape;
  const bool is_plain = problem.epilogue == Epilogue{} && problem.alpha != 0;
  if (is_plain && tile.block_k >= shape.k && may_go_short_way(product, tile, *kernel, machine)) {
    return false;
  }
  const TileConfig facing = product.is_turned ? turned(tile) : tile;
  const auto rows = std::min<std::int64_t>(facing.block_m, sizes.m);
  const auto cols = std::min<std::int64_t>(facing.block_n, sizes.n);
  return suits_passing(machine, tile.mr, tile.nr, rows, cols, sizes.k);
}

}  // namespace tessera
