// Random matrices: normal, repeatable, the same for any number of threads.
#include "cli/random.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>

#include "bench/generator.hpp"

namespace tessera::cli {
namespace {

TEST(Random, IsNormal) {
  Matrix matrix(1000, 1000, ElementType::f64);
  fill_random(matrix, 7);
  const auto* const x = reinterpret_cast<const double*>(matrix.bytes().data());
  double sum = 0, squares = 0, fourths = 0;
  int beyond_three = 0;
  constexpr int kCount = 1000000;
  for (int i = 0; i < kCount; ++i) {
    sum += x[i];
    squares += x[i] * x[i];
    fourths += std::pow(x[i], 4);
    beyond_three += std::fabs(x[i]) > 3 ? 1 : 0;
  }
  // Five standard errors each.
  EXPECT_NEAR(sum / kCount, 0, 0.005);
  EXPECT_NEAR(squares / kCount, 1, 0.008);
  EXPECT_NEAR(fourths / kCount, 3, 0.05);
  EXPECT_NEAR(beyond_three, 2700, 260);
}

TEST(Random, DependsOnTheSeedAlone) {
  Matrix one(300, 700, ElementType::f32);
  Matrix two(300, 700, ElementType::f32);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  fill_random(one, 5);
  omp_set_num_threads(3);
  fill_random(two, 5);
  omp_set_num_threads(threads);
  EXPECT_EQ(std::memcmp(one.bytes().data(), two.bytes().data(), one.bytes().size()), 0);
  fill_random(two, 6);
  EXPECT_NE(std::memcmp(one.bytes().data(), two.bytes().data(), one.bytes().size()), 0);
}

TEST(Random, FillsIntegersWithinTheirRange) {
  Matrix matrix(200, 200, ElementType::i8);
  fill_random(matrix, 1);
  int distinct[256] = {};
  for (const std::byte b : matrix.bytes()) ++distinct[static_cast<int>(b)];
  EXPECT_EQ(distinct[0x80], 0);  // -128
  EXPECT_GT(distinct[0], 0);
  EXPECT_GT(distinct[0x20], 0);
}

TEST(Random, DrawsGammas) {
  bench::Generator generator(3);
  for (const double shape : {0.3, 1.0, 4.0}) {
    double sum = 0;
    constexpr int kCount = 100000;
    for (int i = 0; i < kCount; ++i) sum += generator.gamma(shape);
    EXPECT_NEAR(sum / kCount, shape, 5 * std::sqrt(shape / kCount)) << shape;
  }
}

}  // namespace
}  // namespace tessera::cli
