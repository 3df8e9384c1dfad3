// Layers of experts: their bound, uniform against skewed sizes, and a small one measured here.
#include "cli/moe_bench.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/error.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kList =
    "suite,groups,n,k,total_rows,sizes\n"
    "\"small, one\",4,48,32,640,uniform\n"
    "\"small, one\",4,48,32,640,dirichlet(1.0)\n";

bench::MoeResult result_of(const bench::Case& what, double seconds) {
  bench::MoeResult result;
  result.what = what;
  result.timings = {{"tessera", seconds, seconds, 0}};
  return result;
}

TEST(Moe, TheBoundCountsOnlyWeightsThatHaveRows) {
  bench::MoeResult result = result_of({"", "", {{10, 4, 8}, {0, 4, 8}}}, 1);
  const GemmTypes types{ElementType::bf16, ElementType::bf16, ElementType::f32};
  set_bound(result, types, {100, 100, "", ""});
  EXPECT_EQ(result.flops, 640);
  EXPECT_EQ(result.bytes, 2 * 10 * 8 + 2 * 8 * 4 + 4 * 10 * 4);
  EXPECT_FALSE(result.is_bound_by_memory);
  EXPECT_DOUBLE_EQ(result.share_of_bound(), 6.4);
  set_bound(result, types, {1e9, 100, "", ""});
  EXPECT_TRUE(result.is_bound_by_memory);
  EXPECT_DOUBLE_EQ(result.bound_seconds, 3.84);
}

TEST(Moe, SkewedAndUniformSizesOfALayerMakeAPair) {
  const auto cases = bench::parse_cases(kList, "list.csv", 1);
  const auto pairs =
      bench::moe_pairs({result_of(cases[0], 2), result_of(cases[1], 3), result_of(cases[1], 4)});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_DOUBLE_EQ(pairs[0].skewed_over_uniform, 1.5);
  EXPECT_DOUBLE_EQ(pairs[1].skewed_over_uniform, 2);
  EXPECT_EQ(pairs[0].groups, 4);
  EXPECT_EQ(bench::moe_offsets(cases[0]).back(), 640);
  EXPECT_THROW(bench::moe_shape({"", "", {{1, 2, 3}, {1, 2, 4}}}), Error);
}

TEST(Moe, SizesFollowTheSeed) {
  const auto counts = [](std::uint64_t seed) {
    return bench::parse_cases(kList, "list.csv", 1, seed)[1].groups;
  };
  EXPECT_EQ(counts(0), counts(0));
  EXPECT_NE(counts(0), counts(1));
}

TEST(Moe, ALayerOnThisCpu) {
  MoeBenchOptions options;
  options.cases = bench::parse_cases(kList, "list.csv", 1);
  options.cases[1].groups[2].m = 0;
  options.types = gemm_types_for(ElementType::f32);
  options.machine = host_machine();
  options.threads = 1;
  options.seconds = 0.001;
  options.cold = false;
  options.json = true;
  testing::internal::CaptureStdout();
  const std::string record = run_moe_bench(options);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), record + "\n");
  const nlohmann::json json = nlohmann::json::parse(record);
  ASSERT_EQ(json["results"].size(), 2u);
  for (const nlohmann::json& one : json["results"]) {
    EXPECT_FALSE(one.contains("wrong_result")) << one;
    EXPECT_EQ(one["timings"].size(), 2u);
    EXPECT_GT(one["timings"][0]["median_seconds"].get<double>(), 0);
    EXPECT_GT(one["share_of_bound"].get<double>(), 0);
  }
  EXPECT_EQ(json["skewed_over_uniform"].size(), 1u);
}

}  // namespace
}  // namespace tessera::cli
