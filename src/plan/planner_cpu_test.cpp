// The planner on CPUs: which workers a product is worth, what is read in place, which kernel fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/catalogue.hpp"
#include "plan/passing.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

TEST(Planner, SmallProductsRunOnOneWorkerInPlace) {
  const Plan plan = make_plan(dense_problem({48, 48, 48}), machine_by_name("zen5"));
  EXPECT_EQ(plan.schedule.workers, 1);
  EXPECT_EQ(plan.decomposition.tiles, 1);
  EXPECT_TRUE(plan.tile.a_in_place && plan.tile.b_in_place);
}

TEST(Planner, TileRegistersGetWhatFillsThem) {
  const Machine machine = machine_by_name("sapphire-rapids");
  const auto kernel_of = [&](const GemmShape& shape, const PlanOptions& options) {
    return make_plan(dense_problem(shape, gemm_types_for(ElementType::bf16)), machine, options)
        .kernel;
  };
  EXPECT_EQ(kernel_of({64, 64, 64}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({8, 4096, 4096}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({100, 100, 12}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({100, 100, 4}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({60, 60, 8}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({16, 1000, 10}, {}), "cpu_amx_bf16");
  // A large C is written faster.
  EXPECT_EQ(kernel_of({1000, 1000, 3}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({300, 300, 3}, {}), "cpu_amx_bf16");
  // Many rows are read where they lie, for few columns, too.
  EXPECT_EQ(kernel_of({1000, 2, 100}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({900, 3, 20}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({4096, 5, 4096}, {}), "cpu_amx_bf16");
  EXPECT_EQ(kernel_of({100, 12, 8}, {}), "cpu_amx_bf16");
  // Bits that must not depend on the number of rows come from one kernel.
  PlanOptions invariant;
  invariant.batch_invariant = true;
  PlanOptions named;
  named.kernel = "cpu_amx_bf16";
  constexpr std::string_view kWidened = "cpu_avx512_bf16";
  constexpr std::string_view kDots = "cpu_avx512bf16_bf16";
  for (const auto& [small, kernel] : {std::pair{GemmShape{1, 4096, 4096}, kWidened},
                                      {{4, 4096, 4096}, kWidened},
                                      {{4096, 2, 4096}, kDots},
                                      {{12, 12, 127}, kWidened},
                                      {{16, 1000, 9}, kWidened},
                                      {{16, 16, 23}, kWidened},
                                      {{60, 6, 20}, kWidened},
                                      {{1000, 2, 300}, kDots},
                                      {{1000, 16, 7}, kWidened},
                                      {{1000, 1000, 2}, kWidened},
                                      {{100, 100, 3}, kWidened},
                                      {{60, 60, 7}, kWidened}}) {
    EXPECT_EQ(kernel_of(small, {}), kernel) << small.m << "×" << small.n << "×" << small.k;
    EXPECT_EQ(kernel_of(small, invariant), "cpu_amx_bf16");
    EXPECT_EQ(kernel_of(small, named), "cpu_amx_bf16");
  }
}

// Bytes multiply fast without them, and a column-major A has to be packed.
TEST(Planner, TileRegistersGetBytesThatFillThem) {
  const auto kernel_of = [](const GemmShape& shape, Major a_major) {
    Problem problem = dense_problem(shape, gemm_types_for(ElementType::i8));
    problem.a.major = a_major;
    return make_plan(problem, machine_by_name("sapphire-rapids"), {}).kernel;
  };
  for (const GemmShape& shape :
       {GemmShape{100, 100, 8}, {40, 40, 24}, {16, 500, 32}, {500, 12, 20}, {1000, 1000, 5}}) {
    EXPECT_EQ(kernel_of(shape, Major::row), "cpu_amx_i8");
  }
  for (const GemmShape& shape :
       {GemmShape{100, 100, 7}, {40, 40, 23}, {30, 30, 63}, {16, 500, 31}, {1000, 1000, 4}}) {
    EXPECT_EQ(kernel_of(shape, Major::row), "cpu_avx512vnni_i8");
  }
  EXPECT_EQ(kernel_of({100, 100, 15}, Major::column), "cpu_avx512vnni_i8");
  EXPECT_EQ(kernel_of({100, 100, 16}, Major::column), "cpu_amx_i8");
}

TileConfig tile_for_workers(int workers, const Machine& machine, const GemmShape& shape,
                            ElementType type) {
  PlanOptions options;
  options.workers = workers;
  return make_plan(dense_problem(shape, gemm_types_for(type)), machine, options).tile;
}

// B comes in blocks that stay in L2, but for a very large C whose rows drive each other out of the
// caches, and which is written once.
TEST(Planner, TileRegistersTakeBNear) {
  const Machine machine = machine_by_name("sapphire-rapids");
  const auto tile_of = [&](const GemmShape& shape, ElementType type) {
    return tile_for_workers(1, machine, shape, type);
  };
  for (const ElementType type : {ElementType::bf16, ElementType::i8}) {
    for (const std::int64_t rows : {128, 512, 1024, 2048, 3000}) {
      const TileConfig tile = tile_of({rows, 4096, 4096}, type);
      EXPECT_LE(std::int64_t{tile.block_n} * tile.block_k * size_of(type),
                machine.scratchpad_bytes * 2 / 3);
      EXPECT_GE(tile.block_n, 512);
      EXPECT_GE(tile.block_k, 512);
    }
    EXPECT_EQ(tile_of({4096, 4096, 4096}, type).block_k, 4096);
    EXPECT_LT(tile_of({4096, 4100, 4096}, type).block_k, 4096);
    EXPECT_EQ(tile_of({600, 600, 600}, type).block_n, 608);
    EXPECT_EQ(tile_of({64, 4096, 4096}, type).block_n, 1024);
    EXPECT_EQ(tile_of({64, 4096, 4096}, type).block_k * size_of(type), 512);
    EXPECT_EQ(tile_of({64, 1500, 5000}, type).block_n, 1504);
  }
}

// Where all workers' parts of C pass through the last cache, that happens less often.
TEST(Planner, ManyWorkersWithTileRegistersTakeDeepBlocks) {
  const Machine machine = machine_by_name("sapphire-rapids");
  const auto depth_of = [&](int workers, const GemmShape& shape, ElementType type) {
    return tile_for_workers(workers, machine, shape, type).block_k;
  };
  EXPECT_EQ(depth_of(8, {3000, 3000, 3000}, ElementType::bf16), 608);
  EXPECT_EQ(depth_of(16, {3000, 3000, 3000}, ElementType::bf16), 1024);
  EXPECT_EQ(depth_of(16, {3000, 3000, 3000}, ElementType::i8), 1536);
  EXPECT_EQ(depth_of(16, {3000, 3000, 3000}, ElementType::f16), 256);
  EXPECT_EQ(depth_of(8, {4096, 4096, 4096}, ElementType::bf16), 4096);
  EXPECT_EQ(depth_of(16, {4096, 4096, 4096}, ElementType::bf16), 1024);
  EXPECT_EQ(depth_of(16, {8192, 4096, 2048}, ElementType::bf16), 2048);
  // One block would be no block that stays near; and these parts of C stay in L2.
  EXPECT_EQ(depth_of(16, {3000, 3000, 700}, ElementType::bf16), 352);
  EXPECT_EQ(depth_of(16, {2048, 2048, 2048}, ElementType::bf16), 512);
}

TEST(Planner, ColumnsBesideTwelveRowsAreDealtWithMuchSecondLevelCache) {
  const auto tile_of = [](std::string_view machine, const GemmShape& shape) {
    return tile_for_workers(2, machine_by_name(machine), shape, ElementType::f32);
  };
  EXPECT_GE(tile_of("sapphire-rapids-avx512", {12, 500, 500}).block_k, 500);
  EXPECT_LT(tile_of("sapphire-rapids-avx512", {12, 500, 500}).block_n, 500);
  EXPECT_LT(tile_of("sapphire-rapids-avx512", {13, 500, 500}).block_k, 500);
}

TEST(Planner, PanelsOfF32AreDeepWhereAllComesFromMemory) {
  const auto depth_of = [](std::string_view machine, int workers, const GemmShape& shape,
                           ElementType type = ElementType::f32) {
    return tile_for_workers(workers, machine_by_name(machine), shape, type).block_k;
  };
  constexpr std::string_view kLarge = "sapphire-rapids-avx512";
  EXPECT_EQ(depth_of(kLarge, 1, {4096, 4096, 4096}), 2048);
  EXPECT_EQ(depth_of(kLarge, 8, {4096, 4096, 4096}), 2048);
  EXPECT_EQ(depth_of(kLarge, 16, {4096, 4096, 4096}), 1024);
  EXPECT_EQ(depth_of(kLarge, 1, {1500, 1500, 1500}), 752);
  EXPECT_EQ(depth_of(kLarge, 1, {4096, 4096, 4096}, ElementType::f64), 592);
  EXPECT_EQ(depth_of("zen5", 1, {4096, 4096, 4096}), 1024);
}

// As deep as leaves all rows in a piece of A, a quarter of L2; 8-bit integers also in rows.
TEST(Planner, ColumnsAlongKArePackedDeep) {
  PlanOptions options;
  options.workers = 1;
  const auto depth_of = [&](const Machine& machine, ElementType type, std::int64_t rows,
                            Major b_major, std::int64_t k = 2048) {
    Problem problem = dense_problem({rows, 2048, k}, gemm_types_for(type));
    problem.b.major = b_major;
    const Plan plan = make_plan(problem, machine, options);
    EXPECT_FALSE(plan.tile.b_in_place) << name_of(type) << " " << rows;
    return plan.tile.block_k;
  };
  for (const std::string_view name : {"zen4", "sapphire-rapids-avx512"}) {
    const Machine machine = machine_by_name(name);
    for (const ElementType type : {ElementType::f32, ElementType::f64}) {
      for (const std::int64_t rows : {48, 96, 180}) {
        const std::int64_t depth = depth_of(machine, type, rows, Major::column);
        EXPECT_LE(4 * rows * depth * size_of(type), machine.scratchpad_bytes) << name << rows;
        EXPECT_GE(4 * rows * depth * size_of(type),
                  std::min<std::int64_t>(machine.scratchpad_bytes / 2, rows * 4 * 3000))
            << name << rows;
      }
    }
  }
  const Machine zen4 = machine_by_name("zen4");
  EXPECT_EQ(depth_of(zen4, ElementType::i8, 48, Major::column), 2048);
  // Nor does rounding up leave rows to a second piece.
  EXPECT_LE(72 * depth_of(zen4, ElementType::f32, 64, Major::column, 3600) * 4,
            zen4.scratchpad_bytes / 4);
  EXPECT_EQ(depth_of(zen4, ElementType::i8, 64, Major::row), 1024);
  EXPECT_EQ(depth_of(machine_by_name("zen5"), ElementType::i8, 64, Major::row), 512);
}

// A few workers with more than a few strips of f32 have panels of such columns as deep as others.
TEST(Planner, FewWorkersPackColumnsAlongKNoDeeper) {
  const auto depth_of = [](ElementType type, std::int64_t rows, int workers) {
    const Machine machine = with_workers(machine_by_name("sapphire-rapids-avx512"), workers);
    Problem problem = dense_problem({rows, 2048, 768}, gemm_types_for(type));
    problem.b.major = Major::column;
    return make_plan(problem, machine).tile.block_k;
  };
  for (const int workers : {2, 4}) {
    EXPECT_EQ(depth_of(ElementType::f32, 128, workers), 256) << workers;
    EXPECT_EQ(depth_of(ElementType::f32, 64, workers), 768) << workers;
    EXPECT_GT(depth_of(ElementType::f64, 128, workers), 192) << workers;
  }
  EXPECT_EQ(depth_of(ElementType::f32, 128, 1), 768);
  EXPECT_EQ(depth_of(ElementType::f32, 128, 8), 768);
}

// Of a product with few columns, or rows that are columns to the kernel, each row is read once.
TEST(Planner, TileRegistersReadRowsOnceBesideFewColumns) {
  const Machine machine = machine_by_name("sapphire-rapids");
  PlanOptions alone;
  alone.workers = 1;
  const auto tile_of = [&](const GemmShape& shape, ElementType type, Major a, Major b) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    problem.a.major = a;
    problem.b.major = b;
    return make_plan(problem, machine, alone).tile;
  };
  const auto depth_of = [&](const GemmShape& shape, ElementType type, Major a, Major b) {
    return tile_of(shape, type, a, b).block_k;
  };
  for (const ElementType type : {ElementType::bf16, ElementType::i8}) {
    EXPECT_EQ(depth_of({4096, 16, 4096}, type, Major::row, Major::row), 4096);
    EXPECT_EQ(depth_of({4096, 64, 4096}, type, Major::row, Major::column), 4096);
    EXPECT_EQ(depth_of({16, 4096, 4096}, type, Major::row, Major::column), 4096);
    EXPECT_LT(depth_of({16, 4096, 4096}, type, Major::row, Major::row), 4096);
    EXPECT_LT(depth_of({4096, 16, 4096}, type, Major::column, Major::row), 4096);
    EXPECT_LT(depth_of({4096, 200, 4096}, type, Major::row, Major::row), 4096);
    EXPECT_EQ(depth_of({200, 15, 2000}, type, Major::row, Major::row), 2000);
    EXPECT_LT(depth_of({200, 17, 2000}, type, Major::row, Major::row), 2000);
    EXPECT_LT(depth_of({200, 15, 10000}, type, Major::row, Major::row), 10000);
    EXPECT_LT(depth_of({4096, 64, 40960}, type, Major::row, Major::row), 40960);  // beyond L2
  }
  // Of what stays near, beside some more where k is shorter.
  EXPECT_LT(depth_of({200, 16, 4096}, ElementType::bf16, Major::row, Major::row), 4096);
  EXPECT_EQ(depth_of({200, 16, 4096}, ElementType::i8, Major::row, Major::row), 4096);
  EXPECT_EQ(depth_of({200, 40, 800}, ElementType::bf16, Major::row, Major::row), 800);
  EXPECT_LT(depth_of({200, 49, 800}, ElementType::bf16, Major::row, Major::row), 800);
  EXPECT_LT(depth_of({1300, 40, 900}, ElementType::bf16, Major::row, Major::row), 900);
  EXPECT_LT(depth_of({200, 40, 1200}, ElementType::bf16, Major::row, Major::row), 1200);
  // More columns take several tiles.
  const TileConfig tile = tile_of({4096, 128, 4096}, ElementType::bf16, Major::row, Major::row);
  EXPECT_EQ(tile.block_n, 64);
  EXPECT_EQ(tile.block_k, 4096);
  EXPECT_EQ(tile_of({128, 4096, 4096}, ElementType::bf16, Major::row, Major::column).block_m, 64);
  EXPECT_GT(tile_of({4096, 128, 1000}, ElementType::bf16, Major::row, Major::row).block_n, 64);
  EXPECT_LT(depth_of({4096, 16, 4096}, ElementType::f16, Major::row, Major::row), 4096);
}

// Few rows that have B packed by pieces are not dealt where columns or k can be: each worker would
// pack all of it. Others are.
TEST(Planner, FewRowsOfPiecesAreOneWorkers) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 2);
  PlanOptions all;
  all.keep_others = true;
  const auto cuts_rows = [&](const GemmShape& shape, ElementType type, int alignment = 64) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    problem.c.alignment = alignment;
    const Plan plan = make_plan(problem, machine, all);
    if (plan.tile.block_m < shape.m) return true;
    return std::ranges::any_of(plan.others, [&](const Candidate& candidate) {
      return candidate.cost && candidate.kernel == plan.kernel && candidate.tile.block_m < shape.m;
    });
  };
  for (const GemmShape& shape : {GemmShape{64, 100, 8000}, {64, 400, 1000}, {64, 320, 300}}) {
    EXPECT_FALSE(cuts_rows(shape, ElementType::bf16)) << shape.n << "×" << shape.k;
    EXPECT_TRUE(cuts_rows(shape, ElementType::i8)) << shape.n << "×" << shape.k;
    EXPECT_TRUE(cuts_rows(shape, ElementType::f32)) << shape.n << "×" << shape.k;
  }
  // Where parts of columns would share lines of C, beside a short k.
  EXPECT_TRUE(cuts_rows({64, 300, 300}, ElementType::bf16, 16));
}

TEST(Planner, WorkersWithTileRegistersShareFewRowsOfC) {
  const Machine machine = machine_by_name("sapphire-rapids");
  const auto tile_of = [&](const GemmShape& shape, ElementType type) {
    return tile_for_workers(2, machine, shape, type);
  };
  for (const ElementType type : {ElementType::bf16, ElementType::i8}) {
    for (const GemmShape& shape : {GemmShape{1000, 1000, 100}, {512, 512, 512}, {768, 768, 768}}) {
      EXPECT_GE(tile_of(shape, type).block_n, shape.n) << shape.m;
      EXPECT_LT(tile_of(shape, type).block_m, shape.m);
    }
    EXPECT_LT(tile_of({256, 256, 256}, type).block_n, 256);
    // Parts of these would meet in cache lines.
    EXPECT_GE(tile_of({300, 300, 300}, type).block_n, 300);
  }
}

// Workers that are dealt few columns of B have them in their L2 from call to call: 13 rows and more
// pack them in passing, and do not read them again where they lie for each strip; up to twelve walk
// them by wide tiles.
TEST(Planner, ManyWorkersKeepTheFewColumnsOfBThatTheyAreDealt) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 16);
  const auto plan_of = [&](ElementType type, const GemmShape& shape) {
    return make_plan(dense_problem(shape, gemm_types_for(type)), machine);
  };
  const auto passes = [&](ElementType type, const GemmShape& shape) {
    const Plan plan = plan_of(type, shape);
    return packs_in_passing(plan.tile, find_kernel(plan.kernel), plan.problem, shape, machine);
  };
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    for (const GemmShape& shape :
         {GemmShape{24, 1024, 2048}, GemmShape{32, 1024, 2048}, GemmShape{48, 1024, 2048},
          GemmShape{32, 2000, 1000}, GemmShape{24, 500, 3000}, GemmShape{13, 1000, 2000},
          GemmShape{16, 640, 2500}}) {
      EXPECT_TRUE(passes(type, shape)) << shape.m << "×" << shape.n;
      EXPECT_GE(plan_of(type, shape).tile.block_m, shape.m);
    }
    for (const GemmShape& shape :
         {GemmShape{9, 1000, 1000}, GemmShape{12, 1000, 1200}, GemmShape{8, 1000, 1000}}) {
      const Plan plan = plan_of(type, shape);
      EXPECT_FALSE(passes(type, shape)) << shape.m << "×" << shape.n;
      EXPECT_TRUE(plan.tile.b_in_place);
      EXPECT_EQ(plan.decomposition.tiles, 16);
    }
  }
  // Too many for it.
  EXPECT_FALSE(passes(ElementType::f32, {16, 4096, 4096}));
  EXPECT_TRUE(plan_of(ElementType::f32, {16, 4096, 4096}).tile.b_in_place);
}

// What a worker takes of each row of B brings the lines behind it to its L2. Where columns of all k
// would leave it so, k is divided as well, or alone, among all workers.
TEST(Planner, FewRowsDivideABThatStaysInPartsOfColumnsAndOfK) {
  const auto plan_of = [](const GemmShape& shape, int workers, PlanOptions options = {}) {
    const Machine machine = with_workers(machine_by_name("sapphire-rapids"), workers);
    const Plan plan = make_plan(dense_problem(shape), machine, options);
    EXPECT_TRUE(plan.tile.b_in_place) << shape.m << "×" << shape.n;
    return plan;
  };
  for (const GemmShape& shape : {GemmShape{8, 443, 2585}, {5, 640, 242}, {8, 477, 2090}}) {
    const Plan plan = plan_of(shape, 16);
    EXPECT_EQ(plan.schedule.kind, ScheduleKind::data_parallel) << shape.n;
    EXPECT_GE(plan.decomposition.tiles, 8) << shape.n;
  }
  EXPECT_GE(plan_of({2, 351, 3241}, 16).tile.block_n, 96);
  EXPECT_GE(plan_of({10, 793, 3128}, 16).tile.block_n, 128);
  const Plan by_k = plan_of({6, 1792, 1638}, 8);
  EXPECT_GE(by_k.tile.block_n, 896);
  EXPECT_EQ(by_k.schedule.workers, 8);
  EXPECT_EQ(plan_of({8, 1131, 1023}, 4).schedule.workers, 4);
  // Where k may not be divided, columns are.
  PlanOptions by_columns;
  by_columns.schedule = ScheduleKind::data_parallel;
  EXPECT_GE(plan_of({10, 793, 3128}, 16, by_columns).decomposition.tiles, 12);
  Problem groups = dense_problem({4, 1000, 1000});
  groups.groups.assign(4, {4, 1000, 1000});
  const Plan grouped = make_plan(groups, with_workers(machine_by_name("sapphire-rapids"), 16));
  EXPECT_GE(grouped.decomposition.tiles, 16);
}

// But of columns too few for all of them, or of a group's products, which drive each other out.
TEST(Planner, WorkersDealRowsWhereColumnsAreTooFew) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 16);
  PlanOptions options;
  options.schedule = ScheduleKind::data_parallel;
  EXPECT_EQ(make_plan(dense_problem({48, 256, 2048}), machine, options).decomposition.tiles, 16);
  for (const std::int64_t rows : {24, 30}) {
    Problem problem = dense_problem({rows, 768, 2048});
    problem.groups.assign(8, problem.groups.front());
    const Plan plan = make_plan(problem, machine);
    EXPECT_FALSE(packs_in_passing(plan.tile, find_kernel(plan.kernel), problem,
                                  problem.groups.front(), machine));
  }
}

// Sixteen parts of ten strips of rows are ten, not eight of which five have something.
TEST(Planner, StripsAreTilesWhereThereAreFewerThanWorkers) {
  PlanOptions options;
  options.workers = 16;
  const auto plan_of = [&](std::string_view machine, ElementType type, const GemmShape& shape) {
    return make_plan(dense_problem(shape, gemm_types_for(type)), machine_by_name(machine), options);
  };
  const Plan rows = plan_of("sapphire-rapids", ElementType::i8, {310, 439, 98});
  EXPECT_EQ(rows.tile.block_m, 32);
  EXPECT_EQ(rows.decomposition.tiles, 10);
  EXPECT_EQ(plan_of("zen4", ElementType::f32, {100, 70, 400}).decomposition.tiles, 9);
}

TEST(Planner, OneRowIsSharedByAllCores) {
  const Plan plan = make_plan(dense_problem({1, 4096, 4096}), machine_by_name("zen5"));
  EXPECT_EQ(plan.schedule.workers, 8);
  EXPECT_TRUE(plan.tile.b_in_place);
}

// Where each one's part of B stays in its L2 and is worth sending for; in parts of k or of rows
// elsewhere.
TEST(Planner, FewRowsDealColumnsThatStayWithTheirWorkers) {
  const Machine machine = machine_by_name("sapphire-rapids");
  const auto deals = [&](ElementType type, const GemmShape& shape, int workers) {
    PlanOptions options;
    options.workers = workers;
    const Plan plan = make_plan(dense_problem(shape, gemm_types_for(type)), machine, options);
    return plan.schedule.kind == ScheduleKind::data_parallel &&
           plan.decomposition.tiles == workers && plan.tile.block_k >= shape.k;
  };
  for (const ElementType type : {ElementType::f16, ElementType::f32, ElementType::f64}) {
    EXPECT_TRUE(deals(type, {4, 1000, 800}, 8)) << name_of(type);
    EXPECT_TRUE(deals(type, {1, 1000, 1000}, 16)) << name_of(type);
    EXPECT_FALSE(deals(type, {4, 4096, 4096}, 4)) << name_of(type);
  }
  EXPECT_FALSE(deals(ElementType::f32, {4, 1000, 1000}, 2));
}

// A large C of a short k: along its rows, from eight of k on from panels, and of f32 that L2 holds
// by register tiles beside rows of B that begin at lines; and few columns beside a large A, where
// they nearly fill a panel. Others than processors with 2 MB of L2 were not measured.
TEST(Planner, PanelsWriteALargeCAndPackAFullPanelsA) {
  const auto tile_of = [](std::string_view machine, ElementType type, const GemmShape& shape) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    const std::int64_t row_bytes = shape.n * size_of(type);
    problem.b.alignment = static_cast<int>(std::min<std::int64_t>(128, row_bytes & -row_bytes));
    return make_plan(problem, with_workers(machine_by_name(machine), 1)).tile;
  };
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    const std::int64_t cols = 8 / size_of(type) * 16 - 2;  // of a panel of 32 or 16
    for (const GemmShape& shape :
         {GemmShape{1000, 1003, 8}, GemmShape{1000, 1024, 30}, GemmShape{1220, cols, 1245}}) {
      const TileConfig packed = tile_of("sapphire-rapids", type, shape);
      EXPECT_FALSE(packed.a_in_place || packed.b_in_place) << shape.n << "×" << shape.k;
      const TileConfig other = tile_of("zen5", type, shape);
      EXPECT_TRUE(other.a_in_place || other.b_in_place) << shape.n << "×" << shape.k;
    }
    for (const GemmShape& shape : {GemmShape{1000, 1003, 7}, GemmShape{1220, cols / 2 + 2, 1245},
                                   GemmShape{1220, cols + 12, 1245}, GemmShape{150, cols, 1245}}) {
      const TileConfig in_place = tile_of("sapphire-rapids", type, shape);
      EXPECT_TRUE(in_place.a_in_place || in_place.b_in_place) << shape.n << "×" << shape.k;
    }
  }
  // Not measured: many workers, groups, longer rows of A or of B.
  const auto packs = [](const GemmShape& shape, int workers, std::size_t groups) {
    Problem problem = dense_problem(shape);
    problem.groups.assign(groups, shape);
    const Plan plan = make_plan(problem, with_workers(machine_by_name("sapphire-rapids"), workers));
    return !plan.tile.a_in_place && !plan.tile.b_in_place;
  };
  EXPECT_TRUE(packs({1220, 31, 1245}, 2, 1));
  EXPECT_FALSE(packs({1220, 31, 1245}, 16, 1));
  EXPECT_FALSE(packs({1220, 31, 1245}, 2, 3));
  EXPECT_FALSE(packs({1220, 31, 9000}, 1, 1));
  EXPECT_FALSE(packs({100, 20001, 16}, 1, 1));
  EXPECT_TRUE(tile_of("sapphire-rapids", ElementType::f32, {600, 800, 16}).b_in_place);
  EXPECT_FALSE(tile_of("sapphire-rapids", ElementType::f32, {600, 803, 16}).b_in_place);
}

// Experts without tokens have no work.
TEST(Planner, EmptyProductsAreNoWork) {
  Problem problem = dense_problem({1, 128, 128}, gemm_types_for(ElementType::f32));
  problem.groups.resize(2, {1, 128, 128});
  problem.groups.resize(500, {0, 128, 128});
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 2);
  EXPECT_EQ(make_plan(problem, machine).schedule.workers, 1);
}

// Reading B is work, where no L2 holds it; a single row of C leaves little other.
TEST(Planner, ReadingALargeOperandIsWorthWakingFor) {
  const Machine machine = machine_by_name("sapphire-rapids");
  const auto workers = [&](ElementType type, const GemmShape& shape) {
    return make_plan(dense_problem(shape, gemm_types_for(type)), machine).schedule.workers;
  };
  EXPECT_GE(workers(ElementType::f32, {1, 1000, 1000}), 16);
  EXPECT_GE(workers(ElementType::f64, {1, 700, 700}), 8);
  EXPECT_GE(workers(ElementType::f32, {1000, 1, 1000}), 16);
  EXPECT_EQ(workers(ElementType::f32, {1, 300, 300}), 1);
  const Machine two = with_workers(machine, 2);
  // Of what L2 holds, from 625 KB on, for two.
  for (const auto& [shape, is_worth_it] : {std::pair{GemmShape{1, 400, 400}, true},
                                           {{400, 1, 400}, true},
                                           {{1, 400, 390}, false},
                                           {{390, 1, 400}, false}}) {
    for (const auto& [type, columns] : {std::pair{ElementType::f32, 1}, {ElementType::f64, 2}}) {
      const GemmShape sizes{shape.m, shape.n, shape.k / columns};
      const Plan plan = make_plan(dense_problem(sizes, gemm_types_for(type)), two);
      EXPECT_EQ(plan.schedule.workers > 1, is_worth_it) << sizes.m << "×" << sizes.k;
    }
  }
}

TEST(Planner, AColumnMajorProductIsPlannedFromTheOtherSide) {
  const Machine machine = machine_by_name("zen5");
  Problem problem = dense_problem({8, 3000, 2000});
  const Plan rows = make_plan(problem, machine);
  problem.groups = {{3000, 8, 2000}};
  std::swap(problem.a, problem.b);
  for (OperandLayout* layout : {&problem.a, &problem.b, &problem.c}) layout->major = Major::column;
  const Plan columns = make_plan(problem, machine);
  EXPECT_EQ(columns.tile.block_m, rows.tile.block_n);
  EXPECT_EQ(columns.tile.block_n, rows.tile.block_m);
  EXPECT_TRUE(rows.tile.b_in_place);
  EXPECT_TRUE(columns.tile.a_in_place);
  EXPECT_DOUBLE_EQ(columns.cost.seconds, rows.cost.seconds);
}

// Many register tiles read B, whose rows start on cache lines or do not.
TEST(Planner, AnUnalignedBIsPackedSooner) {
  const Machine machine = machine_by_name("zen5");
  Problem problem =
      dense_problem({400, 24, 30}, {ElementType::f32, ElementType::f32, ElementType::f32});
  PlanOptions options;
  options.workers = 1;
  problem.b.alignment = 64;
  EXPECT_TRUE(make_plan(problem, machine, options).tile.b_in_place);
  problem.b.alignment = 32;
  EXPECT_FALSE(make_plan(problem, machine, options).tile.b_in_place);
}

TEST(Planner, GroupsOfSingleRowsReadWholeRowsOfB) {
  const Machine machine = with_workers(machine_by_name("zen5"), 1);
  Problem problem = dense_problem({1, 2048, 768});
  problem.groups.assign(40, {1, 2048, 768});
  EXPECT_EQ(make_plan(problem, machine).tile.block_n, 2048);
  problem.groups.assign(40, {3, 2048, 768});
  EXPECT_EQ(make_plan(problem, machine).tile.block_n, 1024);
}

TEST(Planner, AThinProductHasWorkersForItsC) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 16);
  const auto workers_of = [&](const GemmShape& shape) {
    return make_plan(dense_problem(shape, gemm_types_for(ElementType::f32)), machine)
        .schedule.workers;
  };
  EXPECT_GT(workers_of({478, 134, 2}), 1);  // most of its time is writing C
  EXPECT_EQ(workers_of({4, 44, 1684}), 1);  // read from L2 before all have been started
  EXPECT_EQ(workers_of({7, 52, 667}), 1);   // too little to start threads for
  EXPECT_EQ(workers_of({1000, 1000, 1000}), 16);
}

// Small products, of bytes also middling ones, are packed once for all of k where that leaves room.
TEST(Planner, SmallProductsGoOverKOnce) {
  const Machine machine = with_workers(machine_by_name("zen4"), 1);
  const auto depth_of = [&](ElementType type, const GemmShape& shape) {
    return make_plan(dense_problem(shape, gemm_types_for(type)), machine).tile.block_k;
  };
  for (const ElementType type : {ElementType::i8, ElementType::bf16, ElementType::f16}) {
    EXPECT_GE(depth_of(type, {4, 60, 1000}), 1000);
    EXPECT_GE(depth_of(type, {3, 9, 752}), 752);
  }
  EXPECT_GE(depth_of(ElementType::i8, {20, 30, 1000}), 1000);
  EXPECT_LT(depth_of(ElementType::i8, {150, 30, 2000}), 2000);  // larger
  EXPECT_LT(depth_of(ElementType::i8, {9, 9, 20000}), 20000);   // longer
}

// Blocks of few columns read in place leave room for the next one in the second-level cache where
// they do not stay there whole.
TEST(Planner, FewColumnsInPlaceLeaveRoomForTheNextBlock) {
  const Machine machine = with_workers(machine_by_name("avx2-laptop"), 1);
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    const auto depth_of = [&](const GemmShape& shape) {
      const Plan plan = make_plan(dense_problem(shape, gemm_types_for(type)), machine);
      EXPECT_TRUE(plan.tile.b_in_place);
      return plan.tile.block_k;
    };
    const std::int64_t row_bytes = std::int64_t{16} * size_of(type);
    const auto staying = static_cast<int>(machine.scratchpad_bytes / 2 / row_bytes);
    EXPECT_EQ(depth_of({300, 16, staying}), staying);
    const int of_long = depth_of({300, 16, 8 * staying});
    EXPECT_LE(3 * of_long * row_bytes, machine.scratchpad_bytes);
    EXPECT_GE(5 * of_long * row_bytes, machine.scratchpad_bytes);
  }
}

// A column-major A is packed for several panels of B, where it leaves the nearest cache.
TEST(Planner, AnAAcrossIsPackedBesidePanels) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  const auto is_in_place = [&](const GemmShape& shape, Major a) {
    Problem problem = dense_problem(shape, gemm_types_for(ElementType::f32));
    problem.a.major = a;
    problem.b.major = Major::column;
    return make_plan(problem, machine).tile.a_in_place;
  };
  EXPECT_FALSE(is_in_place({300, 300, 100}, Major::column));
  EXPECT_TRUE(is_in_place({300, 300, 100}, Major::row));
  EXPECT_TRUE(is_in_place({300, 30, 100}, Major::column));  // one panel
  EXPECT_TRUE(is_in_place({50, 300, 100}, Major::column));  // near
}

}  // namespace
}  // namespace tessera
