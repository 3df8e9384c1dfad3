// The cache of plans: bounded, least recently used out first, and never the wrong plan.
#include "plan_cache.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "core/validate.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

Problem problem_of(std::int64_t m, double alpha = 1, double beta = 0) {
  Problem problem = dense_problem({m, 24, 32});
  problem.alpha = alpha;
  problem.beta = beta;
  return problem;
}

std::shared_ptr<const Plan> plan_of(const Problem& problem) {
  auto plan = std::make_shared<Plan>();
  plan->problem = problem;
  return plan;
}

void insert(PlanCache& cache, const Problem& problem) {
  cache.insert(ProblemKey::of(problem).hash(), plan_of(problem));
}

bool has(PlanCache& cache, const Problem& problem) {
  const ProblemKey key = ProblemKey::of(problem);
  return cache.find(key.hash(), key) != nullptr;
}

TEST(PlanCache, ForgetsTheLeastRecentlyUsed) {
  PlanCache cache(2);
  insert(cache, problem_of(1));
  insert(cache, problem_of(2));
  EXPECT_TRUE(has(cache, problem_of(1)));
  insert(cache, problem_of(3));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_TRUE(has(cache, problem_of(1)));
  EXPECT_FALSE(has(cache, problem_of(2)));
  EXPECT_TRUE(has(cache, problem_of(3)));
}

TEST(PlanCache, KeepsNothingWhereItMayNot) {
  PlanCache cache(0);
  insert(cache, problem_of(1));
  EXPECT_FALSE(has(cache, problem_of(1)));
}

TEST(PlanCache, TellsProblemsApart) {
  const Problem base = problem_of(7);
  std::vector<Problem> others(8, base);
  others[0].groups.push_back({7, 24, 32});
  others[1].types = gemm_types_for(ElementType::f64);
  others[2].a.major = Major::column;
  others[3].b.alignment = 4;
  others[4].epilogue.activation = Activation::relu;
  others[5].epilogue.bias = BiasAxis::row;
  others[6].alpha = 0;
  others[7].beta = 1;
  PlanCache cache(16);
  insert(cache, base);
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_FALSE(has(cache, others[i])) << i;
  // A hash is no proof: the problems themselves are compared.
  for (const Problem& other : others) {
    EXPECT_EQ(cache.find(ProblemKey::of(base).hash(), ProblemKey::of(other)), nullptr);
  }
}

TEST(PlanCache, SharesPathsBetweenScalars) {
  const Problem base = problem_of(7, 1, 1);
  const Problem scaled = problem_of(7, -0.5, 2);
  EXPECT_EQ(ProblemKey::of(base).hash(), ProblemKey::of(scaled).hash());
  EXPECT_TRUE(ProblemKey::of(base).same_path(scaled));
  EXPECT_FALSE(ProblemKey::of(base).same_scalars(scaled));
  const Problem nan = problem_of(7, std::nan(""), 1);
  EXPECT_TRUE(ProblemKey::of(nan).same_scalars(nan));
}

TEST(PlanCache, GivesTheScalarsOfTheCall) {
  for (const double alpha : {1.0, 2.0, 1.0, -3.0}) {
    const Problem problem = problem_of(19, alpha, 0.5);
    const FoundPlan found = find_or_make_plan(ProblemKey::of(problem));
    EXPECT_EQ(found.plan->problem.alpha, alpha);
    EXPECT_EQ(found.plan->problem.beta, 0.5);
  }
}

TEST(PlanCache, OnlyTheFirstCallPlans) {
  const Problem problem = problem_of(23);
  EXPECT_EQ(find_or_make_plan(ProblemKey::of(problem)).origin, PlanOrigin::made);
  EXPECT_EQ(find_or_make_plan(ProblemKey::of(problem)).origin, PlanOrigin::recent);
  std::thread([&] {
    EXPECT_EQ(find_or_make_plan(ProblemKey::of(problem)).origin, PlanOrigin::shared);
  }).join();
}

TEST(PlanCache, ServesManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      for (int call = 0; call < 200; ++call) {
        const Problem problem = problem_of(1 + (call * 7 + t) % 40, 1 + t);
        const FoundPlan found = find_or_make_plan(ProblemKey::of(problem));
        EXPECT_EQ(found.plan->problem.groups, problem.groups);
        EXPECT_EQ(found.plan->problem.alpha, problem.alpha);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PlanCache, CachedCallsMultiplyRight) {
  std::vector<float> a(6, 2.0F);
  std::vector<float> b(6, 3.0F);
  std::vector<float> c(4, std::numeric_limits<float>::quiet_NaN());
  for (int call = 0; call < 3; ++call) {
    const double beta = call == 0 ? 0 : 1;
    gemm(call + 1, row_major(a.data(), 2, 3), row_major(b.data(), 3, 2), beta,
         row_major(c.data(), 2, 2));
  }
  EXPECT_EQ(c, std::vector<float>(4, 18.0F * (1 + 2 + 3)));
}

}  // namespace
}  // namespace tessera
