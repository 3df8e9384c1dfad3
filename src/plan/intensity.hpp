// Arithmetic intensity: operations per byte loaded.
#pragma once

#include "core/block_spec.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// Bytes of one block of A and one of B: what one MAC iteration of a tile loads.
inline double bytes_per_iteration(const TileConfig& tile, const GemmTypes& types) {
  const OperandSpecs specs = operand_specs(tile);
  return static_cast<double>(specs.a.elements()) * size_of(types.a) +
         static_cast<double>(specs.b.elements()) * size_of(types.b);
}

// A multiply-add counts as two.
inline double flops_per_iteration(const TileConfig& tile) {
  return 2.0 * tile.block_m * tile.block_n * tile.block_k;
}

// 2·BM·BN·BK / bytes of the blocks. BK cancels: depth costs scratchpad and raises nothing.
inline double flops_per_byte(const TileConfig& tile, const GemmTypes& types) {
  return flops_per_iteration(tile) / bytes_per_iteration(tile, types);
}

// Of the whole problem, each operand touched once: the bound that no tiling can pass.
inline double flops_per_byte(const Problem& problem) {
  double bytes = 0;
  for (const GemmShape& shape : problem.groups) {
    const auto m = static_cast<double>(shape.m);
    const auto n = static_cast<double>(shape.n);
    const auto k = static_cast<double>(shape.k);
    bytes += m * k * size_of(problem.types.a) + k * n * size_of(problem.types.b) +
             m * n * size_of(problem.types.c) * (problem.beta != 0 ? 2 : 1);
  }
  return bytes > 0 ? flops_of(problem) / bytes : 0;
}

}  // namespace tessera
