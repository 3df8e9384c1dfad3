// Whether the CPU backend packs B in passing (cpu/passing.hpp) under a tile that leaves both
// operands in place.
#pragma once

#include <algorithm>

#include "core/catalogue.hpp"
#include "core/near_rule.hpp"
#include "core/passing_rule.hpp"
#include "plan/orientation.hpp"
#include "tessera/machine.hpp"

namespace tessera {

inline bool may_pass(const KernelEntry& kernel, const FacedProduct& product) {
  return kernel.device == MachineKind::cpu && kernel.reads_in_place &&
         (product.a_lies_along_k || product.a_lies_across_k) && product.b_rows_are_dense;
}

// Of so many rows and columns of C. Sums are as large as A's elements, or four bytes.
inline FacedSizes faced_sizes(const FacedProduct& product, const TileConfig& tile,
                              const KernelEntry& kernel, const Machine& machine, std::int64_t rows,
                              std::int64_t cols) {
  return {register_tile(tile, machine),
          static_cast<double>(rows),
          static_cast<double>(cols),
          static_cast<double>(product.shape.k),
          size_of(kernel.a),
          size_of(accumulator_of({kernel.a, kernel.b, kernel.a}))};
}

// Whether a block of so many rows and columns of C, both operands in place, reads B where it lies.
inline bool reads_near(const FacedProduct& product, const TileConfig& tile,
                       const KernelEntry& kernel, const Machine& machine, std::int64_t rows,
                       std::int64_t cols) {
  const std::int64_t a_step = product.a_lies_along_k ? 1 : product.shape.m;
  const PlacesInMemory places{
      product.a_lies_along_k, static_cast<double>(a_step) * size_of(kernel.a),
      static_cast<double>(product.shape.n) * size_of(kernel.b), product.b_begins_at_lines};
  return may_pass(kernel, product) &&
         reads_near(machine, faced_sizes(product, tile, kernel, machine, rows, cols), places);
}

// In one pass over k.
inline bool may_go_short_way(const FacedProduct& product, const TileConfig& tile,
                             const KernelEntry& kernel, const Machine& machine) {
  const GemmShape& shape = product.shape;
  return goes_short_way(machine, faced_sizes(product, tile, kernel, machine, shape.m, shape.n),
                        may_pass(kernel, product) && product.b_begins_at_lines);
}

// Whether it does under a tile, all of k at once and without more ado.
inline bool goes_short_way(const FacedProduct& product, const TileConfig& tile,
                           const KernelEntry& kernel, const Problem& problem,
                           const Machine& machine) {
  const bool is_plain = problem.epilogue == Epilogue{} && problem.alpha != 0;
  return is_plain && tile.block_k >= product.shape.k &&
         may_go_short_way(product, tile, kernel, machine);
}

// Whether a tile's B in place is multiplied as columns along k; `facing` as the kernel sees it.
inline bool makes_dots(const FacedProduct& product, const TileConfig& facing) {
  const bool is_one = product.shape.m == 1 && product.shape.n == 1;
  return facing.b_in_place && product.b_lies_along_k && (!product.b_rows_are_dense || is_one);
}

// Elements of 16 bits, which are multiplied as f32.
inline bool widens_halves(const KernelEntry& kernel) {
  return kernel.widens && size_of(kernel.b) == 2;
}

// Whether a tile that leaves A in place has both operands widened first, for the short way
// (cpu/direct.cpp).
inline bool widens_first(const TileConfig& tile, const KernelEntry& kernel, const Problem& problem,
                         const GemmShape& shape, const Machine& machine) {
  if (!widens_halves(kernel)) return false;
  const FacedProduct product = face(problem, shape, tile, machine);
  const TileConfig facing = product.is_turned ? turned(tile) : tile;
  return facing.a_in_place && !makes_dots(product, facing) &&
         goes_short_way(product, tile, kernel, problem, machine);
}

// How a B in place is read.
enum class ReadingOfB { as_it_lies, in_passing, near };

inline ReadingOfB reading_of_b(const TileConfig& tile, const KernelEntry* kernel,
                               const Problem& problem, const GemmShape& shape,
                               const Machine& machine) {
  if (kernel == nullptr || !tile.a_in_place || !tile.b_in_place) return ReadingOfB::as_it_lies;
  const FacedProduct product = face(problem, shape, tile, machine);
  if (!may_pass(*kernel, product)) return ReadingOfB::as_it_lies;
  const GemmShape& sizes = product.shape;
  if (goes_short_way(product, tile, *kernel, problem, machine)) return ReadingOfB::as_it_lies;
  const TileConfig facing = product.is_turned ? turned(tile) : tile;
  const auto rows = std::min<std::int64_t>(facing.block_m, sizes.m);
  const auto cols = std::min<std::int64_t>(facing.block_n, sizes.n);
  if (reads_near(product, tile, *kernel, machine, rows, cols)) return ReadingOfB::near;
  const bool passes =
      suits_passing(machine, faced_sizes(product, tile, *kernel, machine, rows, cols));
  return passes ? ReadingOfB::in_passing : ReadingOfB::as_it_lies;
}

inline bool packs_in_passing(const TileConfig& tile, const KernelEntry* kernel,
                             const Problem& problem, const GemmShape& shape,
                             const Machine& machine) {
  return reading_of_b(tile, kernel, problem, shape, machine) == ReadingOfB::in_passing;
}

}  // namespace tessera
