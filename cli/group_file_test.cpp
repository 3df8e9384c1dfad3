// Files that list the products of a group.
#include "cli/group_file.hpp"

#include <gtest/gtest.h>

#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

std::vector<ProductFiles> parse(std::string_view text) {
  return parse_group_file(text, "/data", "group.json");
}

TEST(GroupFile, ResolvesPathsBesideTheFile) {
  const auto products = parse(
      R"({"products": [{"a": "A.npy", "b": "/else/B.npy"}, {"a": "x", "b": "y", "c": "z/C.npy"}]})");
  ASSERT_EQ(products.size(), 2u);
  EXPECT_EQ(products[0].a, "/data/A.npy");
  EXPECT_EQ(products[0].b, "/else/B.npy");
  EXPECT_FALSE(products[0].c.has_value());
  EXPECT_EQ(products[1].c.value(), "/data/z/C.npy");
  EXPECT_TRUE(parse(R"({"products": []})").empty());
}

TEST(GroupFile, RefusesEverythingElse) {
  for (const char* const text :
       {"", "{", "[]", "7", R"({"products": {}})", R"({"products": [1]})",
        R"({"products": [{"a": "A.npy"}]})", R"({"products": [{"a": "A.npy", "b": 2}]})",
        R"({"products": [{"a": "", "b": "B.npy"}]})",
        R"({"products": [{"a": "A.npy", "b": "B.npy", "d": "D.npy"}]})",
        R"({"products": [], "extra": 1})"}) {
    EXPECT_THROW(parse(text), Error) << text;
  }
}

TEST(GroupFile, ToleratesInvalidUtf8AndDeepNesting) {
  EXPECT_THROW(parse("{\"products\": [{\"a\": \"\xff\xfe\", \"b\": 1}]}"), Error);
  EXPECT_THROW(parse(std::string(5000, '[')), Error);
}

}  // namespace
}  // namespace tessera::cli
