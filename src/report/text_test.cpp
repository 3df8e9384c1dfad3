#include "report/text.hpp"

#include <gtest/gtest.h>

namespace tessera::report {
namespace {

TEST(ReportText, FiguresHaveThreeDigits) {
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(0.5), "0.5");
  EXPECT_EQ(figure(64), "64");
  EXPECT_EQ(figure(63.99), "64");
  EXPECT_EQ(figure(418.4), "418");
  EXPECT_EQ(figure(1234567), "1\u202f234\u202f567");
  EXPECT_EQ(figure(0.00004), "4e-05");
}

TEST(ReportText, UnitsChangeWithoutOverflowingThreeDigits) {
  EXPECT_EQ(seconds(53.12e-6), "53.1 µs");
  EXPECT_EQ(seconds(0.9997e-3), "1 ms");
  EXPECT_EQ(seconds(0), "0 s");
  EXPECT_EQ(bytes(98304), "96 KB");
  EXPECT_EQ(bytes(1023.9), "1 KB");
  EXPECT_EQ(flops_per_second(989.4e12), "989 TFLOP/s");
  EXPECT_EQ(bytes_per_second(4.8e12), "4.8 TB/s");
  EXPECT_EQ(percent(0.9714), "97 %");
  EXPECT_EQ(percent(0.004), "0.4 %");
}

TEST(ReportText, AsciiHasNoOtherBytesAndKeepsTheMeaning) {
  EXPECT_EQ(to_ascii("53.1 µs · 1.27× → 8 ≤ 9"), "53.1 us * 1.27x -> 8 <= 9");
  EXPECT_EQ(to_ascii("日本"), "??");
  EXPECT_EQ(columns("µs ×"), 4u);
}

TEST(ReportText, LongGroupsAreCounted) {
  Problem problem;
  EXPECT_EQ(shapes(problem), "no products");
  problem.groups = {{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(shapes(problem), "1 × 2 × 3, 4 × 5 × 6");
  problem.groups.resize(70, {7, 8, 9});
  EXPECT_EQ(shapes(problem), "70 products: 1 × 2 × 3, 4 × 5 × 6, 7 × 8 × 9, …");
}

}  // namespace
}  // namespace tessera::report
