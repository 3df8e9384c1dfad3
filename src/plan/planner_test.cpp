// The planner: the worked decompositions, the reasons of rejections and the options. What must hold
// for any problem on any machine is in planner_property_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/catalogue.hpp"
#include "core/tile_config.hpp"
#include "plan/explain.hpp"
#include "plan/intensity.hpp"
#include "plan/scratchpad.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"
#include "support/worked_examples.hpp"
#include "tessera/error.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

constexpr TileConfig kWorkedTile = {.block_m = 128, .block_n = 128, .block_k = 32};

std::string error_of(const Problem& problem, const Machine& machine, const PlanOptions& options) {
  try {
    make_plan(problem, machine, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

PlanOptions worked(ScheduleKind kind, int workers, bool two_tile = true) {
  PlanOptions options;
  options.schedule = kind;
  options.workers = workers;
  options.tile = kWorkedTile;
  options.two_tile = two_tile;
  return options;
}

class WorkedExamples : public testing::TestWithParam<test::HybridExample> {};

TEST_P(WorkedExamples, DecomposeAsPublished) {
  const test::HybridExample& example = GetParam();
  for (const char* machine : {"zen4", "gpu-84sm", "h200"}) {
    const Plan plan = make_plan(
        dense_problem({1536, 1792, example.k}, gemm_types_for(ElementType::bf16)),
        machine_by_name(machine), worked(ScheduleKind::hybrid, example.workers, example.two_tile));
    const Decomposition& d = plan.decomposition;
    EXPECT_EQ(d.tiles_m, 12);
    EXPECT_EQ(d.tiles_n, 14);
    EXPECT_EQ(d.tiles, 168);
    EXPECT_EQ(d.stream_k_tiles, example.stream_tiles);
    EXPECT_EQ(d.data_parallel_tiles, example.data_parallel_tiles);
    EXPECT_EQ(d.iterations_per_tile, example.iterations_per_tile);
    EXPECT_EQ(d.stream_k_iterations, example.stream_iterations);
    EXPECT_EQ(d.iterations_per_worker, example.per_worker);
    EXPECT_EQ(d.leftover_iterations, example.left_over);
  }
}

INSTANTIATE_TEST_SUITE_P(Hybrid, WorkedExamples, testing::ValuesIn(test::kHybridExamples));

TEST(Planner, GroupedExampleGoesRoundRobinAcrossTheBoundary) {
  Problem problem = dense_problem({192, 320, 128});
  problem.groups.push_back({256, 448, 192});
  PlanOptions options = worked(ScheduleKind::data_parallel, 6);
  options.tile = TileConfig{.block_m = 64, .block_n = 64, .block_k = 64};
  const Plan plan = make_plan(problem, machine_by_name("zen4"), options);
  EXPECT_EQ(plan.decomposition.tiles, 15 + 28);
  EXPECT_EQ(plan.decomposition.data_parallel_tiles, 43);
  EXPECT_EQ(plan.decomposition.stream_k_tiles, 0);

  const HostIterationSpace space(problem.groups, plan.tile);
  const Partition partition = make_partition(plan.schedule, space.space());
  for (int worker = 0; worker < 6; ++worker) {
    std::int64_t tile = worker;
    for (const WorkItem& item : items_of(space.space(), partition, worker)) {
      EXPECT_EQ(item.group, tile < 15 ? 0 : 1);
      EXPECT_EQ(item.k_end, tile < 15 ? 2 : 3);
      tile += 6;
    }
    EXPECT_GE(tile, 43);
  }
}

TEST(Planner, DeepBlocksFailTheScratchpadWithBothNumbers) {
  const Problem problem = dense_problem({4096, 4096, 4096});
  TileConfig tile{.block_m = 128, .block_n = 128, .block_k = 32};
  EXPECT_EQ(
      scratchpad_use(tile, problem.types, epilogue_bytes(nullptr, tile, problem.types)).total(),
      96 * 1024);
  tile.block_k = 64;
  EXPECT_EQ(
      scratchpad_use(tile, problem.types, epilogue_bytes(nullptr, tile, problem.types)).total(),
      128 * 1024);
  PlanOptions options;
  options.tile = tile;
  const std::string message = error_of(problem, machine_by_name("gpu-84sm"), options);
  EXPECT_NE(message.find("wants 128 KB"), std::string::npos) << message;
  EXPECT_NE(message.find("the machine has 99 KB"), std::string::npos) << message;
  options.tile->block_k = 32;
  const Plan plan = make_plan(problem, machine_by_name("gpu-84sm"), options);
  EXPECT_EQ(plan.kernel, "analytic (not compiled)");
}

TEST(Planner, IntensityDependsOnTheBlocksSidesAlone) {
  const GemmTypes types = gemm_types_for(ElementType::bf16);
  EXPECT_DOUBLE_EQ(flops_per_byte(kWorkedTile, types), 64);
  TileConfig deeper = kWorkedTile;
  deeper.block_k = 64;
  EXPECT_DOUBLE_EQ(flops_per_byte(deeper, types), 64);
  EXPECT_DOUBLE_EQ(flops_per_byte(TileConfig{.block_m = 1, .block_n = 1, .block_k = 1}, types),
                   0.5);
}

TEST(Planner, FewTilesWithLongKAreSplit) {
  const Plan plan = make_plan(dense_problem({128, 128, 131072}, gemm_types_for(ElementType::bf16)),
                              machine_by_name("h200"));
  EXPECT_NE(plan.schedule.kind, ScheduleKind::data_parallel);
  // A worker is a cluster of blocks.
  EXPECT_GE(plan.schedule.workers * plan.tile.cluster_m * plan.tile.cluster_n, 64);
}

TEST(Planner, FullWavesStayWhole) {
  PlanOptions options;
  options.tile = TileConfig{.block_m = 128, .block_n = 256, .block_k = 64};
  const Plan plan =
      make_plan(dense_problem({128 * 12, 256 * 22, 4096}, gemm_types_for(ElementType::bf16)),
                machine_by_name("h200"), options);
  EXPECT_EQ(plan.kernel, "sm90_bf16_128x256x64");
  EXPECT_EQ(plan.schedule.kind, ScheduleKind::data_parallel);
}

TEST(Planner, TilesInTurnsHideAllButTheLastOnesEnd) {
  const Machine machine = machine_by_name("h200");
  const auto seconds = [&](std::int64_t tiles, const char* kernel) {
    PlanOptions options;
    options.schedule = ScheduleKind::data_parallel;
    options.workers = 1;
    options.kernel = kernel;
    return make_plan(dense_problem({128 * tiles, 128, 512}, gemm_types_for(ElementType::bf16)),
                     machine, options)
        .cost.seconds;
  };
  constexpr const char* kShared = "sm90_bf16_128x128x64";
  constexpr const char* kTurns = "sm90_bf16_128x128x64_turns";
  EXPECT_GE(seconds(1, kTurns) * (1 + 1e-9), seconds(1, kShared));
  EXPECT_LT(seconds(8, kTurns), seconds(8, kShared));
}

// The search leaves out what cannot win by a bound that has to know of the overlap.
TEST(Planner, TilesInTurnsAreFoundWithoutTheOthersToo) {
  const Machine machine = machine_by_name("h200");
  for (const auto& [m, n, k] : {std::array{5760, 5376, 1024}, std::array{5248, 2304, 512}}) {
    const Problem problem = dense_problem({m, n, k}, gemm_types_for(ElementType::bf16));
    PlanOptions options;
    const Plan alone = make_plan(problem, machine, options);
    options.keep_others = true;
    EXPECT_EQ(alone.kernel, make_plan(problem, machine, options).kernel);
    EXPECT_TRUE(alone.kernel.find("turns") != std::string::npos) << alone.kernel;
  }
}

// What the rules for layers take beside the model's choices is not the model's, but whoever's that
// names it.
TEST(Planner, TilesForLayersAreNotTheModels) {
  constexpr const char* kForLayers = "sm90_bf16_160x128x64_turns_swapped_1x2";
  const Machine machine = machine_by_name("h200");
  const Problem problem = dense_problem({8192, 7168, 2048}, gemm_types_for(ElementType::bf16));
  PlanOptions options;
  options.keep_others = true;
  const Plan plan = make_plan(problem, machine, options);
  const auto row = std::ranges::find(plan.others, kForLayers, &Candidate::kernel);
  ASSERT_NE(row, plan.others.end());
  EXPECT_NE(row->rejection.find("for layers of experts"), std::string::npos) << row->rejection;
  options.kernel = kForLayers;
  EXPECT_EQ(make_plan(problem, machine, options).kernel, kForLayers);
}

// A layer of experts by rules, what else shares nothing by the model: dealt round robin, lone
// blocks of several products take longer than those of one.
TEST(Planner, SeveralProductsAsALayerOrByTheModel) {
  const Machine machine = machine_by_name("h200");
  Problem problem = dense_problem({1024, 7168, 2048}, gemm_types_for(ElementType::bf16));
  problem.groups.resize(8, problem.groups.front());
  const Plan layer = make_plan(problem, machine);
  EXPECT_EQ(layer.kernel, "sm90_bf16_256x128x64_swapped_1x2");
  EXPECT_EQ(layer.schedule.kind, ScheduleKind::data_parallel);
  EXPECT_NE(layer.reason.find("layers of experts"), std::string::npos) << layer.reason;

  PlanOptions options;
  options.kernel = "sm90_bf16_128x128x64_turns";
  Problem one = problem;
  one.groups = {{8 * 1024, 7168, 2048}};
  EXPECT_GT(make_plan(problem, machine, options).cost.seconds,
            1.1 * make_plan(one, machine, options).cost.seconds);

  problem.groups.push_back({1024, 7168, 1024});
  EXPECT_EQ(make_plan(problem, machine).reason.find("layer"), std::string::npos);
}

// A hybrid of groups streams nothing where its tiles are claimed, and its last ones come in pieces;
// a C wider than its inputs has no code for groups.
TEST(Planner, AClaimedHybridHasNoStream) {
  const Machine machine = machine_by_name("h200");
  Problem problem = dense_problem({1024, 4096, 14336}, gemm_types_for(ElementType::bf16));
  problem.groups.resize(8, problem.groups.front());
  PlanOptions options;
  options.schedule = ScheduleKind::hybrid;
  options.kernel = "sm90_bf16_256x128x64_swapped_1x2";
  const Plan claimed = make_plan(problem, machine, options);
  EXPECT_EQ(claimed.decomposition.tiles, 512);
  EXPECT_EQ(claimed.decomposition.stream_k_tiles, 0);
  EXPECT_EQ(claimed.decomposition.data_parallel_tiles, 512);
  const HostIterationSpace space(problem.groups, claimed.tile);
  const Partition partition = partition_of(claimed, space);
  EXPECT_EQ(partition.whole_tiles, 512 - 66 / 3);
  EXPECT_EQ(explain(claimed).peers, partition.splits);

  problem.types.c = ElementType::f32;
  const Plan streamed = make_plan(problem, machine, options);
  EXPECT_EQ(streamed.decomposition.stream_k_tiles, 512 % 66 + 66);
  EXPECT_EQ(partition_of(streamed, space).whole_tiles, 0);
}

// 7.76 waves: whole tiles take the time of 8, and pieces that of 7.76 rounded up to thirds.
TEST(Planner, PricesThePiecesOfClaimedTiles) {
  const Machine machine = machine_by_name("h200");
  Problem problem = dense_problem({1024, 4096, 14336}, gemm_types_for(ElementType::bf16));
  problem.groups.resize(8, problem.groups.front());
  PlanOptions options;
  options.kernel = "sm90_bf16_256x128x64_swapped_1x2";
  const auto seconds = [&](ScheduleKind kind) {
    options.schedule = kind;
    return make_plan(problem, machine, options).cost.seconds;
  };
  const double ratio = seconds(ScheduleKind::hybrid) / seconds(ScheduleKind::data_parallel);
  EXPECT_GT(ratio, 7.76 / 8);
  EXPECT_LT(ratio, 1.01);
}

TEST(Planner, MisalignedOperandsAreCopiedWhereThatPaysAndTheReasonSaysSo) {
  Problem problem = dense_problem({1024, 1024, 1024}, gemm_types_for(ElementType::bf16));
  problem.b.alignment = 2;
  const Machine machine = machine_by_name("h200");
  const Plan copying = make_plan(problem, machine);
  EXPECT_TRUE(copying.kernel.starts_with("sm90_bf16")) << copying.kernel;
  EXPECT_NE(copying.reason.find("B is copied first (B is aligned to 2 bytes"), std::string::npos)
      << copying.reason;
  const auto term = std::ranges::find(copying.cost.terms, "copying", &CostTerm::name);
  ASSERT_NE(term, copying.cost.terms.end());
  EXPECT_GT(term->seconds, 2.0 * 2 * 1024 * 1024 / machine.memory_bytes_per_second);

  // Where memory is slow, two passes over B are too much for one row.
  problem.groups = {{1, 4096, 4096}};
  Machine slow = machine;
  slow.memory_bytes_per_second = 1e11;
  const Plan row = make_plan(problem, slow);
  EXPECT_TRUE(row.kernel.starts_with("sm80_general")) << row.kernel;
  EXPECT_NE(row.reason.find("copying operands first"), std::string::npos) << row.reason;
}

TEST(Planner, WithoutCopiesMisalignedOperandsTakeTheGeneralKernel) {
  Problem problem = dense_problem({1024, 1024, 1024}, gemm_types_for(ElementType::bf16));
  problem.b.major = Major::general;
  PlanOptions options;
  options.keep_others = true;
  options.allow_copies = false;
  const Plan plan = make_plan(problem, machine_by_name("h200"), options);
  EXPECT_TRUE(plan.kernel.starts_with("sm80_general")) << plan.kernel;
  const auto rejected = std::ranges::find(plan.others, "sm90_bf16_128x256x64", &Candidate::kernel);
  ASSERT_NE(rejected, plan.others.end());
  EXPECT_NE(rejected->rejection.find("B has no unit stride"), std::string::npos);

  options = {};
  options.batch_invariant = true;
  EXPECT_TRUE(make_plan(problem, machine_by_name("h200"), options).kernel.starts_with("sm80"));
}

TEST(Planner, OptionsAreHonoured) {
  const Problem problem = dense_problem({1000, 1000, 1000});
  const Machine machine = machine_by_name("zen4");
  PlanOptions options;
  options.splits = 3;
  options.workers = 5;
  options.order = TileOrderChoice{TileOrder::hilbert, 1};
  options.kernel = "cpu_scalar_f32";
  options.tile = TileConfig{.block_m = 100, .block_n = 90, .block_k = 80};
  const Plan plan = make_plan(problem, machine, options);
  EXPECT_EQ(plan.schedule.kind, ScheduleKind::split_k);
  EXPECT_EQ(plan.schedule.splits, 3);
  EXPECT_EQ(plan.schedule.workers, 5);
  EXPECT_EQ(plan.schedule.order, TileOrder::hilbert);
  EXPECT_EQ(plan.kernel, "cpu_scalar_f32");
  EXPECT_EQ(to_text(plan.tile), "100x90x80");
}

TEST(Planner, ContradictoryOrSenselessOptionsAreNamed) {
  const Problem problem = dense_problem({100, 100, 100});
  const Machine machine = machine_by_name("zen4");
  const auto error = [&](auto change) {
    PlanOptions options;
    change(options);
    return error_of(problem, machine, options);
  };
  EXPECT_TRUE(error([](PlanOptions& o) { o.workers = 0; }).starts_with("workers"));
  EXPECT_TRUE(error([](PlanOptions& o) {
                o.splits = 2;
                o.schedule = ScheduleKind::stream_k;
              }).starts_with("splits"));
  EXPECT_TRUE(
      error([](PlanOptions& o) { o.tile = TileConfig{.block_m = -1}; }).starts_with("tile"));
  EXPECT_NE(error([](PlanOptions& o) { o.kernel = "cpu_z80"; }).find("cpu_scalar_f32"),
            std::string::npos);
  EXPECT_TRUE(error([](PlanOptions& o) {
                o.batch_invariant = true;
                o.schedule = ScheduleKind::stream_k;
              }).starts_with("schedule"));
  EXPECT_NE(error([](PlanOptions& o) { o.kernel = "cpu_avx512_f64"; }).find("no kernel"),
            std::string::npos);
}

// Every one of some sixty kernels has its objection.
TEST(Planner, AnErrorOfManyKernelsFitsIntoAMessage) {
  for (const TileConfig& tile :
       {TileConfig{.block_m = 512, .block_n = 512, .block_k = 64}, TileConfig{}}) {
    PlanOptions options;
    if (tile.block_m > 0) options.tile = tile;
    const std::int64_t size = tile.block_m > 0 ? 4096 : std::int64_t{1} << 40;
    const Problem problem = dense_problem({size, size, size}, gemm_types_for(ElementType::bf16));
    try {
      make_plan(problem, machine_by_name("h200"), options);
      ADD_FAILURE() << "planned";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_LT(message.size(), 1500u) << message;
      EXPECT_TRUE(message.ends_with("; change what a reason names")) << message;
      EXPECT_NE(message.find("more"), std::string::npos) << message;
    }
  }
}

// The Hopper kernels' coordinates have 32 bits.
TEST(Planner, SidesBeyondTheCoordinatesTakeAKernelThatReachesThem) {
  const Machine machine = machine_by_name("h200");
  constexpr std::int64_t kSide = std::int64_t{1} << 31;
  for (const GemmShape& shape : {GemmShape{kSide, 8, 8}, {8, kSide, 8}, {8, 8, kSide}}) {
    const Problem problem = dense_problem(shape, gemm_types_for(ElementType::bf16));
    EXPECT_TRUE(make_plan(problem, machine).kernel.starts_with("sm80_general_"));
    PlanOptions options;
    options.kernel = "sm90_bf16_128x128x64";
    EXPECT_NE(error_of(problem, machine, options).find("2147483648"), std::string::npos);
  }
  const Problem below = dense_problem({8, 8, kMostTmaSide}, gemm_types_for(ElementType::bf16));
  EXPECT_TRUE(make_plan(below, machine).kernel.starts_with("sm90_"));
}

TEST(Planner, NothingToComputeIsAPlanToo) {
  for (const char* name : {"zen4", "h200"}) {
    for (const GemmShape shape : {GemmShape{0, 5, 5}, GemmShape{5, 0, 5}, GemmShape{5, 5, 0}}) {
      const Plan plan =
          make_plan(dense_problem(shape, gemm_types_for(ElementType::bf16)), machine_by_name(name));
      EXPECT_TRUE(std::isfinite(plan.cost.seconds));
    }
    Problem empty = dense_problem({}, gemm_types_for(ElementType::bf16));
    empty.groups.clear();
    EXPECT_EQ(make_plan(empty, machine_by_name(name)).decomposition.tiles, 0);
  }
}

// The choices that fix a row's bits.
std::string bits_of(const Plan& plan) {
  return plan.kernel + " " + std::to_string(plan.tile.block_k) + " " +
         std::to_string(plan.schedule.kind == ScheduleKind::split_k ? plan.schedule.splits : 1);
}

TEST(Planner, BatchInvariantPlansDifferInNothingThatFixesBits) {
  PlanOptions options;
  options.batch_invariant = true;
  for (const char* name : {"h200", "zen5", "gpu-84sm", "sapphire-rapids-avx512"}) {
    const Machine machine = machine_by_name(name);
    for (const GemmShape shape : {GemmShape{1, 4096, 4096}, GemmShape{1, 512, 32768}}) {
      Problem problem = dense_problem(shape, gemm_types_for(ElementType::bf16));
      const std::string one_row = bits_of(make_plan(problem, machine, options));
      for (const std::int64_t m : {2, 7, 64, 130, 300, 8192}) {
        problem.groups = {{m, shape.n, shape.k}};
        EXPECT_EQ(bits_of(make_plan(problem, machine, options)), one_row);
        problem.groups = {{m, shape.n, shape.k}, {3, shape.n, shape.k}, {0, shape.n, shape.k}};
        EXPECT_EQ(bits_of(make_plan(problem, machine, options)), one_row);
      }
    }
  }
}

// However operands lie: products of many rows may be turned round where those of few are not.
TEST(Planner, BatchInvariantSplitsDoNotDependOnTheOrientation) {
  PlanOptions options;
  options.batch_invariant = true;
  for (const char* name : {"zen4", "sapphire-rapids", "avx2-laptop"}) {
    const Machine machine = machine_by_name(name);
    for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
      for (int majors = 0; majors < 8; ++majors) {
        Problem problem = dense_problem({1, 512, 32768}, gemm_types_for(type));
        problem.types.c = ElementType::f32;
        OperandLayout* const layouts[] = {&problem.a, &problem.b, &problem.c};
        for (int i = 0; i < 3; ++i) {
          layouts[i]->major = majors >> i & 1 ? Major::column : Major::row;
        }
        const std::string one_row = bits_of(make_plan(problem, machine, options));
        for (const std::int64_t m : {2, 4, 16, 64, 100, 300}) {
          problem.groups = {{m, 512, 32768}};
          EXPECT_EQ(bits_of(make_plan(problem, machine, options)), one_row)
              << name << ", majors " << majors << ", m = " << m;
        }
      }
    }
  }
}

// What the caller's tile leaves open.
TEST(Planner, BatchInvariantPlansFillACallersTileWithoutLookingAtM) {
  PlanOptions options;
  options.batch_invariant = true;
  options.tile = TileConfig{.block_m = 96, .block_n = 256};
  const Machine machine = machine_by_name("zen4");
  const auto bits_with = [&](std::int64_t m) {
    return bits_of(make_plan(dense_problem({m, 700, 9000}), machine, options));
  };
  for (const std::int64_t m : {2, 7, 64, 130, 300, 8192}) {
    EXPECT_EQ(bits_with(m), bits_with(1)) << m;
  }
}

}  // namespace
}  // namespace tessera
