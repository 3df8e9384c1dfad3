#include "plan/passing_pays.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "core/catalogue.hpp"
#include "core/near_rule.hpp"
#include "core/validate.hpp"
#include "plan/passing.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

bool passes(std::string_view machine_name, const GemmShape& shape,
            ElementType type = ElementType::f32, int workers = 1) {
  const Machine machine = with_workers(machine_by_name(machine_name), workers);
  PlanOptions options;
  options.workers = workers;
  const Plan plan = make_plan(dense_problem(shape, gemm_types_for(type)), machine, options);
  return packs_in_passing(plan.tile, find_kernel(plan.kernel), plan.problem, shape, machine);
}

TEST(PassingPays, WhereFewPiecesOfAPackB) {
  EXPECT_TRUE(passes("zen5", {64, 1000, 1000}));
  EXPECT_TRUE(passes("zen5", {512, 1024, 1024}));
  EXPECT_FALSE(passes("zen5", {513, 1024, 1024}));
  EXPECT_TRUE(passes("zen5", {256, 1024, 1024}, ElementType::f64));
  EXPECT_FALSE(passes("zen5", {257, 1024, 1024}, ElementType::f64));
  // One pass over k leaves nothing to read again.
  EXPECT_TRUE(passes("zen5", {2000, 2000, 128}));
  // Twice the room.
  EXPECT_TRUE(passes("sapphire-rapids-avx512", {1000, 1000, 1000}));
  EXPECT_FALSE(passes("sapphire-rapids-avx512", {2000, 2000, 2000}));
  // Rows of B whole pages apart.
  EXPECT_FALSE(passes("sapphire-rapids-avx512", {1024, 1024, 1024}));
  EXPECT_TRUE(passes("sapphire-rapids-avx512", {768, 1024, 1024}));
  EXPECT_FALSE(passes("sapphire-rapids-avx512", {768, 1024, 1024}, ElementType::f64));
  EXPECT_TRUE(passes("sapphire-rapids-avx512", {512, 1024, 1024}, ElementType::f64));
  // More bytes of B, and more elements of C, than an integer holds.
  const GemmShape largest = {kLargestSize, kLargestSize, kLargestSize};
  EXPECT_FALSE(passing_pays(largest, {27}, 8, machine_by_name("sapphire-rapids-avx512")));
  EXPECT_FALSE(passing_pays(largest, {1000}, 8, machine_by_name("sapphire-rapids-avx512")));
  EXPECT_FALSE(passing_pays(largest, {1000}, 8, machine_by_name("zen5")));
}

TEST(PassingPays, WhereRowsShareTheWait) {
  EXPECT_FALSE(passes("zen5", {48, 1000, 1000}));
  EXPECT_TRUE(passes("zen5", {49, 1000, 1000}));
  EXPECT_FALSE(passes("zen5", {40, 100, 1000}));
  EXPECT_TRUE(passes("sapphire-rapids-avx512", {40, 110, 1000}));
  // Of a B that stays in L2 more rows take wide tiles.
  EXPECT_FALSE(passes("zen5", {96, 250, 1000}));
  EXPECT_TRUE(passes("zen5", {97, 250, 1000}));
  EXPECT_TRUE(passes("zen5", {64, 1024, 200}));
}

TEST(PassingPays, WhereRowsShareTheWaitBesideMuchRoom) {
  constexpr std::string_view kLarge = "sapphire-rapids-avx512";
  EXPECT_FALSE(passes(kLarge, {27, 1000, 3000}));
  EXPECT_TRUE(passes(kLarge, {28, 1000, 3000}));
  // Of a large part of the last cache more have to, and of many workers fewer.
  EXPECT_FALSE(passes(kLarge, {48, 4096, 4096}));
  EXPECT_TRUE(passes(kLarge, {49, 4096, 4096}));
  EXPECT_TRUE(passes(kLarge, {28, 4096, 4096}, ElementType::f32, 4));
}

TEST(PassingPays, MoreWhereThreadsShareTiles) {
  constexpr std::string_view kLarge = "sapphire-rapids-avx512";
  constexpr ElementType kType = ElementType::f32;
  EXPECT_TRUE(passes(kLarge, {1024, 1024, 1024}, kType, 2));
  EXPECT_FALSE(passes(kLarge, {1100, 1024, 1024}, kType, 2));
  EXPECT_FALSE(passes(kLarge, {2048, 2048, 2048}, kType, 4));
  EXPECT_TRUE(passes(kLarge, {2048, 2048, 2048}, kType, 8));
  EXPECT_FALSE(passes(kLarge, {2049, 2049, 2049}, kType, 8));
  EXPECT_FALSE(passes(kLarge, {768, 1024, 1024}, ElementType::f64, 8));
}

TEST(PassingPays, WherePartsOfBStayWithTheirWorkers) {
  constexpr std::string_view kLarge = "sapphire-rapids-avx512";
  constexpr ElementType kType = ElementType::f32;
  EXPECT_FALSE(passes(kLarge, {16, 1000, 1000}, kType, 1));
  EXPECT_TRUE(passes(kLarge, {16, 1000, 1000}, kType, 4));
  EXPECT_TRUE(passes(kLarge, {13, 1000, 2000}, kType, 16));
  EXPECT_FALSE(passes(kLarge, {13, 1000, 2000}, kType, 2));
  // Whole pages apart.
  EXPECT_FALSE(passes(kLarge, {16, 1024, 4096}, kType, 16));
  EXPECT_TRUE(passes(kLarge, {17, 1024, 4096}, kType, 16));
}

TEST(PassingPays, WithAnAAcrossKThatDoesNotCollide) {
  const Machine machine = machine_by_name("zen5");
  PlanOptions options;
  options.workers = 1;
  const auto passes_across = [&](const GemmShape& shape) {
    Problem problem = dense_problem(shape);
    problem.a.major = Major::column;
    const Plan plan = make_plan(problem, machine, options);
    return packs_in_passing(plan.tile, find_kernel(plan.kernel), problem, shape, machine);
  };
  EXPECT_TRUE(passes_across({117, 221, 1914}));
  EXPECT_FALSE(passes_across({512, 512, 512}));
  EXPECT_TRUE(passes_across({500, 512, 512}));
  EXPECT_TRUE(passes_across({100, 1000, 1000}));
  EXPECT_FALSE(passes_across({1760, 25, 158}));
}

TEST(PassingPays, NotWhereRowsOfBFillLinesAndStayNear) {
  constexpr std::string_view kLarge = "sapphire-rapids-avx512";
  EXPECT_FALSE(passes(kLarge, {128, 128, 128}));
  EXPECT_FALSE(passes(kLarge, {160, 160, 160}));
  EXPECT_FALSE(passes(kLarge, {160, 160, 160}, ElementType::f64));
  EXPECT_FALSE(passes(kLarge, {256, 256, 256}));
  EXPECT_TRUE(passes(kLarge, {257, 256, 256}));                    // more work
  EXPECT_TRUE(passes(kLarge, {256, 256, 256}, ElementType::f64));  // more bytes
  EXPECT_TRUE(passes(kLarge, {160, 150, 160}));                    // split over lines
  for (const GemmShape& shape : {GemmShape{128, 128, 128}, {160, 160, 160}}) {
    for (const ElementType type : {ElementType::f32, ElementType::f64}) {
      const Plan plan =
          make_plan(dense_problem(shape, gemm_types_for(type)), machine_by_name(kLarge));
      EXPECT_TRUE(plan.tile.a_in_place && plan.tile.b_in_place);
      EXPECT_GE(plan.tile.block_k, shape.k);
    }
  }
  EXPECT_TRUE(passes("zen5", {160, 160, 160}));
}

// The limits of core/near_rule.hpp.
TEST(PassingPays, NotWhereBothOperandsStayNear) {
  constexpr std::string_view kLarge = "sapphire-rapids-avx512";
  constexpr ElementType k64 = ElementType::f64;
  EXPECT_FALSE(passes(kLarge, {64, 64, 1000}));
  EXPECT_TRUE(passes("zen5", {64, 64, 1000}));
  EXPECT_FALSE(passes(kLarge, {512, 64, 256}));
  EXPECT_TRUE(passes(kLarge, {513, 64, 400}));  // more of C
  EXPECT_FALSE(passes(kLarge, {32, 512, 400}));
  EXPECT_TRUE(passes(kLarge, {32, 528, 400}));  // longer rows of B
  EXPECT_FALSE(passes(kLarge, {64, 128, 2048}));
  EXPECT_TRUE(passes(kLarge, {64, 128, 2052}));  // more bytes
  // Rows that do not begin at lines.
  EXPECT_FALSE(passes(kLarge, {51, 50, 900}));
  EXPECT_TRUE(passes(kLarge, {52, 50, 900}));
  EXPECT_FALSE(passes(kLarge, {81, 50, 900}, k64));
  EXPECT_TRUE(passes(kLarge, {82, 50, 900}, k64));
  EXPECT_FALSE(passes(kLarge, {60, 50, 900}, k64));
  EXPECT_TRUE(passes(kLarge, {60, 51, 900}, k64));
  EXPECT_FALSE(passes(kLarge, {62, 45, 1220}, k64));
  EXPECT_TRUE(passes(kLarge, {62, 45, 1228}, k64));
  EXPECT_FALSE(passes(kLarge, {1000, 24, 300}));
  EXPECT_TRUE(passes(kLarge, {1000, 25, 300}));
}

TEST(PassingPays, DeepBlocksOfWhatStaysNear) {
  const Machine machine = machine_by_name("sapphire-rapids-avx512");
  const auto depth = [&](const GemmShape& shape) {
    PlanOptions options;
    options.workers = 1;
    return make_plan(dense_problem(shape), machine, options).tile.block_k;
  };
  EXPECT_EQ(depth({64, 64, 1000}), 512);
  EXPECT_EQ(depth({64, 64, 600}), 600);
  EXPECT_EQ(depth({44, 33, 900}), 160);
}

// Several workers' rows are cut by fours.
TEST(PassingPays, EqualTilesOfWhatStaysNear) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids-avx512"), 4);
  PlanOptions options;
  options.workers = 4;
  EXPECT_EQ(make_plan(dense_problem({128, 128, 1000}), machine, options).tile.block_m, 32);
}

// Columns of A that are far apart are not read again, but for a short k.
TEST(PassingPays, NotBesideFarColumnsOfA) {
  const Machine machine = machine_by_name("sapphire-rapids-avx512");
  const auto is_near = [&](double k, const PlacesInMemory& places) {
    return reads_near(machine, {{12, 32}, 400, 64, k, 4, 4}, places);
  };
  EXPECT_TRUE(is_near(512, {false, 1024, 256, true}));
  EXPECT_FALSE(is_near(516, {false, 1024, 256, true}));
  EXPECT_TRUE(is_near(516, {true, 4, 256, true}));
  EXPECT_TRUE(is_near(160, {false, 1 << 20, 256, true}));
  EXPECT_FALSE(is_near(161, {false, 1 << 20, 256, true}));
}

TEST(PassingPays, NotInASmallNearestCache) {
  EXPECT_FALSE(passes("zen4", {64, 1000, 1000}));
  EXPECT_FALSE(passes("avx2-laptop", {64, 1000, 1000}));
}

}  // namespace
}  // namespace tessera
