// The worked examples of the iteration space, and properties that every schedule must have.
#include "schedule/partition.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"
#include "schedule/simulator.hpp"
#include "schedule/worker_items.hpp"
#include "support/worked_examples.hpp"
#include "tessera/problem.hpp"

namespace tessera {
namespace {

constexpr TileConfig kTile{.block_m = 128, .block_n = 128, .block_k = 32};

Schedule hybrid(int workers, bool two_tile) {
  return {.kind = ScheduleKind::hybrid, .workers = workers, .two_tile = two_tile};
}

class HybridExamples : public testing::TestWithParam<test::HybridExample> {};

TEST_P(HybridExamples, Decomposes1536x1792) {
  const test::HybridExample& e = GetParam();
  const std::vector<GemmShape> groups = {{1536, 1792, e.k}};
  const HostIterationSpace line(groups, kTile);
  const Partition partition = make_partition(hybrid(e.workers, e.two_tile), line);
  EXPECT_EQ(line.space().tiles, 168);
  EXPECT_EQ(line.space().groups[0].grid_m, 12);
  EXPECT_EQ(line.space().groups[0].grid_n, 14);
  EXPECT_EQ(line.space().groups[0].iterations, e.iterations_per_tile);
  EXPECT_EQ(partition.stream_tiles, e.stream_tiles);
  EXPECT_EQ(line.space().tiles - partition.stream_tiles, e.data_parallel_tiles);
  EXPECT_EQ(partition.stream_iterations, e.stream_iterations);
  EXPECT_EQ(partition.stream_iterations / e.workers, e.per_worker);
  EXPECT_EQ(partition.stream_iterations % e.workers, e.left_over);
}

INSTANTIATE_TEST_SUITE_P(WorkedExamples, HybridExamples, testing::ValuesIn(test::kHybridExamples));

TEST(Partition, DealsAGroupRoundRobinAcrossItsBoundary) {
  const std::vector<GemmShape> groups = {{192, 320, 128}, {256, 448, 192}};
  const HostIterationSpace line(groups, {.block_m = 64, .block_n = 64, .block_k = 64});
  const Partition partition =
      make_partition({.kind = ScheduleKind::data_parallel, .workers = 6}, line);
  ASSERT_EQ(line.space().tiles, 15 + 28);
  for (int worker = 0; worker < 6; ++worker) {
    std::int64_t expected = worker;
    for (const WorkItem& item : items_of(line, partition, worker)) {
      const GroupExtent& extent = line.space().groups[item.group];
      EXPECT_EQ(extent.first_tile + item.tile_m * extent.grid_n + item.tile_n, expected);
      EXPECT_EQ(item.group, expected < 15 ? 0 : 1);
      EXPECT_EQ(item.k_end, item.group == 0 ? 2 : 3);
      expected += 6;
    }
    EXPECT_GE(expected, line.space().tiles);
  }
}

TEST(Partition, GivesAnEmptyProductOneIterationPerTile) {
  const std::vector<GemmShape> groups = {{0, 5, 9}, {130, 10, 0}, {7, 0, 3}};
  const HostIterationSpace line(groups, kTile);
  EXPECT_EQ(line.space().tiles, 2);
  EXPECT_EQ(line.space().iterations, 2);
  const Partition partition = make_partition({.kind = ScheduleKind::stream_k, .workers = 1}, line);
  int items = 0;
  for (const WorkItem& item : items_of(line, partition, 0)) {
    EXPECT_EQ(item.group, 1);
    EXPECT_TRUE(item.is_whole_tile());
    ++items;
  }
  EXPECT_EQ(items, 2);
}

// Room is made for as many (cpu/workspace.cpp).
RC_GTEST_PROP(Partition, HasNoMoreSplitTilesThanItSays, ()) {
  const auto groups = *rc::gen::inRange(1, 5);
  std::vector<GemmShape> shapes;
  for (int i = 0; i < groups; ++i) {
    shapes.push_back({*rc::gen::inRange<std::int64_t>(0, 900),
                      *rc::gen::inRange<std::int64_t>(0, 900),
                      *rc::gen::inRange<std::int64_t>(0, 900)});
  }
  Schedule schedule;
  schedule.kind = *rc::gen::element(ScheduleKind::data_parallel, ScheduleKind::split_k,
                                    ScheduleKind::stream_k, ScheduleKind::hybrid);
  schedule.workers = *rc::gen::inRange(1, 70);
  schedule.splits = schedule.kind == ScheduleKind::split_k ? *rc::gen::inRange(2, 40) : 1;
  schedule.two_tile = *rc::gen::arbitrary<bool>();
  const HostIterationSpace line(shapes, kTile);
  const Partition partition = make_partition(schedule, line);
  std::set<std::tuple<std::int32_t, std::int32_t, std::int32_t>> split;
  std::map<std::int64_t, std::tuple<std::int32_t, std::int32_t, std::int32_t>> counters;
  for (std::int32_t worker = 0; worker < partition.workers; ++worker) {
    for (const WorkItem& item : items_of(line, partition, worker)) {
      if (item.is_whole_tile()) continue;
      const std::tuple tile(item.group, item.tile_m, item.tile_n);
      split.insert(tile);
      RC_ASSERT(item.counter < arrival_counters(partition, line.space().tiles));
      // A counter is one tile's.
      RC_ASSERT(counters.try_emplace(item.counter, tile).first->second == tile);
    }
  }
  RC_ASSERT(static_cast<std::int64_t>(split.size()) <= split_tiles(partition, line.space().tiles));
}

TEST(Partition, HasNoItemsWhereThereIsNoWork) {
  for (const std::vector<GemmShape>& groups :
       {std::vector<GemmShape>{}, std::vector<GemmShape>{{0, 0, 0}, {0, 7, 7}}}) {
    const HostIterationSpace line(groups, kTile);
    for (const auto kind : {ScheduleKind::data_parallel, ScheduleKind::split_k,
                            ScheduleKind::stream_k, ScheduleKind::hybrid}) {
      const Partition partition = make_partition({.kind = kind, .workers = 3, .splits = 2}, line);
      for (int worker = 0; worker < 3; ++worker) {
        for ([[maybe_unused]] const WorkItem& item : items_of(line, partition, worker)) {
          ADD_FAILURE() << "an item without work";
        }
      }
    }
  }
}

rc::Gen<GemmShape> any_shape() {
  // One size in four is small enough to be 0, 1 or a partial tile.
  const auto size =
      rc::gen::weightedOneOf<int>({{1, rc::gen::inRange(0, 3)}, {3, rc::gen::inRange(0, 40)}});
  return rc::gen::build<GemmShape>(rc::gen::set(&GemmShape::m, rc::gen::cast<std::int64_t>(size)),
                                   rc::gen::set(&GemmShape::n, rc::gen::cast<std::int64_t>(size)),
                                   rc::gen::set(&GemmShape::k, rc::gen::cast<std::int64_t>(size)));
}

Schedule any_schedule() {
  Schedule schedule;
  schedule.kind = *rc::gen::element(ScheduleKind::data_parallel, ScheduleKind::split_k,
                                    ScheduleKind::stream_k, ScheduleKind::hybrid);
  schedule.workers = *rc::gen::inRange(1, 40);
  schedule.splits = *rc::gen::inRange(1, 12);
  schedule.two_tile = *rc::gen::arbitrary<bool>();
  schedule.order = *rc::gen::element(TileOrder::linear, TileOrder::swizzle, TileOrder::hilbert);
  schedule.group_m = *rc::gen::inRange(1, 9);
  return schedule;
}

RC_GTEST_PROP(Schedules, AreSoundUnderAnyInterleaving, ()) {
  const auto groups = *rc::gen::container<std::vector<GemmShape>>(any_shape());
  const TileConfig tile{.block_m = *rc::gen::inRange(1, 9),
                        .block_n = *rc::gen::inRange(1, 9),
                        .block_k = *rc::gen::inRange(1, 9)};
  const Schedule schedule = any_schedule();
  const HostIterationSpace line(groups, tile);
  const Partition partition = partition_of(schedule, line, *rc::gen::arbitrary<bool>());
  const Simulation simulation{
      .order = *rc::gen::element(StartOrder::ascending, StartOrder::descending, StartOrder::random),
      .resident = *rc::gen::inRange(0, 6),
      .seed = *rc::gen::arbitrary<std::uint64_t>(),
      .lock_step = *rc::gen::arbitrary<bool>(),
      .meets_from = *rc::gen::element(0, 3, 4, 7),
      .patience = *rc::gen::inRange(0, 20)};
  const SimulationResult result = simulate(line, partition, simulation);
  RC_ASSERT(result.fault == "");
}

RC_GTEST_PROP(Schedules, StreamKLevelsTheLoad, ()) {
  const auto groups = *rc::gen::container<std::vector<GemmShape>>(any_shape());
  const int workers = *rc::gen::inRange(1, 40);
  const HostIterationSpace line(groups, {.block_m = 4, .block_n = 4, .block_k = 4});
  const Partition partition =
      make_partition({.kind = ScheduleKind::stream_k, .workers = workers}, line);
  const SimulationResult result = simulate(line, partition, {});
  RC_ASSERT(result.fault == "");
  RC_ASSERT(result.longest_run == ceil_div(line.space().iterations, workers));
}

RC_GTEST_PROP(ClaimedUnits, CoverEachTileOnce, ()) {
  const auto groups = *rc::gen::container<std::vector<GemmShape>>(any_shape());
  const Schedule schedule = any_schedule();
  RC_PRE(schedule.kind != ScheduleKind::stream_k);
  const HostIterationSpace line(groups, {.block_m = 4, .block_n = 4, .block_k = 4});
  const IterationSpace& space = line.space();
  const Partition partition = make_claimed_partition(schedule, space);
  const Partition rest = after_whole_tiles(partition);
  RC_ASSERT(rest.stream_tiles == partition.whole_tiles);
  // A hybrid's pieces find room in the workspace of its stream.
  const std::int64_t pieces = claimed_units(partition, space.tiles) - partition.whole_tiles;
  RC_ASSERT(schedule.kind != ScheduleKind::hybrid || pieces <= schedule.workers);

  std::int64_t iterations = space.iteration_of_tile(partition.whole_tiles);
  std::map<std::tuple<int, int, int>, int> ends;  // of the pieces so far, by tile
  std::set<std::int64_t> slots;
  for (std::int32_t unit = 0; unit < pieces; ++unit) {
    const WorkItem item = claimed_piece(space, rest, unit);
    if (item.peers == 0) continue;
    int& end = ends[{item.group, item.tile_m, item.tile_n}];
    RC_ASSERT(item.k_begin == end);
    end = item.k_end;
    iterations += item.k_end - item.k_begin;
    RC_ASSERT(item.counter >= 0 && item.counter < pieces);
    RC_ASSERT(slots.insert(item.slot(item.peer)).second && item.slot(item.peer) < pieces);
  }
  RC_ASSERT(iterations == space.iterations);
}

RC_GTEST_PROP(WorkersItems, CoverTheLineOnce, ()) {
  const auto groups = *rc::gen::container<std::vector<GemmShape>>(any_shape());
  const HostIterationSpace line(groups, {.block_m = 4, .block_n = 4, .block_k = 4});
  const Schedule schedule = any_schedule();
  const Partition partition = partition_of(schedule, line, *rc::gen::arbitrary<bool>());
  const WorkerItems items(line, partition);
  std::int64_t iterations = 0;
  std::set<std::tuple<int, int, int, int>> begins;
  for (std::int32_t worker = 0; worker < partition.workers; ++worker) {
    const std::vector<WorkItem> own = items.of(worker);
    for (const WorkItem& item : own) {
      iterations += item.k_end - item.k_begin;
      RC_ASSERT(begins.emplace(item.group, item.tile_m, item.tile_n, item.k_begin).second);
    }
    RC_ASSERT(partition.stream_tiles > 0 || items.units_of(worker) >= std::ssize(own));
    RC_ASSERT(items.of(worker, 2).size() == std::min<std::size_t>(2, own.size()));
  }
  RC_ASSERT(iterations == line.space().iterations);
}

// 140 whole tiles give 8 of 132 workers two; the other 124 take the 132 pieces, 8 of them two.
TEST(WorkersItems, GoToWhoIsFree) {
  const std::vector<GemmShape> groups = {{8, 100, 12}, {8, 84, 12}};
  const HostIterationSpace line(groups, {.block_m = 8, .block_n = 1, .block_k = 1});
  const Partition partition =
      partition_of({.kind = ScheduleKind::hybrid, .workers = 132}, line, true);
  EXPECT_EQ(partition.whole_tiles, 140);
  const WorkerItems items(line, partition);
  std::map<std::int64_t, int> workers;  // by their iterations
  for (std::int32_t worker = 0; worker < 132; ++worker) {
    std::int64_t iterations = 0;
    for (const WorkItem& item : items.of(worker)) iterations += item.k_end - item.k_begin;
    ++workers[iterations];
  }
  EXPECT_EQ(workers, (std::map<std::int64_t, int>{{16, 116}, {20, 8}, {24, 8}}));
}

// More units than 32 bits count: as many as matter are dealt, and all are counted.
TEST(WorkersItems, CountMoreUnitsThanAreDealt) {
  const std::vector<GemmShape> groups(128, {1'000'000, 1'000'000, 4});
  const HostIterationSpace line(groups, {.block_m = 128, .block_n = 128, .block_k = 4});
  const Partition partition =
      partition_of({.kind = ScheduleKind::data_parallel, .workers = 132}, line, true);
  const std::int64_t units = claimed_units(partition, line.space().tiles);
  ASSERT_GT(units, std::numeric_limits<std::int32_t>::max());
  const WorkerItems items(line, partition);
  std::int64_t counted = 0;
  for (std::int32_t worker = 0; worker < 132; ++worker) counted += items.units_of(worker);
  EXPECT_EQ(counted, units);
  EXPECT_EQ(items.of(131, 3).size(), 3U);
}

// A long tile and four short ones in two pieces each: whoever has a short piece takes the others.
TEST(WorkersItems, PiecesGoToWhoIsFree) {
  const std::vector<GemmShape> groups = {{8, 1, 80}, {8, 4, 4}};
  const HostIterationSpace line(groups, {.block_m = 8, .block_n = 1, .block_k = 1});
  const Schedule schedule = {.kind = ScheduleKind::split_k, .workers = 3, .splits = 2};
  const auto loads = [&](bool are_claimed) {
    const Partition partition = partition_of(schedule, line, are_claimed);
    const WorkerItems items(line, partition);
    std::vector<std::int64_t> all;
    for (std::int32_t worker = 0; worker < 3; ++worker) {
      all.push_back(0);
      for (const WorkItem& item : items.of(worker)) all.back() += item.k_end - item.k_begin;
    }
    EXPECT_EQ(simulate(line, partition, {}).fault, "");
    return all;
  };
  // Pieces in their order: 40 2 2 2 2, 40 2 2 2 2.
  EXPECT_EQ(loads(false), (std::vector<std::int64_t>{40 + 2 + 2 + 2, 2 + 2 + 2, 2 + 40 + 2}));
  EXPECT_EQ(loads(true), (std::vector<std::int64_t>{40, 2 + 2 + 40, 2 + 2 + 2 + 2 + 2 + 2}));
}

TEST(Schedules, SumATileOfManyPeersAsATree) {
  // One tile, 132 peers: the shape of 128×128×131072 on an H200.
  const std::vector<GemmShape> groups = {{128, 128, 131072}};
  const HostIterationSpace line(groups, {.block_m = 128, .block_n = 128, .block_k = 64});
  const Partition partition =
      make_partition({.kind = ScheduleKind::stream_k, .workers = 132}, line);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const SimulationResult result =
        simulate(line, partition, {.order = StartOrder::random, .resident = 17, .seed = seed});
    EXPECT_EQ(result.fault, "");
  }
}

TEST(Schedules, SumATileOfManyPeersTogetherWhereAllCanStay) {
  const std::vector<GemmShape> groups = {{256, 256, 65536}};
  const HostIterationSpace line(groups, {.block_m = 128, .block_n = 128, .block_k = 64});
  const Partition split =
      make_partition({.kind = ScheduleKind::split_k, .workers = 132, .splits = 33}, line);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Simulation all{.order = StartOrder::random, .seed = seed, .meets_from = 4, .patience = 1 << 20};
    const SimulationResult together = simulate(line, split, all);
    EXPECT_EQ(together.fault, "");
    EXPECT_EQ(together.shared, 4);
    // Where few can run at a time, those who stay have to leave before the others can come.
    all.resident = 17;
    all.patience = 3;
    EXPECT_EQ(simulate(line, split, all).fault, "");
  }
}

}  // namespace
}  // namespace tessera
