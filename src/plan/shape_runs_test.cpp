#include "plan/shape_runs.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

Problem groups_of(std::vector<GemmShape> shapes) {
  Problem problem = dense_problem({});
  problem.groups = std::move(shapes);
  return problem;
}

TEST(ShapeRuns, EqualNeighboursAreOneRun) {
  const auto runs = shape_runs(groups_of({{1, 2, 3}, {1, 2, 3}, {4, 2, 3}, {1, 2, 3}}));
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].count, 2);
  EXPECT_EQ(runs[2].shape, (GemmShape{1, 2, 3}));
}

TEST(ShapeRuns, WithoutAProductThereIsNoDepth) {
  Problem problem = groups_of({{5, 6, 7}});
  problem.alpha = 0;
  EXPECT_EQ(shape_runs(problem)[0].shape.k, 0);
}

TEST(ShapeRuns, ManyGroupsAreJoinedAndKeepTheirWork) {
  std::vector<GemmShape> shapes;
  double flops = 0;
  for (std::int64_t g = 0; g < 4096; ++g) {
    shapes.push_back({g * 7919 % 1500, 4096, 7168});
    flops += static_cast<double>(shapes.back().m) * 4096 * 7168;
  }
  const auto runs = shape_runs(groups_of(std::move(shapes)));
  EXPECT_LE(runs.size(), kMostRuns);
  double joined = 0;
  std::int64_t count = 0;
  for (const ShapeRun& run : runs) {
    count += run.count;
    joined += static_cast<double>(run.count * run.shape.m) * static_cast<double>(run.shape.n) *
              static_cast<double>(run.shape.k);
  }
  EXPECT_EQ(count, 4096);
  EXPECT_NEAR(joined / flops, 1, 0.1);
}

}  // namespace
}  // namespace tessera
