// Sizes as people type them.
#include "cli/shape.hpp"

#include <gtest/gtest.h>

#include "core/tile_config.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

TEST(Shape, ReadsProductsGroupsAndTiles) {
  EXPECT_EQ(parse_shape("1536x1792x6016", "shape"), (GemmShape{1536, 1792, 6016}));
  EXPECT_EQ(parse_shape("0x1X2", "shape"), (GemmShape{0, 1, 2}));
  const std::vector<GemmShape> group = parse_shapes("192x320x128,256x448x192", "--group");
  ASSERT_EQ(group.size(), 2u);
  EXPECT_EQ(group[1], (GemmShape{256, 448, 192}));
  const std::vector<GemmShape> batch = parse_shapes("1x2x3,4x5x6:1000", "--group");
  ASSERT_EQ(batch.size(), 1001u);
  EXPECT_EQ(batch[1000], (GemmShape{4, 5, 6}));
  const TileConfig tile = parse_tile("128x64x32");
  EXPECT_EQ(tile.block_m, 128);
  EXPECT_EQ(tile.block_n, 64);
  EXPECT_EQ(tile.block_k, 32);
  EXPECT_EQ(to_text(tile), "128x64x32");
  EXPECT_EQ(parse_matrix_size("3x4", "size").cols, 4);
}

TEST(Shape, RefusesEverythingElse) {
  for (const char* const text :
       {"", "1", "1x2", "1x2x", "1x2x3x4", "1x-2x3", "1x2x3 ", " 1x2x3", "axbxc", "1,2,3",
        "1x2x3.5", "99999999999999999999x1x1", "1099511627777x1x1"}) {
    EXPECT_THROW(parse_shape(text, "shape"), Error) << text;
  }
  for (const char* const text : {"", ",", "1x2x3,", "1x2x3,,4x5x6", "1x2x3:", "1x2x3:0", "1x2x3:x",
                                 "1x2x3:1:1", "1x2x3:1048577"}) {
    EXPECT_THROW(parse_shapes(text, "--group"), Error) << text;
  }
  EXPECT_THROW(parse_tile("0x1x1"), Error);
  EXPECT_THROW(parse_tile("2000000x1x1"), Error);
}

TEST(Shape, NamesTheArgumentAndTheRemedy) {
  try {
    parse_shape("1x2", "shape");
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(message.find("shape: must be MxNxK"), std::string::npos) << message;
    EXPECT_NE(message.find("'1x2'"), std::string::npos) << message;
    EXPECT_NE(message.find("1536x1792x6016"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace tessera::cli
