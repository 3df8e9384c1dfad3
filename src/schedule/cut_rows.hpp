// Groups that are parts of one matrix's rows, cut by offsets: a tile by the shortest way, from the
// offsets alone. A kernel for groups finds its first ones while the kernel before still lays all
// groups on the line (cuda/group_prologue.cuh); items_of and whole_tile (partition.hpp) say the
// same of them. Columns here are the kernel's: rows of the matrix lie along its tiles' N.
#pragma once

#include <cstdint>

#include "schedule/group_sizes.hpp"
#include "schedule/host_device.hpp"
#include "schedule/last_at_or_before.hpp"
#include "schedule/tile_order.hpp"
#include "schedule/unit_items.hpp"
#include "schedule/work_item.hpp"

namespace tessera {

// Where a group begins: among the tiles of all groups, and among the rows.
struct CutGroup {
  std::int32_t first_tile = 0;
  std::int32_t first_row = 0;
};

struct CutRows {
  static constexpr int kLanes = 32;
  static constexpr int kGroupsPerLane = 6;
  static constexpr int kMostGroups = kLanes * kGroupsPerLane;

  std::int32_t groups = 0;  // at most kLanes · kGroupsPerLane; none: there is no such way
  std::int32_t rows = 0;    // that the offsets may cut
  IndexList offsets;
  bool has_ends_only = false;  // as in GroupSizes
  bool stores_by_tma = false;  // every group's C
  std::int32_t grid_m = 0;     // of every group
  std::int32_t iterations = 0;
  std::int32_t held_back = 0;  // of the last tiles: they are no worker's first
  Reciprocal rows_of_tile;
  // Tiles come in bands along M; the last band may have fewer.
  Reciprocal band;
  Reciprocal last_band;
  std::int32_t full_bands = 0;
  std::int32_t lines_of_group = 0;  // in the tensor map that serves the A of all groups

  TESSERA_HD std::int32_t tiles_across(std::int32_t rows_of_group) const {
    return static_cast<std::int32_t>(
        rows_of_tile.divide(static_cast<std::uint32_t>(rows_of_group) + rows_of_tile.divisor - 1));
  }

  // Tile `tile` of a group with so many tiles across.
  TESSERA_HD WorkItem item(std::int32_t group, std::int32_t tile, std::int32_t across) const {
    const auto in_group = static_cast<std::uint32_t>(tile);
    const std::uint32_t of_band = band.divisor * static_cast<std::uint32_t>(across);
    const std::uint32_t above = in_group / of_band;
    const std::uint32_t within = in_group - above * of_band;
    const Reciprocal high = above < static_cast<std::uint32_t>(full_bands) ? band : last_band;
    const std::uint32_t col = high.divide(within);
    WorkItem item;
    item.group = group;
    item.tile_m = static_cast<std::int32_t>(above * band.divisor + within - col * high.divisor);
    item.tile_n = static_cast<std::int32_t>(col);
    item.k_end = iterations;
    return item;
  }

  // The group of a tile; `all` are the groups and, behind the last, where it ends.
  TESSERA_HD std::int32_t group_of_tile(const CutGroup* all, std::int32_t tile) const {
    return last_at_or_before<&CutGroup::first_tile>(all, groups, tile);
  }
  // Tiles that are claimed whole.
  TESSERA_HD std::int32_t whole_tiles(const CutGroup* all) const {
    return all[groups].first_tile - held_back;
  }

  void set_order(TileOrder order, std::int32_t group_m) {
    const std::int32_t high = order != TileOrder::swizzle ? 1 : group_m < grid_m ? group_m : grid_m;
    full_bands = grid_m / high;
    band = Reciprocal::of(static_cast<std::uint32_t>(high));
    const std::int32_t left = grid_m % high;
    last_band = Reciprocal::of(static_cast<std::uint32_t>(left == 0 ? high : left));
  }
};

}  // namespace tessera
