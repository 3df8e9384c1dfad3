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

// Nor are those that are dealt for the short way, up to sixteen rows, packed for want of a page of
// each row.
TEST(FewRows, ShortPartsOfASmallBAreReadInPlace) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 2);
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    for (const GemmShape& shape : {GemmShape{13, 656, 155}, {16, 512, 150}, {14, 700, 140}}) {
      const Plan plan = make_plan(dense_problem(shape, gemm_types_for(type)), machine);
      EXPECT_EQ(plan.schedule.workers, 2);
      EXPECT_LT(plan.tile.block_n, shape.n) << shape.m << "×" << shape.n << "×" << shape.k;
      EXPECT_TRUE(plan.tile.a_in_place && plan.tile.b_in_place)
          << shape.m << "×" << shape.n << "×" << shape.k;
    }
  }
}

// Not where rows of bytes collide, or k takes several blocks.
TEST(FewRows, OtherPartsOfASmallBAreAsTheyWere) {
  const auto tile_of = [](const char* machine, const GemmShape& shape, ElementType type) {
    return make_plan(dense_problem(shape, gemm_types_for(type)),
                     with_workers(machine_by_name(machine), 2))
        .tile;
  };
  EXPECT_FALSE(tile_of("zen4", {2, 4096, 64}, ElementType::i8).b_in_place);
  const TileConfig deep = tile_of("sapphire-rapids", {16, 180, 700}, ElementType::f32);
  EXPECT_TRUE(deep.block_k >= 700 || !deep.b_in_place || deep.block_n >= 180);
}

// Two workers that share a B of the caches read the columns that they are dealt where they lie,
// however few those are.
TEST(FewRows, SharesOfColumnsAreReadInPlace) {
  const Machine machine = with_workers(machine_by_name("zen4"), 2);
  for (const ElementType type :
       {ElementType::f32, ElementType::f64, ElementType::bf16, ElementType::f16, ElementType::i8}) {
    for (const GemmShape& shape : {GemmShape{12, 1000, 1000}, {10, 700, 400}, {8, 330, 900}}) {
      const Plan plan = make_plan(dense_problem(shape, gemm_types_for(type)), machine);
      EXPECT_TRUE(plan.tile.b_in_place) << name_of(type) << ", " << shape.n;
      EXPECT_EQ(plan.schedule.workers, 2) << name_of(type) << ", " << shape.n;
      EXPECT_EQ(plan.decomposition.tiles_n, 2) << name_of(type) << ", " << shape.n;
    }
  }
}

// Narrow register tiles' likewise, of as many rows as one wide tile holds.
TEST(FewRows, NarrowTilesShareColumns) {
  const Machine machine = with_workers(machine_by_name("avx2-laptop"), 2);
  for (const GemmShape& shape : {GemmShape{3, 1254, 342}, {5, 902, 485}, {8, 1500, 400}}) {
    const Plan plan = make_plan(dense_problem(shape, gemm_types_for(ElementType::f32)), machine);
    EXPECT_TRUE(plan.tile.b_in_place) << shape.n;
    EXPECT_EQ(plan.decomposition.tiles_n, 2) << shape.n;
  }
}

// And bytes, in parts that leave room in L2 and are no less than a line.
TEST(FewRows, SmallSharesOfBytesAreReadInPlace) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 2);
  const auto reads_shares = [&](const GemmShape& shape) {
    const Plan plan = make_plan(dense_problem(shape, gemm_types_for(ElementType::i8)), machine);
    return plan.tile.b_in_place && plan.schedule.workers == 2 && plan.decomposition.tiles_n == 2;
  };
  for (const GemmShape& shape :
       {GemmShape{5, 640, 1264}, {3, 1192, 116}, {2, 576, 333}, {4, 483, 566}}) {
    EXPECT_TRUE(reads_shares(shape)) << shape.m << "×" << shape.n;
  }
  EXPECT_FALSE(reads_shares({6, 49, 3561}));
  EXPECT_FALSE(reads_shares({4, 1238, 1794}));
}

// Of rows that lie whole pages apart in memory few are cut: k is.
TEST(FewRows, FarRowsThatCollideAreNotCut) {
  const Machine machine = with_workers(machine_by_name("zen4"), 2);
  for (const std::int64_t m : {2, 4, 8}) {
    for (const GemmShape& shape : {GemmShape{m, 4096, 4096}, {m, 2048, 8192}}) {
      const Plan plan = make_plan(dense_problem(shape, gemm_types_for(ElementType::f32)), machine);
      EXPECT_TRUE(plan.tile.b_in_place) << m << "×" << shape.n;
      EXPECT_EQ(plan.tile.block_n, shape.n) << m << "×" << shape.n;
      EXPECT_NE(plan.schedule.kind, ScheduleKind::data_parallel) << m << "×" << shape.n;
    }
  }
}

TEST(FewRows, OfOtherMachinesAreCutIntoPages) {
  const Machine machine = with_workers(machine_by_name("zen5"), 2);
  const Problem problem = dense_problem({12, 4096, 4096}, gemm_types_for(ElementType::f64));
  EXPECT_EQ(make_plan(problem, machine).tile.block_n, 512);
}

// What the caller insists on is dealt to all workers.
TEST(FewRows, AreCutWhereTheScheduleIsGiven) {
  const Machine machine = with_workers(machine_by_name("zen4"), 2);
  PlanOptions options;
  options.schedule = ScheduleKind::data_parallel;
  const Problem problem = dense_problem({4, 4096, 4096}, gemm_types_for(ElementType::f32));
  EXPECT_GE(make_plan(problem, machine, options).decomposition.tiles, 2);
}

// Where vectors are multiplied in two halves B is interleaved and widened beside more rows, and
// beside none where bytes lie whole pages apart.
TEST(FewRows, HalvesLeaveTimeToConvert) {
  const auto in_place = [&](const char* name, ElementType type, const GemmShape& shape) {
    const Machine machine = with_workers(machine_by_name(name), 1);
    return make_plan(dense_problem(shape, gemm_types_for(type)), machine).tile.b_in_place;
  };
  EXPECT_TRUE(in_place("zen4", ElementType::bf16, {24, 1000, 1000}));
  EXPECT_FALSE(in_place("zen5", ElementType::bf16, {24, 1000, 1000}));
  EXPECT_TRUE(in_place("zen4", ElementType::f16, {24, 2000, 2000}));
  EXPECT_FALSE(in_place("zen5", ElementType::f16, {24, 2000, 2000}));
  EXPECT_TRUE(in_place("zen4", ElementType::i8, {24, 1000, 1000}));
  EXPECT_FALSE(in_place("zen4", ElementType::i8, {24, 4096, 4096}));
  EXPECT_FALSE(in_place("zen4", ElementType::i8, {2, 4096, 4096}));
  EXPECT_TRUE(in_place("zen5", ElementType::i8, {2, 4096, 4096}));
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

TEST(FewRows, HaveAPlanBesideRowsThatCollide) {
  const Machine machine = machine_by_name("zen4");
  for (const int workers : {1, 2, 3, 7, 16, 64}) {
    PlanOptions options;
    options.workers = workers;
    for (const std::int64_t m : {1, 2, 5, 8, 9, 40}) {
      for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16}) {
        for (const GemmShape& shape :
             {GemmShape{m, 11264, 4096}, {m, 4096, 9000}, {m, 131072, 64}}) {
          EXPECT_NO_THROW(make_plan(dense_problem(shape, gemm_types_for(type)), machine, options))
              << m << "×" << shape.n << ", " << workers << " workers, " << name_of(type);
        }
      }
    }
  }
}

// Further strips of rows come back to a block of B that is read in place.
TEST(FewRows, SeveralStripsTakeLittleOfKAtATime) {
  const Machine machine = machine_by_name("zen4");
  PlanOptions options;
  options.workers = 1;
  const auto tile_of = [&](ElementType type, const GemmShape& shape) {
    return make_plan(dense_problem(shape, gemm_types_for(type)), machine, options).tile;
  };
  using enum ElementType;
  EXPECT_EQ(tile_of(bf16, {16, 4096, 4096}).block_k, 2048);
  EXPECT_EQ(tile_of(bf16, {28, 4096, 4096}).block_k, 512);
  EXPECT_EQ(tile_of(bf16, {28, 1000, 1000}).block_k, 1008);
  EXPECT_EQ(tile_of(i8, {28, 2048, 2048}).block_k, 512);
  EXPECT_EQ(tile_of(i8, {28, 1792, 2048}).block_k, 2048);
}

// Weights along k that come from far are packed for them; near ones are multiplied as dot products.
TEST(FewRows, SeveralStripsPackColumnsThatAreFar) {
  const Machine machine = machine_by_name("zen4");
  PlanOptions options;
  options.workers = 1;
  const auto are_dots = [&](ElementType type, const GemmShape& shape) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    problem.b.major = Major::column;
    return make_plan(problem, machine, options).tile.b_in_place;
  };
  using enum ElementType;
  for (const ElementType type : {f32, f64, bf16}) {
    EXPECT_FALSE(are_dots(type, {24, 3000, 3000})) << name_of(type);
    EXPECT_FALSE(are_dots(type, {40, 7168, 2048})) << name_of(type);
  }
  EXPECT_TRUE(are_dots(f32, {17, 300, 2000}));
  EXPECT_TRUE(are_dots(bf16, {20, 2048, 2048}));
}

// Dot products of so few rows stay together: a second tile of rows would read B again.
TEST(FewRows, DotsAreNotCutForTwoWorkers) {
  const Machine machine = with_workers(machine_by_name("zen4"), 2);
  using enum ElementType;
  for (const ElementType type : {f32, f64, bf16, i8}) {
    for (const GemmShape& shape : {GemmShape{13, 5000, 1333}, {14, 5000, 1024}}) {
      Problem problem = dense_problem(shape, gemm_types_for(type));
      problem.b.major = Major::column;
      const TileConfig tile = make_plan(problem, machine).tile;
      EXPECT_TRUE(tile.b_in_place) << name_of(type);
      EXPECT_GE(tile.block_m, shape.m) << name_of(type) << ", " << shape.m << " rows";
    }
  }
}

// Few rows take much of k at once, on several workers where each has many columns; beside columns
// from memory a row of A stays in the nearest cache, which has 32 KB here.
TEST(FewRows, DotsAreDeep) {
  Machine machine = machine_by_name("avx2-laptop");
  machine.cache_bytes = 32 << 20;
  const auto depth_of = [&](int workers, const GemmShape& shape) {
    Problem problem = dense_problem(shape, gemm_types_for(ElementType::f64));
    problem.b.major = Major::column;
    return make_plan(problem, with_workers(machine, workers)).tile.block_k;
  };
  EXPECT_EQ(depth_of(1, {1, 128, 5000}), 5000);
  EXPECT_EQ(depth_of(2, {1, 128, 5000}), 5000);
  EXPECT_LE(depth_of(2, {1, 120, 5000}), 640);
  EXPECT_EQ(depth_of(2, {1, 1000, 4096}), 4096);
  EXPECT_LE(depth_of(2, {1, 1000, 5000}), 2560);
}

// A group most of whose B is for few rows makes dot products, whatever the largest one has.
TEST(FewRows, GroupsOfFewRowsMakeDots) {
  const Machine machine = machine_by_name("zen4");
  PlanOptions options;
  options.workers = 1;
  const auto are_dots = [&](std::initializer_list<std::int64_t> rows) {
    Problem problem = dense_problem({1, 7168, 2048}, gemm_types_for(ElementType::bf16));
    problem.b.major = Major::column;
    problem.groups.clear();
    for (const std::int64_t m : rows) problem.groups.push_back({m, 7168, 2048});
    return make_plan(problem, machine, options).tile.b_in_place;
  };
  EXPECT_TRUE(are_dots({4, 8, 12, 16}));
  EXPECT_TRUE(are_dots({4, 0, 8, 24}));
  EXPECT_FALSE(are_dots({4, 100, 100, 100}));
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
