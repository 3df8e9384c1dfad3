// The traffic model against the worked example, and its formulas against exact counting.
#include "plan/traffic.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "schedule/tile_order.hpp"

namespace tessera {
namespace {

TEST(Traffic, NineOutputTilesLoad90BlocksInLinearOrderAnd54InThreeRowGroups) {
  const TileGrid grid{9, 9, 9};
  EXPECT_EQ(count_blocks(grid, {TileOrder::linear, 1}, 0, 9).total(), 90);
  EXPECT_EQ(count_blocks(grid, {TileOrder::swizzle, 3}, 0, 9).total(), 54);
}

TEST(Traffic, AllTilesLoadEachBlockOnce) {
  const TileGrid grid{4, 6, 5};
  const BlockCount all = count_blocks(grid, {TileOrder::hilbert, 1}, 0, grid.tiles());
  EXPECT_EQ(all.a, 4 * 5);
  EXPECT_EQ(all.b, 5 * 6);
}

TEST(Traffic, FootprintAgreesWithTheWorkedExample) {
  const TileGrid grid{9, 9, 1};
  const WaveFootprint grouped = wave_footprint(grid, {TileOrder::swizzle, 3}, 9);
  EXPECT_GE(grouped.rows, 3);
  EXPECT_EQ(grouped.cols, 3);
}

// Thirteen tiles of one column: a band of twelve rows, and a row of the next.
TEST(Traffic, APartOfABandIsNoWholeOne) {
  const TileGrid grid{23, 1, 1};
  EXPECT_EQ(count_blocks(grid, {TileOrder::swizzle, 12}, 0, 13).total(), 14);
  EXPECT_EQ(wave_footprint(grid, {TileOrder::swizzle, 12}, 13).rows, 13);
  EXPECT_EQ(wave_footprint({23, 2, 1}, {TileOrder::swizzle, 4}, 14).rows, 8);
}

// Blocks that a wave loads, averaged over places where it may start, some twenty of them at least
// where there are as many: where waves follow each other two or three may all lie well.
double counted(const TileGrid& grid, TileOrderChoice order, std::int64_t wave) {
  const std::int64_t step = std::max<std::int64_t>(1, (grid.tiles() - wave) / 20);
  double sum = 0;
  std::int64_t waves = 0;
  for (std::int64_t first = 0; first + wave <= grid.tiles(); first += step, ++waves) {
    sum += static_cast<double>(count_blocks(grid, order, first, wave).total());
  }
  return sum / static_cast<double>(waves);
}

RC_GTEST_PROP(Traffic, FormulaStaysNearTheCount, ()) {
  const TileGrid grid{*rc::gen::inRange(1, 30), *rc::gen::inRange(1, 30), 1};
  const auto wave =
      static_cast<std::int64_t>(*rc::gen::inRange(1, static_cast<int>(grid.tiles()) + 1));
  const TileOrder kind =
      *rc::gen::element(TileOrder::linear, TileOrder::swizzle, TileOrder::hilbert);
  const TileOrderChoice order{kind, *rc::gen::inRange(1, 17)};
  const WaveFootprint formula = wave_footprint(grid, order, wave);
  const double exact = counted(grid, order, wave);
  RC_ASSERT(formula.rows + formula.cols >= 0.6 * exact);
  RC_ASSERT(formula.rows + formula.cols <= 1.6 * exact + 1);
}

// Every operand must come from memory once, and no tile asks for more than it multiplies.
RC_GTEST_PROP(Traffic, LiesBetweenCompulsoryAndUncached, ()) {
  const Machine machine = machine_by_name("gpu-84sm");
  const GemmShape shape{*rc::gen::inRange(1, 20000), *rc::gen::inRange(1, 20000),
                        *rc::gen::inRange(1, 20000)};
  const Problem problem = dense_problem(shape, gemm_types_for(ElementType::bf16));
  const int block = *rc::gen::element(64, 128, 256);
  const TileGrid grid{static_cast<std::int32_t>((shape.m + block - 1) / block),
                      static_cast<std::int32_t>((shape.n + block - 1) / block),
                      static_cast<std::int32_t>((shape.k + 63) / 64)};
  const TileOrderChoice order{*rc::gen::element(TileOrder::linear, TileOrder::swizzle), 8};
  const Traffic traffic = estimate_traffic({shape, 1}, grid, problem, order, 84, machine);
  const double c = 2.0 * static_cast<double>(shape.m * shape.n);
  const double compulsory = 2.0 * static_cast<double>(shape.m * shape.k + shape.k * shape.n) + c;
  RC_ASSERT(traffic.memory_bytes >= compulsory * 0.999);
  RC_ASSERT(traffic.memory_bytes <= std::max(compulsory, traffic.cache_bytes + c) * 1.001);
}

}  // namespace
}  // namespace tessera
