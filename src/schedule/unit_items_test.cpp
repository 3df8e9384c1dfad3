#include "schedule/unit_items.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tessera/schedule.hpp"

namespace tessera {
namespace {

struct Line {
  Line(int m, int n, int k)
      : extent(make_extent(m, n, k, 1, 1, 1, 0, 0)),
        space{&extent, 1, extent.tiles(), extent.tiles() * extent.iterations} {}
  GroupExtent extent;
  IterationSpace space;
};

bool same(const WorkItem& p, const WorkItem& q) {
  const bool place = p.tile_m == q.tile_m && p.tile_n == q.tile_n && p.k_begin == q.k_begin &&
                     p.k_end == q.k_end && p.group == q.group;
  const bool fixup = p.peers == q.peers && p.peer == q.peer && p.counter == q.counter;
  for (int peer = 0; peer < p.peers; ++peer) {
    if (p.peers > 1 && p.slot(peer) != q.slot(peer)) return false;
  }
  return place && (fixup || p.is_whole_tile());
}

TEST(UnitItems, AreThoseOfTheFullWalk) {
  for (const auto& [m, n, k] : {std::array{1, 1, 1}, std::array{7, 5, 3}, std::array{16, 9, 40},
                                std::array{1, 130, 12}, std::array{255, 128, 64}}) {
    const Line line(m, n, k);
    for (const int splits : {1, 2, 3, 7}) {
      for (const int group_m : {0, 1, 3, 8, 300}) {
        Schedule schedule;
        schedule.kind = splits > 1 ? ScheduleKind::split_k : ScheduleKind::data_parallel;
        schedule.splits = splits;
        schedule.workers = 132;
        schedule.order = group_m == 0 ? TileOrder::linear : TileOrder::swizzle;
        schedule.group_m = group_m == 0 ? 1 : group_m;
        const Partition partition = make_partition(schedule, line.space);
        const UnitItems items = unit_items(line.space, partition);
        if (items.count == 0) continue;
        EXPECT_EQ(items.count, line.space.tiles * splits);
        for (std::uint32_t worker = 0; worker < 132; ++worker) {
          std::uint32_t unit = worker;
          for (const WorkItem& item :
               items_of(line.space, partition, static_cast<std::int32_t>(worker))) {
            ASSERT_LT(unit, items.count);
            ASSERT_TRUE(same(item, items.of(unit)))
                << m << "x" << n << "x" << k << ", " << splits << " splits, bands of " << group_m
                << ", unit " << unit;
            unit += 132;
          }
          ASSERT_GE(unit, items.count);
        }
      }
    }
  }
}

TEST(UnitItems, LeavesTheRestToTheWalk) {
  const Line line(16, 9, 40);
  Schedule schedule;
  schedule.workers = 7;
  const auto units = [&](const Line& at) {
    return unit_items(at.space, make_partition(schedule, at.space)).count;
  };
  EXPECT_EQ(units(line), 16U * 9U);
  EXPECT_EQ(units(Line(1000, 1000, 4)), 0U) << "numbers beyond the reciprocals' range";
  schedule.order = TileOrder::hilbert;
  EXPECT_EQ(units(line), 0U);
  schedule.order = TileOrder::linear;
  schedule.kind = ScheduleKind::stream_k;
  EXPECT_EQ(units(line), 0U);
  schedule.kind = ScheduleKind::split_k;
  schedule.splits = 41;
  EXPECT_EQ(units(line), 0U) << "some pieces are empty";
}

TEST(UnitItems, ReciprocalsAreExact) {
  for (std::uint32_t divisor = 1; divisor <= 1 << 15;
       divisor = divisor < 70 ? divisor + 1 : divisor * 3 / 2) {
    const Reciprocal reciprocal = Reciprocal::of(divisor);
    for (std::uint32_t a = 0; a < 1 << 15; ++a) {
      ASSERT_EQ(reciprocal.divide(a), a / divisor) << a << " / " << divisor;
    }
  }
}

}  // namespace
}  // namespace tessera
