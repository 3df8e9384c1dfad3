#include "core/tile_config.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr TileConfig kTile = {.block_m = 128, .block_n = 256, .block_k = 64};

TEST(TileConfigLimits, NameTheFieldAndItsValue) {
  EXPECT_FALSE(why_not(kTile).has_value());
  TileConfig tile = kTile;
  tile.block_n = 0;
  EXPECT_EQ(why_not(tile).value_or(""), "block_n must be 1 to 1048576; it is 0");
  tile = kTile;
  tile.stages = kMaxStages + 1;
  EXPECT_EQ(why_not(tile).value_or(""), "stages must be 1 to 64; it is 65");
}

TEST(TileConfigLimits, TilesMustBeCountable) {
  EXPECT_FALSE(why_not(kTile, dense_problem({1 << 20, 1 << 20, 1 << 20})).has_value());
  TileConfig tiny = kTile;
  tiny.block_k = 1;
  const auto reason = why_not(tiny, dense_problem({1, 1, std::int64_t{1} << 40}));
  EXPECT_NE(reason.value_or("").find("128x256x1"), std::string::npos);
  Problem many = dense_problem({std::int64_t{1} << 37, std::int64_t{1} << 38, 1 << 20});
  EXPECT_NE(why_not(kTile, many).value_or("").find("4e18"), std::string::npos);
}

TEST(TileConfigText, IsTheCommandLines) {
  EXPECT_EQ(to_text(kTile), "128x256x64");
  const Schedule split = {.kind = ScheduleKind::split_k, .workers = 1, .splits = 3};
  EXPECT_EQ(kind_text(split), "split_k(3)");
  EXPECT_EQ(order_text(split), "linear");
  const Schedule hybrid = {
      .kind = ScheduleKind::hybrid, .splits = 3, .order = TileOrder::swizzle, .group_m = 4};
  EXPECT_EQ(kind_text(hybrid), "hybrid");
  EXPECT_EQ(order_text(hybrid), "swizzle(4)");
}

}  // namespace
}  // namespace tessera
