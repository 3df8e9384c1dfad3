#include "plan/explain.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Plan plan_on(const char* machine, GemmShape shape, const PlanOptions& options = {}) {
  return make_plan(dense_problem(shape, gemm_types_for(ElementType::bf16)),
                   machine_by_name(machine), options);
}

TEST(Explain, IntensityRisesFromElementToPlan) {
  PlanOptions options;
  options.tile = TileConfig{.block_m = 128, .block_n = 128, .block_k = 64};
  const Intensities i = explain(plan_on("h200", {4096, 4096, 4096}, options)).intensities;
  EXPECT_DOUBLE_EQ(i.element, 0.5);
  EXPECT_DOUBLE_EQ(i.tile, 64);
  EXPECT_GT(i.plan, i.tile);
  EXPECT_LE(i.plan, i.compulsory * (1 + 1e-12));
  EXPECT_NEAR(i.ridge, 132 * 4096 * 1.83e9 / 4.3e12, 1);
}

TEST(Explain, WavesCountTheIdlePlaces) {
  PlanOptions options;
  options.tile = TileConfig{.block_m = 128, .block_n = 128, .block_k = 32};
  options.workers = 82;
  options.schedule = ScheduleKind::data_parallel;
  const Waves waves = explain(plan_on("gpu-84sm", {1536, 1792, 6016}, options)).waves;
  EXPECT_EQ(waves.full, 2);
  EXPECT_EQ(waves.last_tiles, 4);
  EXPECT_DOUBLE_EQ(waves.filled, 168.0 / 246);
}

TEST(Explain, ScratchpadIsTheStagesAndTheEpilogue) {
  PlanOptions options;
  options.kernel = "sm90_bf16_128x256x64";
  const Explanation e = explain(plan_on("h200", {4096, 4096, 4096}, options));
  EXPECT_EQ(e.scratchpad.a_bytes, 128 * 64 * 2);
  EXPECT_EQ(e.scratchpad.b_bytes, 256 * 64 * 2);
  EXPECT_LE(e.scratchpad.total(), e.scratchpad_limit);
}

TEST(Explain, PeersFollowTheSchedule) {
  PlanOptions options;
  options.splits = 20;
  const Explanation split = explain(plan_on("h200", {128, 128, 65536}, options));
  EXPECT_EQ(split.peers, 20);
  EXPECT_EQ(split.fixup.levels, 2);
  EXPECT_EQ(split.fixup.additions, 7 + 2);
  options.splits.reset();
  options.schedule = ScheduleKind::data_parallel;
  EXPECT_EQ(explain(plan_on("h200", {128, 128, 65536}, options)).peers, 1);
}

TEST(Explain, EmptyProblemHasNoWaves) {
  const Explanation e = explain(plan_on("zen4", {0, 10, 10}));
  EXPECT_EQ(e.waves.full, 0);
  EXPECT_EQ(e.flops_per_second, 0);
}

}  // namespace
}  // namespace tessera
