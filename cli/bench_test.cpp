// Lists of shapes, and the protocol that times them.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "bench/cases.hpp"
#include "bench/protocol.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

TEST(Cases, ReadsDenseLists) {
  const auto cases = parse_cases("m,n,k,why\n1,2,3,\"long, k\"\r\n\n4,5,6,odd\n", "list.csv", 1);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].kind, "long, k");
  EXPECT_EQ(cases[1].groups[0], (GemmShape{4, 5, 6}));
}

TEST(Cases, DrawsTheRowsOfGroups) {
  const std::string head = "suite,groups,n,k,total_rows,sizes\n";
  const auto cases =
      parse_cases(head + "\"a, b\",8,64,32,1600,uniform\n\"a, b\",8,64,32,1600,dirichlet(1.0)\n",
                  "list.csv", 16);
  ASSERT_EQ(cases.size(), 2u);
  for (const Case& one : cases) {
    ASSERT_EQ(one.groups.size(), 8u);
    std::int64_t rows = 0;
    std::int64_t most = 0;
    for (const GemmShape& shape : one.groups) {
      EXPECT_EQ(shape.n, 64);
      EXPECT_EQ(shape.k, 32);
      rows += shape.m;
      most = std::max(most, shape.m);
    }
    EXPECT_EQ(rows, 100);
    EXPECT_LT(most, 100);
  }
  EXPECT_EQ(cases[0].groups, parse_cases(head + "x,8,64,32,1600,uniform\n", "", 16)[0].groups);
}

TEST(Cases, NamesTheLineThatIsWrong) {
  for (const char* const csv :
       {"a,b,c\n", "m,n,k,why\n1,2\n", "m,n,k,why\n1,2,x,odd\n", "m,n,k,why\n1,2,-3,odd\n",
        "suite,groups,n,k,total_rows,sizes\ns,0,1,1,1,uniform\n",
        "suite,groups,n,k,total_rows,sizes\ns,2,1,1,1,normal\n",
        "suite,groups,n,k,total_rows,sizes\ns,2,1,1,1,dirichlet(-1)\n",
        "suite,groups,n,k,total_rows,sizes\ns,2,1,1,1,dirichlet(1.0\n"}) {
    try {
      parse_cases(csv, "list.csv", 1);
      ADD_FAILURE() << csv;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'list.csv'"), std::string::npos);
    }
  }
}

TEST(Cases, HasTheBuiltInLists) {
  for (const char* const name : {"cpu", "dense", "epilogue", "grouped", "last_wave", "weights"}) {
    EXPECT_GT(parse_cases(built_in_shapes(name), name, 16).size(), 10u) << name;
  }
  EXPECT_EQ(parse_cases(built_in_shapes("decode"), "decode", 16).size(), 9u);
  EXPECT_EQ(built_in_names(), "cpu, decode, dense, epilogue, grouped, last_wave, weights");
  EXPECT_TRUE(built_in_shapes("unknown").empty());
}

TEST(Protocol, TakesTurnsAndPairsSamples) {
  std::string calls;
  const auto wait = [](int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  };
  const std::vector<Timing> timings = measure({{"one",
                                                [&] {
                                                  calls += '1';
                                                  wait(3);
                                                }},
                                               {"two",
                                                [&] {
                                                  calls += '2';
                                                  wait(9);
                                                }}},
                                              {.seconds = 0.01, .between_rounds = {}});
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].samples.size(), timings[1].samples.size());
  EXPECT_GE(timings[0].samples.size(), 3u);
  EXPECT_NE(calls.find("12"), std::string::npos);
  EXPECT_NE(calls.find("21"), std::string::npos);
  EXPECT_LE(timings[0].best, timings[0].lower_quartile);
  EXPECT_LE(timings[0].lower_quartile, timings[0].median);
  EXPECT_LE(timings[0].median, timings[0].upper_quartile);
  EXPECT_GT(paired_ratio(timings[0], timings[1]), 1.2);
}

TEST(Protocol, RepeatsShortCalls) {
  int calls = 0;
  const std::vector<Timing> timings =
      measure({{"short", [&] { ++calls; }}}, {.seconds = 0.001, .between_rounds = {}});
  EXPECT_GT(timings[0].calls_per_sample, 1000);
  EXPECT_GT(calls, timings[0].calls_per_sample);
  EXPECT_LT(timings[0].median, 1e-4);
}

}  // namespace
}  // namespace tessera::bench
