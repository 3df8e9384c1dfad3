// Plans of products of few rows for CPUs: how B is read, and by how many workers.
#include <gtest/gtest.h>

#include <cstdint>

#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

// Few rows of C read a large B by whole rows, which workers share by cutting k, in equal parts, as
// long as k is deep enough.
TEST(FewRows, WholeRowsOfBAreNotCut) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids-avx512"), 2);
  const auto plan_of = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return make_plan(
        dense_problem({m, n, k}, {ElementType::f32, ElementType::f32, ElementType::f32}), machine);
  };
  for (const std::int64_t m : {1, 4, 8, 16}) {
    for (const std::int64_t n : {2048, 4096, 5001}) {
      for (const std::int64_t k : {3001, 4096, 4109}) {
        const Plan plan = plan_of(m, n, k);
        EXPECT_TRUE(plan.tile.b_in_place) << m << "×" << n << "×" << k;
        EXPECT_GE(plan.tile.block_n, n) << m << "×" << n << "×" << k;
        EXPECT_NE(plan.schedule.kind, ScheduleKind::data_parallel) << m << "×" << n << "×" << k;
        const std::int64_t blocks = (k + plan.tile.block_k - 1) / plan.tile.block_k;
        EXPECT_EQ(blocks % 2, 0) << k << " in blocks of " << plan.tile.block_k;
      }
    }
  }
  EXPECT_EQ(plan_of(4, 4096, 300).schedule.kind, ScheduleKind::data_parallel);
}

// B comes once for all of k, but for rows of it that collide in the nearest cache and come from
// memory.
TEST(FewRows, WideTilesGoDownAllOfK) {
  const Machine machine = with_workers(machine_by_name("zen5"), 1);
  const auto depth_of = [&](const GemmShape& shape) {
    return make_plan(dense_problem(shape, gemm_types_for(ElementType::f32)), machine).tile.block_k;
  };
  for (const std::int64_t m : {1, 4, 8}) {
    EXPECT_GE(depth_of({m, 1000, 1000}), 1000);
    EXPECT_GE(depth_of({m, 1024, 1024}), 1024);
    EXPECT_GE(depth_of({m, 5008, 3001}), 1500);
    EXPECT_LE(depth_of({m, 4096, 40960}), 256);
  }
  EXPECT_GE(depth_of({9, 1000, 1000}), 1000);
  EXPECT_GE(depth_of({48, 1000, 1000}), 1000);
  EXPECT_LE(depth_of({9, 1024, 1024}), 256);
  EXPECT_LE(depth_of({9, 5008, 3001}), 256);
}

// However many rows and workers there are, with wide register tiles and narrow ones.
TEST(FewRows, AlwaysHaveAPlan) {
  for (const char* name : {"sapphire-rapids", "sapphire-rapids-avx512", "avx2-laptop"}) {
    Machine machine = machine_by_name(name);
    machine.scratchpad_bytes = std::int64_t{2} << 20;
    for (const int workers : {1, 2, 3, 7, 16, 64}) {
      for (std::int64_t m = 1; m <= 50; ++m) {
        for (const GemmTypes& types :
             {gemm_types_for(ElementType::f32), gemm_types_for(ElementType::f64),
              gemm_types_for(ElementType::bf16)}) {
          PlanOptions options;
          options.workers = workers;
          for (const GemmShape& shape :
               {GemmShape{m, 3000, 2000}, {m, 100000, 64}, {m, 64, 9000}}) {
            EXPECT_NO_THROW(make_plan(dense_problem(shape, types), machine, options))
                << name << ", " << m << " rows, " << workers << " workers";
          }
        }
      }
    }
  }
}

// What cores that have nothing to do would share is not counted.
TEST(FewRows, OneWorkerIsPlannedAsOnOneCore) {
  for (const char* name : {"zen4", "zen5", "sapphire-rapids-avx512", "avx2-laptop"}) {
    const Machine machine = machine_by_name(name);
    PlanOptions options;
    options.workers = 1;
    for (const GemmShape& shape : {GemmShape{4, 2048, 4096},
                                   {4, 4096, 4096},
                                   {64, 2048, 2048},
                                   {62, 2708, 54},
                                   {1000, 1000, 1000}}) {
      const Problem problem =
          dense_problem(shape, {ElementType::f32, ElementType::f32, ElementType::f32});
      const Plan plan = make_plan(problem, machine, options);
      const Plan alone = make_plan(problem, with_workers(machine, 1), options);
      EXPECT_EQ(plan.tile, alone.tile) << name << ", " << shape.m << "×" << shape.n;
      if (shape.m == 4) {
        EXPECT_TRUE(plan.tile.b_in_place) << name << ", " << shape.n;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
