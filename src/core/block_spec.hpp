// A BlockSpec says how a grid of work cuts an operand into blocks: the block's shape, and which
// block a grid point touches. The traffic model counts with it, the CPU packs by it, and the TMA
// descriptors are filled from it, so the three cannot disagree.
#pragma once

#include <cstdint>

#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

struct GridPoint {
  std::int64_t m = 0;  // output tile row
  std::int64_t n = 0;  // output tile column
  std::int64_t k = 0;  // MAC iteration
};

enum class GridAxis : std::uint8_t { m, n, k };

struct BlockIndex {
  std::int64_t row = 0;
  std::int64_t col = 0;

  friend auto operator<=>(const BlockIndex&, const BlockIndex&) = default;
};

struct BlockSpec {
  std::int64_t block_rows = 0;
  std::int64_t block_cols = 0;
  GridAxis row_axis = GridAxis::m;  // the grid axis that moves the block down
  GridAxis col_axis = GridAxis::n;  // ... and to the right

  BlockIndex index(const GridPoint& at) const { return {along(row_axis, at), along(col_axis, at)}; }

  std::int64_t elements() const { return block_rows * block_cols; }

  // Blocks along each side of a rows×cols operand; the last one may be partial.
  BlockIndex grid(std::int64_t rows, std::int64_t cols) const {
    return {(rows + block_rows - 1) / block_rows, (cols + block_cols - 1) / block_cols};
  }

 private:
  static std::int64_t along(GridAxis axis, const GridPoint& at) {
    return axis == GridAxis::m ? at.m : axis == GridAxis::n ? at.n : at.k;
  }
};

struct OperandSpecs {
  BlockSpec a, b, c;
};

inline OperandSpecs operand_specs(const TileConfig& tile) {
  return {.a = {tile.block_m, tile.block_k, GridAxis::m, GridAxis::k},
          .b = {tile.block_k, tile.block_n, GridAxis::k, GridAxis::n},
          .c = {tile.block_m, tile.block_n, GridAxis::m, GridAxis::n}};
}

}  // namespace tessera
