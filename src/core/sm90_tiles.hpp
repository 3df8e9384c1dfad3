// A Hopper kernel's block and cluster as the planner's tile, and back.
#pragma once

#include "core/sm90_blocks.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

// A cluster's tile as the planner sees it; `swapped` lays the block's rows along C's columns.
constexpr TileConfig sm90_tile(const Sm90Block& block, const Sm90Cluster& cluster, bool swapped) {
  const int rows = block.rows * cluster.rows;
  const int cols = block.cols * cluster.cols;
  return {.block_m = swapped ? cols : rows,
          .block_n = swapped ? rows : cols,
          .block_k = kSm90BlockK,
          .stages = block.stages,
          .cluster_m = swapped ? cluster.cols : cluster.rows,
          .cluster_n = swapped ? cluster.rows : cluster.cols,
          .warpgroups = block.in_turns ? 1 : block.rows / 64,
          .swap_operands = swapped};
}

constexpr int rows_of_block(const TileConfig& tile) {
  return tile.swap_operands ? tile.block_n / tile.cluster_n : tile.block_m / tile.cluster_m;
}

// Whether two warpgroups take tiles of this kind in turns: fewer share one than it has strips of 64
// rows.
constexpr bool takes_turns(const TileConfig& tile) {
  return tile.warpgroups > 0 && tile.warpgroups < rows_of_block(tile) / 64;
}

// The block and the cluster of a tile that sm90_tile made.
constexpr Sm90Cluster sm90_cluster(const TileConfig& tile) {
  return tile.swap_operands ? Sm90Cluster{tile.cluster_n, tile.cluster_m}
                            : Sm90Cluster{tile.cluster_m, tile.cluster_n};
}
constexpr Sm90Block sm90_block(const TileConfig& tile) {
  const Sm90Cluster cluster = sm90_cluster(tile);
  const int cols = (tile.swap_operands ? tile.block_m : tile.block_n) / cluster.cols;
  return {rows_of_block(tile), cols, tile.stages, takes_turns(tile)};
}

}  // namespace tessera
