// Which way round a CPU product is computed. The microkernel lays C's rows in vectors, so a
// column-major C, or mostly one of very few columns, is computed as Cᵀ = Bᵀ·Aᵀ: then nr runs along
// m and mr along n, and what is said of B in place concerns A.
#pragma once

#include <utility>

#include "core/orientation_rule.hpp"
#include "core/passing_rule.hpp"
#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

inline RegisterTile register_tile(const TileConfig& tile, const Machine& machine) {
  return register_tile(tile.mr, tile.nr, machine);
}

// A single row or column lies along k either way, but for rare strides, which the backend packs.
inline bool a_lies_along_k(const Problem& problem, const GemmShape& shape) {
  return problem.a.major == Major::row || shape.m == 1;
}

inline bool b_lies_along_k(const Problem& problem, const GemmShape& shape) {
  return problem.b.major == Major::column || (shape.n == 1 && problem.b.major != Major::packed);
}

// The backend decides the same for each product from its strides (cpu/product.hpp).
inline bool is_turned(const Problem& problem, const GemmShape& shape, const TileConfig& tile,
                      const Machine& machine) {
  if (problem.b.major == Major::packed) return false;
  const StoredProduct by_rows{shape.m,
                              shape.n,
                              shape.k,
                              size_of(problem.types.a),
                              a_lies_along_k(problem, shape),
                              b_lies_along_k(problem, shape)};
  return is_better_turned(
      by_rows, problem.c.major == Major::column, register_tile(tile, machine),
      may_be_turned_for_size(tile, problem, problem.types.c == accumulator_of(problem.types)));
}

// The same tile as seen from the other side; mr and nr stay the kernel's.
inline TileConfig turned(TileConfig tile) {
  std::swap(tile.block_m, tile.block_n);
  std::swap(tile.a_in_place, tile.b_in_place);
  return tile;
}

// A product as the microkernel faces it.
struct FacedProduct {
  bool is_turned = false;
  GemmShape shape;
  bool b_rows_are_dense = true;  // rows of B can be read as vectors where they lie
  bool b_begins_at_lines = true;
  bool a_begins_at_lines = true;
  bool a_lies_along_k = false;   // rows of A can be read so
  bool a_lies_across_k = false;  // or its columns
  bool b_lies_along_k = false;   // and columns of B
  bool c_rows_are_dense = true;  // or C is written across, as a narrow one is turned round
  bool b_is_packed = false;      // ahead of the call
};

inline FacedProduct face(const Problem& problem, const GemmShape& shape, const TileConfig& tile,
                         const Machine& machine) {
  const bool a_along_k = a_lies_along_k(problem, shape);
  const bool b_along_k = b_lies_along_k(problem, shape);
  const bool c_is_across = problem.c.major == Major::column;
  if (is_turned(problem, shape, tile, machine)) {
    return {.is_turned = true,
            .shape = {shape.n, shape.m, shape.k},
            .b_rows_are_dense = problem.a.major == Major::column,
            .b_begins_at_lines = begin_at_lines(problem.a.alignment),
            .a_begins_at_lines = begin_at_lines(problem.b.alignment),
            .a_lies_along_k = b_along_k,
            .a_lies_across_k = problem.b.major == Major::row,
            .b_lies_along_k = a_along_k,
            .c_rows_are_dense = c_is_across};
  }
  return {.is_turned = false,
          .shape = shape,
          .b_rows_are_dense = problem.b.major == Major::row,
          .b_begins_at_lines = begin_at_lines(problem.b.alignment),
          .a_begins_at_lines = begin_at_lines(problem.a.alignment),
          .a_lies_along_k = a_along_k,
          .a_lies_across_k = problem.a.major == Major::column,
          .b_lies_along_k = b_along_k,
          .c_rows_are_dense = !c_is_across,
          .b_is_packed = problem.b.major == Major::packed};
}

}  // namespace tessera
