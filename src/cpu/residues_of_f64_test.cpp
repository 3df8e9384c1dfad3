// f64 by tile registers, by residues: sums that are exact, what panels residues hold, and that what
// they do not comes out as of vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/catalogue.hpp"
#include "cpu/kernel.hpp"
#include "cpu/run.hpp"
#include "support/kernel_runs.hpp"
#include "tessera/packed.hpp"

namespace tessera {
namespace {

constexpr const char* kResidues = "cpu_amx_f64";
constexpr const char* kVectors = "cpu_avx512_f64";
constexpr std::int64_t kRows = 32;  // of a strip, and columns of a panel
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const cpu::KernelCode* code_here() {
  return test::code_here(kResidues);
}

// Row after row; a layout with strides is another view of them.
struct Sums {
  GemmShape shape;
  std::vector<double> a, b, c;
  bool a_across = false;  // k
  bool b_along = false;   // k
  std::int64_t step = 1;  // from an element to the next

  explicit Sums(const GemmShape& of, unsigned seed = 19)
      : shape(of),
        a(static_cast<std::size_t>(of.m * of.k)),
        b(static_cast<std::size_t>(of.k * of.n)),
        c(static_cast<std::size_t>(of.m * of.n), kNan) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> value;
    for (double& element : a) element = value(random);
    for (double& element : b) element = value(random);
  }
  double& of_a(std::int64_t row, std::int64_t k) {
    return a[static_cast<std::size_t>(step * (a_across ? k * shape.m + row : row * shape.k + k))];
  }
  double& of_b(std::int64_t k, std::int64_t col) {
    return b[static_cast<std::size_t>(step * (b_along ? col * shape.k + k : k * shape.n + col))];
  }
  double at(std::int64_t row, std::int64_t col) const {
    return c[static_cast<std::size_t>(row * shape.n + col)];
  }
  Operands operands() {
    const std::int64_t m = shape.m;
    const std::int64_t n = shape.n;
    const std::int64_t k = shape.k;
    return {
        {a.data(), m, k, step * (a_across ? 1 : k), step * (a_across ? m : 1), ElementType::f64},
        {b.data(), k, n, step * (b_along ? 1 : n), step * (b_along ? k : 1), ElementType::f64},
        {c.data(), m, n, n, 1, ElementType::f64}};
  }
  Plan plan(const char* kernel, const test::Blocks& blocks, const Schedule& schedule) {
    const Operands all = operands();
    Plan plan = test::plan_for(*find_kernel(kernel), gemm_types_for(ElementType::f64), shape,
                               blocks, schedule);
    plan.problem = describe({&all, 1}, 1, 0, {});
    return plan;
  }
  void compute(const char* kernel, const test::Blocks& blocks = {96, 64, 128},
               const Schedule& schedule = {.workers = 2}) {
    const Operands all = operands();
    cpu::run_plan(plan(kernel, blocks, schedule), {&all, 1}, {.threads = 2});
  }
};

// Whether residues hold a strip of rows that lie along k, or a panel of such columns.
bool are_held(const std::vector<double>& elements, std::int64_t lines, std::int64_t depth,
              bool is_a) {
  const cpu::KernelCode& code = *code_here();
  const std::int64_t bytes = is_a ? code.panel_bytes_a(depth) : code.panel_bytes_b(depth);
  std::vector<unsigned char> panel(static_cast<std::size_t>(bytes));
  (is_a ? code.pack_a : code.pack_b)({elements.data(), lines, depth, depth, 1}, panel.data());
  std::int64_t held = 0;
  std::memcpy(&held, panel.data() + bytes - 3 * sizeof(held), sizeof(held));
  return held != 0;
}

// Integers, which two roundings would show: of blocks that are whole and not, of one and of several
// hundred of k, with two or many chunks each, in every layout and schedule.
TEST(ResiduesOfF64, SumsOfIntegersAreExact) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  int number = 0;
  for (const GemmShape& shape : {GemmShape{1, 1, 1},
                                 {32, 32, 64},
                                 {33, 31, 65},
                                 {70, 300, 500},
                                 {290, 40, 127},
                                 {64, 64, 2500}}) {
    for (const std::int64_t most : {3, 1000, 1 << 20}) {
      for (int layout = 0; layout < 8; ++layout) {
        Sums sums(shape);
        sums.a_across = layout % 2 == 1;
        sums.b_along = layout / 2 % 2 == 1;
        if (layout >= 4) sums.step = 3;
        sums.a.resize(sums.a.size() * static_cast<std::size_t>(sums.step));
        sums.b.resize(sums.b.size() * static_cast<std::size_t>(sums.step));
        std::mt19937_64 random(static_cast<unsigned>(++number));
        std::uniform_int_distribution<std::int64_t> value(-most, most);
        for (double& element : sums.a) element = static_cast<double>(value(random));
        for (double& element : sums.b) element = static_cast<double>(value(random));
        const auto& schedule = test::kSchedules[static_cast<std::size_t>(number) % 5];
        sums.compute(kResidues, {96, 64, number / 8 % 2 == 0 ? 128 : 1280}, schedule);
        for (std::int64_t row = 0; row < shape.m; ++row) {
          for (std::int64_t col = 0; col < shape.n; ++col) {
            std::int64_t exact = 0;
            for (std::int64_t k = 0; k < shape.k; ++k) {
              exact += static_cast<std::int64_t>(sums.of_a(row, k)) *
                       static_cast<std::int64_t>(sums.of_b(k, col));
            }
            ASSERT_EQ(sums.at(row, col), static_cast<double>(exact)) << row << ", " << col;
          }
        }
      }
    }
  }
}

// The same by residues alone: panels are held.
TEST(ResiduesOfF64, OrdinaryElementsAreHeld) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::exponential_distribution<double> exponential;
  for (const std::int64_t depth : {256, 1000}) {
    for (const double scale : {1.0, 1e-60, 1e60}) {
      for (int kind = 0; kind < 4; ++kind) {
        std::vector<double> elements(static_cast<std::size_t>(kRows * depth));
        for (double& element : elements) {
          element = scale * (kind == 0   ? normal(random)
                             : kind == 1 ? uniform(random)
                             : kind == 2 ? exponential(random)
                                         : 1.0);
        }
        // A row of zeros, of which nothing is lost.
        std::fill_n(elements.begin() + 2 * depth, depth, 0.0);
        EXPECT_TRUE(are_held(elements, kRows, depth, true)) << kind << ", " << scale;
        EXPECT_TRUE(are_held(elements, kRows, depth, false)) << kind << ", " << scale;
        EXPECT_TRUE(are_held(elements, 5, depth, true));
        EXPECT_TRUE(are_held(elements, 5, depth, false));
      }
    }
  }
}

TEST(ResiduesOfF64, WhatTheyDoNotHold) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  constexpr std::int64_t kDepth = 128;
  const std::vector<double> even(static_cast<std::size_t>(kRows * kDepth), 1.25);
  ASSERT_TRUE(are_held(even, kRows, kDepth, true));
  for (const bool is_a : {true, false}) {
    for (const double special : {kInfinity, -kInfinity, kNan, 1e150, -1e300}) {
      for (const std::size_t at : {std::size_t{0}, even.size() / 2 + 9, even.size() - 1}) {
        std::vector<double> elements = even;
        elements[at] = special;
        EXPECT_FALSE(are_held(elements, kRows, kDepth, is_a)) << special << " at " << at;
      }
    }
    // A line whose squares are nothing.
    std::vector<double> small = even;
    std::fill_n(small.begin() + 7 * kDepth, kDepth, 1e-200);
    EXPECT_FALSE(are_held(small, kRows, kDepth, is_a));
    // Of one line three quarters are large, or one less; zeros are not.
    std::vector<double> sparse = even;
    std::fill_n(sparse.begin() + 31 * kDepth, kDepth / 4, 0.0);
    EXPECT_TRUE(are_held(sparse, kRows, kDepth, is_a));
    sparse[static_cast<std::size_t>(32 * kDepth - 1)] = 1e-9;
    EXPECT_FALSE(are_held(sparse, kRows, kDepth, is_a));
  }
}

// Of equal elements, whose sums are as large as any that are held: the quotient by P is a half but
// for what it has to spare. Also as deep as blocks may be, and deeper.
TEST(ResiduesOfF64, SumsOfEqualElementsAreExact) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const std::int64_t k : {64, 1280, 65536}) {
    for (double element = 1024; element<2048; element += k> 2000 ? 173 : 7) {
      Sums sums({33, 32, k});
      std::fill(sums.a.begin(), sums.a.end(), element);
      std::fill(sums.b.begin(), sums.b.end(), element);
      for (std::int64_t i = 0; i < k; ++i) sums.of_b(i, 5) = -element;
      sums.compute(kResidues, {64, 32, k});
      for (std::int64_t row = 0; row < 33; ++row) {
        ASSERT_EQ(sums.at(row, 0), static_cast<double>(k) * element * element) << element;
        ASSERT_EQ(sums.at(row, 5), -static_cast<double>(k) * element * element) << element;
      }
    }
  }
  const std::vector<double> ones(65537, 1.0);
  EXPECT_TRUE(are_held(ones, 1, 65536, true));
  EXPECT_FALSE(are_held(ones, 1, 65537, true));
  EXPECT_FALSE(are_held(ones, 1, 65537, false));
}

// Quotients are rounded to the nearest or not at all: in other modes vectors round as they say.
TEST(ResiduesOfF64, OtherRoundingModesAreVectors) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    Sums sums({70, 64, 300});
    const Operands operands = sums.operands();
    const Plan plan = sums.plan(kResidues, {96, 64, 300}, {});
    cpu::run_plan(plan, {&operands, 1}, {.threads = 1});
    const std::vector<double> nearest = sums.c;
    const int before = std::fegetround();
    std::fesetround(mode);
    cpu::run_plan(plan, {&operands, 1}, {.threads = 1});
    std::fesetround(before);
    for (std::size_t i = 0; i < nearest.size(); ++i) {
      ASSERT_NEAR(sums.c[i], nearest[i], 1e-12) << mode << ", " << i;
    }
    EXPECT_NE(sums.c, nearest);
  }
}

// Strips and panels that are not held, one alone and several together, beside others that are, in
// blocks of k that vectors take in pieces; C in rows, and apart, where there is no place for sums.
TEST(ResiduesOfF64, WhatIsNotHeldIsScaledAndFinishedAsTheRest) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  const GemmShape shape{300, 290, 500};
  for (const std::int64_t step : {1, 2}) {
    for (const double beta : {0.0, 2.0}) {
      Sums sums(shape);
      for (const std::int64_t row : {3, 40, 41, 69, 280, 299}) sums.of_a(row, 400) = 1e200;
      for (const std::int64_t row : {3, 40, 41, 69, 280, 299}) {
        for (std::int64_t k = 0; k < shape.k; ++k) {
          if (k != 400) sums.of_a(row, k) = 0;
        }
      }
      for (const std::int64_t col : {0, 150, 257}) {
        for (std::int64_t k = 0; k < shape.k; k += 2) sums.of_b(k, col) = 0;
      }
      sums.c.assign(static_cast<std::size_t>(step * shape.m * shape.n), 0.5);
      const std::vector<double> bias(static_cast<std::size_t>(shape.m), -0.75);
      std::vector<std::vector<double>> results;
      for (const char* kernel : {kResidues, kVectors}) {
        std::fill(sums.c.begin(), sums.c.end(), 0.5);
        Operands operands = sums.operands();
        operands.c.row_stride = step * shape.n;
        operands.c.col_stride = step;
        operands.bias = {bias.data(), shape.m, 1, ElementType::f64};
        Plan plan = sums.plan(kernel, {320, 320, 500}, {.workers = 2});
        plan.problem = describe({&operands, 1}, 0.5, beta, {BiasAxis::row, Activation::relu});
        cpu::run_plan(plan, {&operands, 1}, {.threads = 2});
        results.push_back(sums.c);
      }
      for (std::size_t i = 0; i < sums.c.size(); ++i) {
        const double expected = results[1][i];
        ASSERT_NEAR(results[0][i], expected, 1e-12 * std::max(1.0, std::abs(expected)))
            << step << ", " << beta << ", " << i;
      }
    }
  }
}

// Each element's error beside what a sum of k products may have in f64, and in the mean less than
// vectors have; also of rows that are as uneven as residues hold.
TEST(ResiduesOfF64, AreMorePreciseThanVectors) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const std::int64_t k : {64, 256, 1024}) {
    for (int kind = 0; kind < 3; ++kind) {
      if (kind == 2 && k == 64) continue;  // more than a quarter may be small
      Sums residues({32, 32, k}, 7);
      std::mt19937_64 random(5);
      for (std::size_t i = 0; i < residues.a.size(); ++i) {
        if (kind == 1) residues.a[i] = std::abs(residues.a[i]);
        if (kind == 1) residues.b[i] = std::abs(residues.b[i]);
        if (kind == 2 && random() % 12 == 0) residues.a[i] *= 1e-12;
        if (kind == 2 && random() % 12 == 0) residues.b[i] *= 1e-12;
      }
      Sums vectors = residues;
      residues.compute(kResidues, {32, 32, k});
      vectors.compute(kVectors, {32, 32, k});
      double errors[2] = {};
      for (std::int64_t row = 0; row < 32; ++row) {
        for (std::int64_t col = 0; col < 32; ++col) {
          long double exact = 0;
          double sizes = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            const long double x = residues.of_a(row, i);
            exact += x * residues.of_b(i, col);
            sizes += std::abs(residues.of_a(row, i) * residues.of_b(i, col));
          }
          const double unit = 0x1p-53 * sizes;
          const auto error = static_cast<double>(residues.at(row, col) - exact) / unit;
          const auto other = static_cast<double>(vectors.at(row, col) - exact) / unit;
          EXPECT_LE(std::abs(error), 4) << k << ", " << kind << ": " << error << " and " << other;
          errors[0] += error * error;
          errors[1] += other * other;
        }
      }
      EXPECT_LT(errors[0], errors[1]) << k << ", " << kind;
    }
  }
}

// The others of its strip or panel are multiplied by vectors, all others as ever, and it is what a
// multiplication of doubles makes of it.
TEST(ResiduesOfF64, AnElementThatTheyDoNotHoldTouchesItsStripAlone) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  const GemmShape shape{130, 100, 150};
  Sums plain(shape);
  plain.compute(kResidues);
  int number = 0;
  for (const double special : {kInfinity, kNan, 0x1p-1060, 0x1p-700, 0x1p900}) {
    for (const bool in_a : {true, false}) {
      Sums with(shape);
      const std::int64_t line = 40;
      // Alone in its row, or column, so that a small one shows.
      for (std::int64_t k = 0; k < shape.k; ++k)
        (in_a ? with.of_a(line, k) : with.of_b(k, line)) = 0;
      (in_a ? with.of_a(line, 70) : with.of_b(70, line)) = special;
      Sums by_vectors = with;
      with.compute(kResidues, {96, 64, 128},
                   test::kSchedules[static_cast<std::size_t>(number++) % 5]);
      by_vectors.compute(kVectors);
      for (std::int64_t row = 0; row < shape.m; ++row) {
        for (std::int64_t col = 0; col < shape.n; ++col) {
          const double found = with.at(row, col);
          const double expected = by_vectors.at(row, col);
          const std::int64_t across = in_a ? row : col;
          if (across / kRows != line / kRows) {
            ASSERT_NEAR(found, plain.at(row, col), 1e-12) << row << ", " << col;
          } else if (!std::isfinite(expected)) {
            ASSERT_EQ(std::isnan(found), std::isnan(expected));
            ASSERT_EQ(std::signbit(found), std::signbit(expected)) << special;
          } else if (across == line) {
            ASSERT_EQ(found, expected) << special << ", " << row << ", " << col;
          } else {
            ASSERT_NEAR(found, expected, 1e-12) << special << ", " << row << ", " << col;
          }
        }
      }
    }
  }
}

// A plan's bits do not depend on the number of threads, nor on who has the memory, also where its
// blocks cut strips and some are not held.
TEST(ResiduesOfF64, BitsAreThePlansOnAnyNumberOfThreads) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const std::int64_t block : {48, 96, 320}) {
    Sums sums({80, 300, 200});
    sums.of_a(60, 9) = 1e200;
    const Plan plan = sums.plan(kResidues, {block, block, 128}, {.workers = 2});
    const Operands operands = sums.operands();
    const auto results = test::results_on_threads(plan, operands, [&] { return sums.c; });
    for (const std::vector<double>& result : results) EXPECT_EQ(result, results.front()) << block;
  }
}

// Panels that are packed ahead keep the elements that vectors need, whatever becomes of B.
TEST(ResiduesOfF64, APackedBKeepsItsElements) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const bool along : {false, true}) {
    Sums sums({70, 90, 300});
    sums.b_along = along;
    sums.of_a(40, 7) = kInfinity;
    sums.of_b(200, 50) = 1e220;
    Operands operands = sums.operands();
    const Plan plan = sums.plan(kResidues, {96, 64, 128}, {.workers = 2});
    cpu::run_plan(plan, {&operands, 1}, {.threads = 2});
    const std::vector<double> expected = sums.c;
    const PackedMatrix packed = pack_b(plan, operands.b);
    std::fill(sums.b.begin(), sums.b.end(), kNan);
    std::fill(sums.c.begin(), sums.c.end(), -1);
    operands.packed_b = &packed;
    operands.b.data = nullptr;
    cpu::run_plan(plan, {&operands, 1}, {.threads = 2});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(std::isnan(sums.c[i]), std::isnan(expected[i])) << i;
      if (std::isnan(expected[i])) continue;
      ASSERT_EQ(sums.c[i], expected[i]) << i;
    }
  }
}

}  // namespace
}  // namespace tessera
