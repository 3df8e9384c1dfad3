// Tile orders are bijections, and the worked formula of swizzle holds.
#include "schedule/tile_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "tessera/error.hpp"

namespace tessera {
namespace {

RC_GTEST_PROP(TileOrders, VisitEveryTileOnce, ()) {
  const auto grid_m = *rc::gen::inRange(1, 40);
  const auto grid_n = *rc::gen::inRange(1, 40);
  const auto order = *rc::gen::element(TileOrder::linear, TileOrder::swizzle, TileOrder::hilbert);
  const auto group_m = *rc::gen::inRange(1, 12);
  std::set<std::pair<int, int>> seen;
  for (int t = 0; t < grid_m * grid_n; ++t) {
    const TileCoord at = tile_at(order, group_m, t, grid_m, grid_n);
    RC_ASSERT(at.m >= 0 && at.m < grid_m && at.n >= 0 && at.n < grid_n);
    RC_ASSERT(seen.emplace(at.m, at.n).second);
  }
}

// A step of the curve is to a neighbour, except that a side of odd length can force a diagonal.
RC_GTEST_PROP(TileOrders, HilbertMovesToNeighbours, ()) {
  const auto grid_m = *rc::gen::inRange(1, 40);
  const auto grid_n = *rc::gen::inRange(1, 40);
  TileCoord last = tile_at(TileOrder::hilbert, 0, 0, grid_m, grid_n);
  for (int t = 1; t < grid_m * grid_n; ++t) {
    const TileCoord at = tile_at(TileOrder::hilbert, 0, t, grid_m, grid_n);
    RC_ASSERT(std::max(std::abs(at.m - last.m), std::abs(at.n - last.n)) == 1);
    last = at;
  }
}

TEST(TileOrders, SwizzleWalksRowsTogether) {
  // Rows in groups of 3 on a grid of 4 × 2: the last group has one row.
  const std::pair<int, int> expected[] = {{0, 0}, {1, 0}, {2, 0}, {0, 1},
                                          {1, 1}, {2, 1}, {3, 0}, {3, 1}};
  for (int t = 0; t < 8; ++t) {
    const TileCoord at = tile_at(TileOrder::swizzle, 3, t, 4, 2);
    EXPECT_EQ(std::pair(at.m, at.n), expected[t]) << t;
  }
}

TEST(TileOrders, HaveNames) {
  EXPECT_EQ(tile_order_from_name("hilbert").order, TileOrder::hilbert);
  EXPECT_EQ(tile_order_from_name("swizzle").order, TileOrder::swizzle);
  EXPECT_EQ(tile_order_from_name("swizzle(3)").group_m, 3);
  for (const char* bad : {"", "spiral", "swizzle(", "swizzle()", "swizzle(0)", "swizzle(3",
                          "swizzle(3))", "swizzle(-1)", "linear(3)"}) {
    EXPECT_THROW(tile_order_from_name(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace tessera
