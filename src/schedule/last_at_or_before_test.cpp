#include "schedule/last_at_or_before.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace tessera {
namespace {

struct Stretch {
  std::int64_t begin = 0;
};

std::int32_t find(std::int32_t count, std::int64_t position) {
  // The second and the third are empty.
  constexpr std::array kStretches = {Stretch{2}, Stretch{5}, Stretch{5}, Stretch{5}, Stretch{9}};
  return last_at_or_before<&Stretch::begin>(kStretches.data(), count, position);
}

TEST(LastAtOrBefore, IsTheStretchThatHoldsThePosition) {
  EXPECT_EQ(find(5, 2), 0);
  EXPECT_EQ(find(5, 4), 0);
  EXPECT_EQ(find(5, 5), 3);
  EXPECT_EQ(find(5, 8), 3);
  EXPECT_EQ(find(5, 9), 4);
  EXPECT_EQ(find(5, 1000), 4);
  EXPECT_EQ(find(3, 1000), 2);
}

TEST(LastAtOrBefore, IsTheFirstWhereThereIsNoOther) {
  EXPECT_EQ(find(5, 0), 0);
  EXPECT_EQ(find(1, 100), 0);
  EXPECT_EQ(find(0, 100), 0);
}

}  // namespace
}  // namespace tessera
