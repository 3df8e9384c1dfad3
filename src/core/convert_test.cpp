// Conversions of the 16-bit types, over all of their 65536 values and at the rounding boundaries.
#include "core/convert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tessera {
namespace {

template <class T>
T from_float(float value) {
  if constexpr (std::is_same_v<T, f16>) {
    return to_f16(value);
  } else {
    return to_bf16(value);
  }
}

template <class T>
class Sixteen : public testing::Test {};
using SixteenTypes = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(Sixteen, SixteenTypes);

TYPED_TEST(Sixteen, EveryValueSurvivesARoundTrip) {
  for (int bits = 0; bits < 65536; ++bits) {
    const TypeParam value{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(value);
    const TypeParam back = from_float<TypeParam>(wide);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(back))) << bits;
    } else {
      EXPECT_EQ(back.bits, value.bits) << bits;
    }
  }
}

TYPED_TEST(Sixteen, RoundsToTheNearestAndTiesToEven) {
  const auto neighbour = [](int bits) {
    return to_float(TypeParam{static_cast<std::uint16_t>(bits)});
  };
  // Stops before infinity, whose upper neighbour does not exist.
  for (int bits = 0; std::isfinite(neighbour(bits + 1)); ++bits) {
    const float low = neighbour(bits);
    const float high = neighbour(bits + 1);
    const float middle = low + (high - low) / 2;
    EXPECT_EQ(from_float<TypeParam>(middle).bits, bits + (bits & 1)) << bits;
    EXPECT_EQ(from_float<TypeParam>(std::nextafter(middle, low)).bits, bits) << bits;
    EXPECT_EQ(from_float<TypeParam>(std::nextafter(middle, high)).bits, bits + 1) << bits;
    EXPECT_EQ(from_float<TypeParam>(-middle).bits, 0x8000 | (bits + (bits & 1))) << bits;
  }
}

TEST(Float16, OverflowsToInfinityFromHalfAnUlpOn) {
  EXPECT_EQ(to_f16(65519.99f).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

}  // namespace
}  // namespace tessera
