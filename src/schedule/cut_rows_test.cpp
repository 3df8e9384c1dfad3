#include "schedule/cut_rows.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"

namespace tessera {
namespace {

CutRows cut_rows(std::int32_t grid_m, std::int32_t iterations, std::uint32_t rows_of_tile,
                 TileOrder order, std::int32_t group_m) {
  CutRows cut;
  cut.grid_m = grid_m;
  cut.iterations = iterations;
  cut.rows_of_tile = Reciprocal::of(rows_of_tile);
  cut.set_order(order, group_m);
  return cut;
}

TEST(CutRows, TilesAcrossAreThoseOfTheExtent) {
  for (const std::uint32_t of_tile : {1U, 64U, 192U, 256U}) {
    const CutRows cut = cut_rows(1, 1, of_tile, TileOrder::linear, 1);
    for (const std::int32_t rows : {0, 1, 63, 64, 65, 191, 192, 193, 32768, 4000001}) {
      EXPECT_EQ(cut.tiles_across(rows), ceil_div(rows, of_tile)) << rows << " by " << of_tile;
    }
  }
}

TEST(CutRows, ItemsAreThoseOfThePartition) {
  constexpr std::int32_t kTile = 192;
  constexpr std::int32_t kIterations = 5;
  for (const std::int32_t grid_m : {1, 3, 4, 8, 13, 56}) {
    for (const std::int32_t rows : {1, 192, 500, 4096}) {
      for (const std::int32_t group_m : {0, 1, 4, 100}) {
        Schedule schedule;
        schedule.order = group_m == 0 ? TileOrder::linear : TileOrder::swizzle;
        schedule.group_m = group_m == 0 ? 1 : group_m;
        const CutRows cut = cut_rows(grid_m, kIterations, kTile, schedule.order, schedule.group_m);
        // A group that begins somewhere on the line, behind an empty one.
        const GroupExtent extents[3] = {
            make_extent(grid_m, 70, kIterations, 1, 1, 1, 0, 0),
            make_extent(grid_m, 0, kIterations, 1, 1, 1, 70 * grid_m, 70 * grid_m * kIterations),
            make_extent(grid_m, rows, kIterations, 1, kTile, 1, 70 * grid_m,
                        70 * grid_m * kIterations)};
        const GroupExtent& own = extents[2];
        const std::int64_t tiles = own.first_tile + own.tiles();
        const IterationSpace space{extents, 3, tiles, tiles * kIterations};
        const Partition partition = make_claimed_partition(schedule, space);
        for (std::int64_t tile = 0; tile < own.tiles(); ++tile) {
          const WorkItem expected = whole_tile(space, partition, 2, own.first_tile + tile);
          const WorkItem item =
              cut.item(2, static_cast<std::int32_t>(tile), cut.tiles_across(rows));
          EXPECT_EQ(item.group, expected.group);
          ASSERT_TRUE(item.tile_m == expected.tile_m && item.tile_n == expected.tile_n)
              << grid_m << " tiles by " << rows << " rows, bands of " << group_m << ", tile "
              << tile;
          EXPECT_EQ(item.k_begin, expected.k_begin);
          EXPECT_EQ(item.k_end, expected.k_end);
          EXPECT_TRUE(item.is_whole_tile());
        }
      }
    }
  }
}

TEST(CutRows, FindsTheGroupOfATile) {
  constexpr std::int32_t kGridM = 3;
  const std::int32_t across[] = {0, 0, 2, 0, 1, 1, 0, 5, 0};  // of each group
  CutRows cut = cut_rows(kGridM, 1, 64, TileOrder::linear, 1);
  cut.groups = std::size(across);
  std::vector<CutGroup> all(1);
  for (const std::int32_t tiles : across) {
    all.push_back({all.back().first_tile + kGridM * tiles, 0});
  }
  EXPECT_EQ(cut.whole_tiles(all.data()), 9 * kGridM);
  std::int32_t tile = 0;
  for (std::int32_t group = 0; group < cut.groups; ++group) {
    for (std::int32_t i = 0; i < kGridM * across[group]; ++i) {
      EXPECT_EQ(cut.group_of_tile(all.data(), tile++), group);
    }
  }
}

TEST(CutRows, HoldsBackTheTilesThatComeInPieces) {
  Schedule schedule;
  schedule.workers = 66;
  const GroupExtent extent = make_extent(20, 10, 30, 1, 1, 1, 0, 0);
  const IterationSpace space{&extent, 1, 200, 6000};
  for (const ScheduleKind kind : {ScheduleKind::data_parallel, ScheduleKind::hybrid}) {
    schedule.kind = kind;
    EXPECT_EQ(make_claimed_partition(schedule, space).whole_tiles,
              space.tiles - tiles_in_pieces(schedule));
  }
  EXPECT_EQ(tiles_in_pieces(schedule), 22);
  schedule.kind = ScheduleKind::stream_k;
  EXPECT_LT(tiles_in_pieces(schedule), 0);
}

}  // namespace
}  // namespace tessera
