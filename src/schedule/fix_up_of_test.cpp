// Peers meet where the launch has a plain kernel and there are many pieces of a long k, and nowhere
// else.
#include "schedule/fix_up_of.hpp"

#include <gtest/gtest.h>

#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"

namespace tessera {
namespace {

// 128×128 tiles of two warpgroups meet from six peers on.
Plan long_k() {
  Plan plan;
  plan.problem = dense_problem({256, 256, 65536}, gemm_types_for(ElementType::bf16));
  plan.problem.types.c = ElementType::bf16;
  plan.kernel = "sm90_bf16_128x128x64";
  plan.tile = {.block_m = 128, .block_n = 128, .block_k = 64};
  plan.schedule = {.kind = ScheduleKind::split_k, .workers = 132, .splits = 33};
  return plan;
}

FixUp fix_up_of(const Plan& plan) {
  const HostIterationSpace space(plan.problem.groups, plan.tile);
  return tessera::fix_up_of(plan, partition_of(plan, space), space);
}

template <class Change>
FixUp changed(Change change) {
  Plan plan = long_k();
  change(plan);
  return fix_up_of(plan);
}

TEST(FixUpOf, ManyPiecesOfALongKMeet) {
  EXPECT_EQ(fix_up_of(long_k()), FixUp::meeting);
  EXPECT_EQ(changed([](Plan& plan) { plan.problem.alpha = -0.5; }), FixUp::meeting);
  EXPECT_EQ(changed([](Plan& plan) { plan.problem.a.alignment = 2; }), FixUp::meeting);  // copied
  EXPECT_EQ(changed([](Plan& plan) { plan.schedule.splits = 6; }), FixUp::meeting);
}

TEST(FixUpOf, FewPiecesDoNot) {
  EXPECT_EQ(changed([](Plan& plan) { plan.schedule.splits = 5; }), FixUp::tree);
  // Blocks with more sums a thread meet sooner, smaller ones later.
  EXPECT_EQ(changed([](Plan& plan) {
              plan.kernel = "sm90_bf16_128x128x64_turns";
              plan.schedule.splits = 4;
            }),
            FixUp::meeting);
  EXPECT_EQ(changed([](Plan& plan) {
              plan.kernel = "sm90_bf16_64x64x64";
              plan.tile.block_m = plan.tile.block_n = 64;
              plan.schedule.splits = 8;
            }),
            FixUp::tree);
}

TEST(FixUpOf, NorDoWorkersWithOtherItems) {
  EXPECT_EQ(changed([](Plan& plan) { plan.schedule.workers = 131; }), FixUp::tree);
  EXPECT_EQ(changed([](Plan& plan) { plan.schedule.kind = ScheduleKind::stream_k; }), FixUp::tree);
  EXPECT_EQ(changed([](Plan& plan) { plan.schedule.kind = ScheduleKind::hybrid; }), FixUp::tree);
}

TEST(FixUpOf, NorDoKernelsForAllPurposes) {
  const auto by = [](auto change) { return changed([&](Plan& plan) { change(plan.problem); }); };
  EXPECT_EQ(by([](Problem& problem) { problem.beta = 1; }), FixUp::tree);
  EXPECT_EQ(by([](Problem& problem) { problem.epilogue.bias = BiasAxis::row; }), FixUp::tree);
  EXPECT_EQ(by([](Problem& problem) { problem.types.c = ElementType::f32; }), FixUp::tree);
  EXPECT_EQ(by([](Problem& problem) { problem.alpha = 0; }), FixUp::tree);
  // What TMA cannot write.
  EXPECT_EQ(by([](Problem& problem) { problem.c.alignment = 8; }), FixUp::tree);
  EXPECT_EQ(by([](Problem& problem) { problem.c.major = Major::general; }), FixUp::tree);
  EXPECT_EQ(by([](Problem& problem) { problem.groups[0].n = 252; }), FixUp::tree);
  EXPECT_EQ(by([](Problem& problem) { problem.groups[0].m = 252; }), FixUp::meeting);
  EXPECT_EQ(by([](Problem& problem) {
              problem.groups[0].m = 252;
              problem.c.major = Major::column;
            }),
            FixUp::tree);
  EXPECT_EQ(by([](Problem& problem) { problem.groups.assign(2, {128, 128, 65536}); }), FixUp::tree);
  // Items that the host cannot prepare.
  EXPECT_EQ(changed([](Plan& plan) { plan.schedule.order = TileOrder::hilbert; }), FixUp::tree);
}

TEST(FixUpOf, NorDoOtherKernels) {
  EXPECT_EQ(changed([](Plan& plan) { plan.kernel = "sm80_general_bf16_128x128x32"; }), FixUp::tree);
  EXPECT_EQ(changed([](Plan& plan) { plan.kernel = "cpu_scalar_bf16"; }), FixUp::tree);
  EXPECT_EQ(changed([](Plan& plan) { plan.kernel.clear(); }), FixUp::tree);
}

}  // namespace
}  // namespace tessera
