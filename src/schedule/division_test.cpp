// What a partition is called is what it does.
#include "schedule/division.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"
#include "schedule/worker_items.hpp"

namespace tessera {
namespace {

constexpr Schedule kHybrid = {.kind = ScheduleKind::hybrid, .workers = 66};
constexpr TileConfig kTile = {.block_m = 256, .block_n = 256, .block_k = 64};

Problem layer(std::int64_t rows) {
  Problem problem = dense_problem({rows, 4096, 14336}, gemm_types_for(ElementType::bf16));
  problem.types.c = ElementType::bf16;
  problem.groups.resize(8, problem.groups.front());
  return problem;
}

Partition hybrid_by(const char* kernel, std::int64_t rows) {
  Candidate candidate;
  candidate.kernel = kernel;
  candidate.tile = kTile;
  candidate.schedule = kHybrid;
  return partition_of(layer(rows), candidate);
}

TEST(Division, ClaimedHybridsCutTheirLastTiles) {
  const Partition claimed = hybrid_by("sm90_bf16_256x128x64_swapped_1x2", 1024);
  EXPECT_TRUE(claimed.units_are_claimed);
  EXPECT_EQ(hybrid_cut(claimed), HybridCut::last_tiles);
  // Others stream, of 8·4·16 tiles here 512 mod 66 and 66 more.
  const Partition dealt = hybrid_by("sm90_bf16_128x256x64_2x1", 1024);
  EXPECT_FALSE(dealt.units_are_claimed);
  EXPECT_EQ(dealt.stream_tiles, 50 + 66);
  EXPECT_EQ(hybrid_cut(dealt), HybridCut::two_tiles);
}

TEST(Division, TwoTilesNeedAFullWaveMore) {
  const auto cut = [](std::int64_t tiles, bool two_tile) {
    Plan plan;
    plan.problem = dense_problem({256 * tiles, 256, 6400}, gemm_types_for(ElementType::f32));
    plan.tile = kTile;
    plan.schedule = kHybrid;
    plan.schedule.two_tile = two_tile;
    return hybrid_cut(partition_of(plan));
  };
  EXPECT_EQ(cut(2 * 66 + 5, true), HybridCut::two_tiles);
  EXPECT_EQ(cut(2 * 66 + 5, false), HybridCut::one_tile);
  EXPECT_EQ(cut(66 + 5, true), HybridCut::one_tile);
  EXPECT_EQ(cut(2 * 66, true), HybridCut::two_tiles);
}

// With no more tiles than come in pieces, everyone has one unit at most, claimed or dealt.
TEST(Division, ClaimedIsAsDealtWhereNoTileIsWhole) {
  const Problem problem = layer(256);
  Schedule schedule = kHybrid;
  schedule.workers = 3 * 8 * 16;
  const HostIterationSpace space(problem.groups, kTile);
  const Partition partition = partition_of(schedule, space, true);
  EXPECT_EQ(partition.whole_tiles, 0);
  EXPECT_EQ(claimed_units(partition, space.space().tiles), schedule.workers);
  const WorkerItems claimed(space, partition);
  Partition dealt = partition;
  dealt.units_are_claimed = false;
  const WorkerItems as_dealt(space, dealt);
  for (std::int32_t worker = 0; worker < schedule.workers; ++worker) {
    const std::vector<WorkItem> own = claimed.of(worker);
    const std::vector<WorkItem> expected = as_dealt.of(worker);
    ASSERT_EQ(own.size(), 1U);
    ASSERT_EQ(expected.size(), 1U);
    EXPECT_EQ(own[0].tile_m, expected[0].tile_m);
    EXPECT_EQ(own[0].tile_n, expected[0].tile_n);
    EXPECT_EQ(own[0].k_begin, expected[0].k_begin);
  }
}

// Only the kernels for groups claim, and a stream has nothing that could be claimed.
TEST(Division, PiecesOfGroupsAreClaimed) {
  Candidate candidate;
  candidate.tile = kTile;
  candidate.schedule = {.kind = ScheduleKind::split_k, .workers = 66, .splits = 3};
  const auto are_claimed = [&](const char* kernel, ScheduleKind kind, const Problem& problem) {
    candidate.kernel = kernel;
    candidate.schedule.kind = kind;
    return partition_of(problem, candidate).units_are_claimed;
  };
  constexpr const char* kGrouped = "sm90_bf16_256x128x64_swapped_1x2";
  Problem one = layer(1024);
  one.groups.resize(1);
  EXPECT_TRUE(are_claimed(kGrouped, ScheduleKind::split_k, layer(1024)));
  EXPECT_TRUE(are_claimed(kGrouped, ScheduleKind::data_parallel, layer(1024)));
  EXPECT_FALSE(are_claimed(kGrouped, ScheduleKind::stream_k, layer(1024)));
  EXPECT_FALSE(are_claimed(kGrouped, ScheduleKind::split_k, one));
  EXPECT_FALSE(are_claimed("sm90_bf16_128x256x64_2x1", ScheduleKind::split_k, layer(1024)));
}

}  // namespace
}  // namespace tessera
