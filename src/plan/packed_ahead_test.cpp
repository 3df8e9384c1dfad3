// Plans for a B that is packed before the call.
#include <gtest/gtest.h>

#include <string>

#include "core/tile_registers_rule.hpp"
#include "tessera/error.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

Problem with_packed_b(const GemmShape& shape, ElementType type) {
  Problem problem = dense_problem(shape, gemm_types_for(type));
  problem.b = kPackedLayout;
  return problem;
}

Plan plan_of(const GemmShape& shape, ElementType type, const Machine& machine,
             const PlanOptions& options = {}) {
  return make_plan(with_packed_b(shape, type), machine, options);
}

TEST(PackedAhead, BIsNeverReadInPlaceNorTurned) {
  for (const char* name : {"sapphire-rapids", "zen4", "avx2-laptop"}) {
    for (const int workers : {1, 2}) {
      const Machine machine = with_workers(machine_by_name(name), workers);
      for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16,
                                     ElementType::bf16, ElementType::i8}) {
        for (const GemmShape& shape : {GemmShape{1, 1000, 1000},
                                       {8, 4096, 4096},
                                       {1000, 1, 1000},
                                       {3000, 16, 700},
                                       {40, 40, 40},
                                       {1, 1, 1},
                                       {500, 400, 300}}) {
          Problem problem = with_packed_b(shape, type);
          for (const Major c : {Major::row, Major::column}) {
            problem.c.major = c;
            const Plan plan = make_plan(problem, machine);
            SCOPED_TRACE(std::string(name) + " " + plan.kernel + " " + std::to_string(shape.m));
            EXPECT_FALSE(plan.tile.b_in_place);
            EXPECT_EQ(plan.tile.block_n % plan.tile.nr, 0);
          }
        }
      }
    }
  }
}

// Packing is what few rows do not pay for.
TEST(PackedAhead, TileRegistersMultiplyFewRows) {
  Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  machine.splits_f32 = true;
  const auto kernel_of = [&](const GemmShape& shape, ElementType type) {
    return plan_of(shape, type, machine).kernel;
  };
  for (const std::int64_t m : {1, 4, 16, 100}) {
    EXPECT_EQ(kernel_of({m, 1000, 1000}, ElementType::bf16), "cpu_amx_bf16") << m;
    EXPECT_EQ(kernel_of({m, 1000, 1000}, ElementType::i8), "cpu_amx_i8") << m;
  }
  EXPECT_EQ(
      make_plan(dense_problem({1, 1000, 1000}, gemm_types_for(ElementType::i8)), machine).kernel,
      "cpu_avx512vnni_i8");
  EXPECT_EQ(kernel_of({1, 60, 60}, ElementType::bf16), "cpu_avx512_bf16");
  EXPECT_EQ(kernel_of({11, 1000, 1000}, ElementType::f16), "cpu_avx512_f16");
  EXPECT_EQ(kernel_of({12, 1000, 1000}, ElementType::f16), "cpu_amx_f16");
  EXPECT_EQ(kernel_of({31, 1000, 1000}, ElementType::f32), "cpu_avx512_f32");
  EXPECT_EQ(kernel_of({32, 1000, 1000}, ElementType::f32), "cpu_amx_f32");
  EXPECT_EQ(
      make_plan(dense_problem({32, 300, 300}, gemm_types_for(ElementType::f32)), machine).kernel,
      "cpu_avx512_f32");
}

TEST(PackedAhead, PanelsAreDeep) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  const auto depth_of = [&](const GemmShape& shape, ElementType type) {
    return plan_of(shape, type, machine).tile.block_k;
  };
  // As the rows leave room for in L2, 2 MB here.
  EXPECT_EQ(depth_of({16, 4096, 4096}, ElementType::i8), 4096);
  EXPECT_EQ(depth_of({16, 4096, 4096}, ElementType::bf16), 4096);
  EXPECT_EQ(depth_of({16, 300, 784}, ElementType::bf16), 784);
  EXPECT_EQ(depth_of({64, 4096, 4096}, ElementType::bf16), 4096);
  EXPECT_EQ(depth_of({128, 4096, 4096}, ElementType::bf16), 2048);
  EXPECT_EQ(depth_of({8, 4096, 4096}, ElementType::f32), 1024);
}

// Where blocks of B are read again and again they are as without packing.
TEST(PackedAhead, ManyRowsHaveTheUsualBlocks) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  for (const GemmShape& shape :
       {GemmShape{4096, 16, 4096}, {4096, 128, 4096}, {1024, 1024, 1024}, {3000, 3000, 3000}}) {
    const Plan packed = plan_of(shape, ElementType::bf16, machine);
    const Plan usual = make_plan(dense_problem(shape, gemm_types_for(ElementType::bf16)), machine);
    EXPECT_EQ(packed.tile.block_k, usual.tile.block_k) << shape.n;
    EXPECT_EQ(packed.tile.block_n, usual.tile.block_n) << shape.n;
  }
  // Vectors have none that stay.
  for (const std::int64_t m : {100, 150, 1000}) {
    EXPECT_EQ(plan_of({m, 4096, 4096}, ElementType::f32, machine).tile.block_k, 1024) << m;
  }
}

TEST(PackedAhead, NoSecondLevelCacheIsTooSmall) {
  Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  for (const std::int64_t bytes : {0, 1000}) {
    machine.scratchpad_bytes = bytes;
    for (const std::int64_t m : {1, 64, 1000}) {
      EXPECT_GT(plan_of({m, 1000, 1000}, ElementType::bf16, machine).tile.block_k, 0) << m;
    }
  }
}

TEST(PackedAhead, ABlockKAloneLeavesTheRestToThePlanner) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 2);
  PlanOptions options;
  options.kernel = "cpu_amx_bf16";
  options.tile.emplace().block_k = 1024;
  for (const std::int64_t m : {1, 100, 3000}) {
    const Plan plan = plan_of({m, 4096, 4096}, ElementType::bf16, machine, options);
    EXPECT_EQ(plan.tile.block_k, 1024) << m;
    EXPECT_EQ(plan.schedule.workers, 2) << m;
    EXPECT_GT(plan.tile.block_n, 0) << m;
    if (m == 3000) {
      // A block of B stays in the second-level cache.
      EXPECT_LE(std::int64_t{plan.tile.block_n} * 1024 * 2, near_b_bytes(machine.scratchpad_bytes));
    }
  }
}

TEST(PackedAhead, IsPredictedWithoutPacking) {
  const Machine machine = with_workers(machine_by_name("zen4"), 1);
  const GemmShape shape{24, 4096, 4096};
  PlanOptions options;
  options.tile.emplace().block_k = 512;
  const Plan ahead = plan_of(shape, ElementType::f32, machine, options);
  options.tile->block_m = ahead.tile.block_m;
  options.tile->block_n = ahead.tile.block_n;
  const Plan here =
      make_plan(dense_problem(shape, gemm_types_for(ElementType::f32)), machine, options);
  EXPECT_LT(ahead.cost.seconds, 0.9 * here.cost.seconds);
}

TEST(PackedAhead, OthersCannotBePacked) {
  const Machine machine = machine_by_name("zen4");
  Problem problem = with_packed_b({8, 8, 8}, ElementType::f32);
  EXPECT_THROW(make_plan(problem, machine_by_name("h200")), Error);
  problem.a = kPackedLayout;
  EXPECT_THROW(make_plan(problem, machine), Error);
  problem.a = {};
  problem.c = kPackedLayout;
  EXPECT_THROW(make_plan(problem, machine), Error);
}

TEST(PackedAhead, IsKeptInJson) {
  const Plan plan = plan_of({8, 100, 100}, ElementType::f32, machine_by_name("zen4"));
  EXPECT_EQ(plan_from_json(to_json(plan)).problem.b, kPackedLayout);
  Plan elsewhere = plan;
  elsewhere.machine = machine_by_name("h200");
  EXPECT_THROW(plan_from_json(to_json(elsewhere)), Error);
}

}  // namespace
}  // namespace tessera
