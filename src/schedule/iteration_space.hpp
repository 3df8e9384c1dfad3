// The iteration space: every group's tiles, and every tile's MAC iterations, laid end to end on one
// line. A dense product is a group of one.
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"
#include "schedule/last_at_or_before.hpp"

namespace tessera {

// One group's stretch of the line.
struct GroupExtent {
  std::int32_t grid_m = 0;
  std::int32_t grid_n = 0;
  // MAC iterations of each of its tiles, at least 1: a product with k = 0 still has to write
  // beta·C, so each of its tiles takes one iteration that multiplies nothing.
  std::int32_t iterations = 1;
  std::int64_t first_tile = 0;
  std::int64_t first_iteration = 0;

  TESSERA_HD std::int64_t tiles() const { return static_cast<std::int64_t>(grid_m) * grid_n; }
};

TESSERA_HD inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The extent of an m×n×k product that follows `tiles_before` and `iterations_before`.
TESSERA_HD inline GroupExtent make_extent(std::int64_t m, std::int64_t n, std::int64_t k,
                                          std::int32_t block_m, std::int32_t block_n,
                                          std::int32_t block_k, std::int64_t tiles_before,
                                          std::int64_t iterations_before) {
  GroupExtent extent;
  extent.grid_m = static_cast<std::int32_t>(ceil_div(m, block_m));
  extent.grid_n = static_cast<std::int32_t>(ceil_div(n, block_n));
  extent.iterations = k > 0 ? static_cast<std::int32_t>(ceil_div(k, block_k)) : 1;
  extent.first_tile = tiles_before;
  extent.first_iteration = iterations_before;
  return extent;
}

// Views the extents; owns nothing. Extents are in order, groups without tiles included.
struct IterationSpace {
  const GroupExtent* groups = nullptr;
  std::int32_t group_count = 0;
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;

  // The group that holds a tile: the last one that starts at or before it and is not empty.
  TESSERA_HD std::int32_t group_of_tile(std::int64_t tile) const {
    return last_at_or_before<&GroupExtent::first_tile>(groups, group_count, tile);
  }

  // Likewise for a position on the line.
  TESSERA_HD std::int32_t group_of_iteration(std::int64_t iteration) const {
    return last_at_or_before<&GroupExtent::first_iteration>(groups, group_count, iteration);
  }

  // Where a tile starts on the line; tile == tiles gives the line's end.
  TESSERA_HD std::int64_t iteration_of_tile(std::int64_t tile) const {
    if (tile >= tiles) return iterations;
    if (tile == 0) return 0;
    const GroupExtent& extent = groups[group_of_tile(tile)];
    return extent.first_iteration + (tile - extent.first_tile) * extent.iterations;
  }
};

}  // namespace tessera
