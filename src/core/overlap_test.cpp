// The quick question about address ranges against one byte at a time, on random views of one
// buffer.
#include "core/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t kBuffer = 400;

struct RandomViews {
  explicit RandomViews(unsigned seed) : random(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }

  ConstMatrixView next() {
    const std::int64_t rows = between(0, 4);
    const std::int64_t cols = between(0, 4);
    const ConstMatrixView view{buffer.data() + between(0, kBuffer - 40),
                               rows,
                               cols,
                               cols + between(0, 5),
                               1,
                               ElementType::f32};
    return between(0, 1) == 0 ? view : view.transposed();
  }

  std::mt19937 random;
  std::vector<float> buffer = std::vector<float>(kBuffer);
};

std::set<const float*> elements_of(const ConstMatrixView& view) {
  std::set<const float*> elements;
  for (std::int64_t i = 0; i < view.rows; ++i) {
    for (std::int64_t j = 0; j < view.cols; ++j) {
      elements.insert(static_cast<const float*>(view.data) + i * view.row_stride +
                      j * view.col_stride);
    }
  }
  return elements;
}

// Whether the closed ranges of addresses meet.
bool ranges_meet(const ConstMatrixView& p, const ConstMatrixView& q) {
  const std::set<const float*> of_p = elements_of(p);
  const std::set<const float*> of_q = elements_of(q);
  if (of_p.empty() || of_q.empty()) return false;
  return *of_p.begin() <= *of_q.rbegin() && *of_q.begin() <= *of_p.rbegin();
}

TEST(OutputRanges, AnswerAsEveryPairWould) {
  int apart = 0;
  int together = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomViews views(seed);
    OutputRanges ranges;
    std::vector<ConstMatrixView> outputs;
    for (std::int64_t i = views.between(0, 4); i > 0; --i) outputs.push_back(views.next());
    bool outputs_meet = false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ranges.add(outputs[i]);
      for (std::size_t j = 0; j < i; ++j) outputs_meet |= ranges_meet(outputs[i], outputs[j]);
    }
    ASSERT_EQ(ranges.settle(), !outputs_meet) << "seed " << seed;
    if (outputs_meet) continue;
    for (int i = 0; i < 6; ++i) {
      const ConstMatrixView input = views.next();
      const bool meets = std::ranges::any_of(
          outputs, [&](const ConstMatrixView& output) { return ranges_meet(output, input); });
      ASSERT_EQ(ranges.meets(input), meets) << "seed " << seed << ", input " << i;
      ++(meets ? together : apart);
    }
  }
  EXPECT_GT(apart, 1000);
  EXPECT_GT(together, 500);
}

TEST(CheckNoOverlap, RefusesExactlySharedElements) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomViews views(seed);
    const NamedView output{views.next(), "C", 0, true};
    const NamedView input{views.next(), "A", 0, false};
    const std::set<const float*> of_output = elements_of(output.view);
    const std::set<const float*> of_input = elements_of(input.view);
    const bool shared = std::ranges::any_of(
        of_input, [&](const float* element) { return of_output.contains(element); });
    bool refused = false;
    try {
      check_no_overlap(std::vector{output, input});
    } catch (const std::exception&) {
      refused = true;
    }
    ASSERT_EQ(refused, shared) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tessera
