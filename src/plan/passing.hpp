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

inline double multiply_adds(const GemmShape& shape) {
  return static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

// In one pass over k; `shape` as a tile faces it.
inline bool may_go_short_way(const GemmShape& shape, const TileConfig& tile,
                             const KernelEntry& kernel, const Machine& machine) {
  const FacedSizes sizes{tile.mr,
                         static_cast<double>(shape.m),
                         static_cast<double>(shape.n),
                         static_cast<double>(shape.k),
                         size_of(kernel.a),
                         size_of(accumulator_of({kernel.a, kernel.b, kernel.a}))};
  return suits_short_way(sizes, machine.scratchpad_bytes);
}

// By the general way, which is predicted otherwise than a B in place is; the short way is not.
inline bool packs_in_passing_by_blocks(const TileConfig& tile, const KernelEntry* kernel,
                                       const Problem& problem, const GemmShape& shape,
                                       const Machine& machine) {
  if (kernel == nullptr || !tile.a_in_place || !tile.b_in_place) return false;
  const FacedProduct product = face(problem, shape, register_tile(tile));
  if (tile.block_k >= shape.k && may_go_short_way(product.shape, tile, *kernel, machine)) {
    return false;
  }
  const TileConfig facing = product.is_turned ? turned(tile) : tile;
  return may_pass(*kernel, product) &&
         suits_passing(machine, tile.mr, tile.nr,
                       std::min<std::int64_t>(facing.block_m, product.shape.m),
                       std::min<std::int64_t>(facing.block_n, product.shape.n), product.shape.k);
}

// By either.
inline bool packs_in_passing(const TileConfig& tile, const KernelEntry* kernel,
                             const Problem& problem, const GemmShape& shape,
                             const Machine& machine) {
  if (kernel == nullptr || !tile.a_in_place || !tile.b_in_place) return false;
  if (packs_in_passing_by_blocks(tile, kernel, problem, shape, machine)) return true;
  const FacedProduct product = face(problem, shape, register_tile(tile));
  const TileConfig facing = product.is_turned ? turned(tile) : tile;
  const int element = size_of(kernel->b);
  return tile.block_k >= shape.k && may_pass(*kernel, product) &&
         may_go_short_way(product.shape, tile, *kernel, machine) &&
         suits_passing_short_way(machine, tile.mr, tile.nr,
                                 std::min<std::int64_t>(facing.block_m, product.shape.m),
                                 std::min<std::int64_t>(facing.block_n, product.shape.n),
                                 product.shape.k, product.shape.n * element, element);
}

}  // namespace tessera
