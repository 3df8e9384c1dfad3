// f32 by tile registers, in three parts of bf16: what becomes of elements in a packed panel, which
// panels are kept whole, and that what parts cannot hold comes out as of vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/catalogue.hpp"
#include "core/convert.hpp"
#include "cpu/kernel.hpp"
#include "cpu/run.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kRows = 32;   // of a strip, and columns of a panel
constexpr std::int64_t kChunk = 32;  // of k
constexpr std::int64_t kPart = kRows * kChunk;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSubnormal = 0x1p-140F;

constexpr const char* kParts = "cpu_amx_f32";
constexpr const char* kVectors = "cpu_avx512_f32";

const cpu::KernelCode* code_here() {
  return test::code_here(kParts);
}

// A strip or a panel of one chunk, as packed.
struct Panel {
  std::vector<std::uint16_t> bytes;

  float part(int number, std::int64_t row, std::int64_t word) const {
    const auto at = static_cast<std::size_t>(number * kPart + row * kChunk + word);
    return to_float(bf16{bytes[at]});
  }
  // f32 as it is, of k in a row.
  float whole(std::int64_t row, std::int64_t k) const {
    const auto at = static_cast<std::size_t>(2 * (row * kChunk + k));
    return std::bit_cast<float>(bytes[at] | std::uint32_t{bytes[at + 1]} << 16);
  }
};

// A strip of rows, or a panel of columns, of elements that lie along k or across it.
Panel packed(const cpu::KernelCode& code, const std::vector<float>& elements, bool is_a,
             bool along_k) {
  const std::int64_t bytes = is_a ? code.panel_bytes_a(kChunk) : code.panel_bytes_b(kChunk);
  Panel panel{std::vector<std::uint16_t>(static_cast<std::size_t>(bytes / 2))};
  const cpu::PackSource source{elements.data(), kRows, kChunk, along_k ? kChunk : 1,
                               along_k ? 1 : kRows};
  (is_a ? code.pack_a : code.pack_b)(source, panel.bytes.data());
  return panel;
}

TEST(SplitF32, EveryElementIsTheSumOfItsParts) {
  const cpu::KernelCode* const code = code_here();
  if (code == nullptr) GTEST_SKIP() << "has no tile registers";
  std::mt19937 random(7);
  std::vector<float> elements(static_cast<std::size_t>(kRows * kChunk));
  for (int round = 0; round < 40; ++round) {
    const bool is_a = round % 2 == 0;
    const bool along_k = round % 4 < 2;
    for (float& element : elements) {
      const auto bits = static_cast<std::uint32_t>(random());
      const auto exponent = static_cast<std::uint32_t>(25 + random() % 228);  // 2^-102 to 2^125
      element = std::bit_cast<float>((bits & 0x807fffffU) | exponent << 23);
      if (random() % 16 == 0) element = 0;
    }
    elements[0] = std::bit_cast<float>(0x0c800001);   // the least with all bits
    elements[1] = -std::bit_cast<float>(0x7e7fffff);  // rounded up to 2^126
    const Panel panel = packed(*code, elements, is_a, along_k);
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t k = 0; k < kChunk; ++k) {
        const std::int64_t at = along_k ? row * kChunk + k : k * kRows + row;
        const float element = elements[static_cast<std::size_t>(at)];
        // k and k + 16 are a pair; of B's those of a column.
        const std::int64_t line = is_a ? row : k % 16 * 2 + row / 16;
        const std::int64_t word = is_a ? k % 16 * 2 + k / 16 : row % 16 * 2 + k / 16;
        const float first = panel.part(0, line, word);
        const float second = panel.part(1, line, word);
        const float third = panel.part(2, line, word);
        ASSERT_EQ(first + (second + third), element) << row << ", " << k;
        ASSERT_LE(std::abs(second), std::abs(element) * 0x1p-8F);
        ASSERT_LE(std::abs(third), std::abs(element) * 0x1p-16F);
        for (const float part : {first, second, third}) {
          ASSERT_TRUE(part == 0 || std::isnormal(part));  // as tile registers take them
        }
      }
    }
  }
}

TEST(SplitF32, PanelsThatPartsDoNotHoldStayWhole) {
  const cpu::KernelCode* const code = code_here();
  if (code == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const std::uint32_t bits :
       {0x00000001U, 0x00008000U, 0x007fffffU, 0x00800000U, 0x0c7f7fffU, 0x7f000000U, 0x7f7fffffU,
        0x7f800000U, 0x7f800001U, 0x7fc00000U, 0x7fff8000U, 0x7fffffffU}) {
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      for (const std::size_t at : {0U, 17U, 1023U}) {
        std::vector<float> elements(static_cast<std::size_t>(kRows * kChunk), 1.25F);
        elements[at] = std::bit_cast<float>(bits | sign);
        const Panel panel = packed(*code, elements, true, true);
        for (std::size_t i = 0; i < elements.size(); ++i) {
          const auto row = static_cast<std::int64_t>(i) / kChunk;
          const auto k = static_cast<std::int64_t>(i) % kChunk;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(panel.whole(row, k)),
                    std::bit_cast<std::uint32_t>(elements[i]))
              << std::hex << bits << " at " << at << ", " << i;
        }
      }
    }
  }
}

// One product of two elements, of strips and panels that hold nothing else but zeros.
TEST(SplitF32, ProductsOfAnyTwoAreAsFloatsAre) {
  const cpu::KernelCode* const code = code_here();
  if (code == nullptr) GTEST_SKIP() << "has no tile registers";
  std::vector<float> values;
  for (const float value : {0.0F,
                            kSubnormal,
                            0x1.fffffep-127F,
                            0x1p-126F,
                            0x1.abcdeep-104F,
                            0x1.abcdeep-103F,
                            0x1.357913p-75F,
                            0x1.fedcbap-51F,
                            0x1.23457p-50F,
                            0x1.abcdefp-26F,
                            1.0F,
                            0x1.ffffp0F,
                            0x1.fffffep0F,
                            3.0F,
                            0x1.010101p49F,
                            0x1.77777p50F,
                            0x1.abcdefp51F,
                            0x1p100F,
                            0x1.fffffep126F,
                            0x1p127F,
                            std::numeric_limits<float>::max(),
                            kInfinity,
                            kNan}) {
    values.push_back(value);
    values.push_back(-value);
  }
  std::vector<unsigned char> a(static_cast<std::size_t>(code->panel_bytes_a(1)));
  std::vector<unsigned char> b(static_cast<std::size_t>(code->panel_bytes_b(1)));
  float sum = -1;
  for (const float x : values) {
    code->pack_a({&x, 1, 1, 1, 1}, a.data());
    for (const float y : values) {
      code->pack_b({&y, 1, 1, 1, 1}, b.data());
      cpu::BlockTask task = test::task_of_panels(*code, {1, 1, 1}, a.data(), b.data());
      task.sum = &sum;
      task.sum_stride = 1;
      code->multiply(task);
      const float expected = x * y;
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(sum)) << x << " · " << y;
      } else if (std::abs(expected) < 0x1p-102F || std::abs(expected) >= 0x1p102F) {
        ASSERT_EQ(sum, expected) << x << " · " << y;  // by vectors
      } else {
        // Three products are left out, and the others rounded as they are added up.
        ASSERT_LE(std::abs(static_cast<double>(sum) - static_cast<double>(x) * y),
                  0x1.8p-23 * std::abs(expected))
            << x << " · " << y;
      }
    }
  }
}

struct Sums {
  GemmShape shape;
  std::vector<float> a, b, c;

  explicit Sums(const GemmShape& of)
      : shape(of),
        a(static_cast<std::size_t>(of.m * of.k)),
        b(static_cast<std::size_t>(of.k * of.n)),
        c(static_cast<std::size_t>(of.m * of.n), kNan) {
    std::mt19937 random(19);
    std::normal_distribution<float> value;
    for (float& element : a) element = value(random);
    for (float& element : b) element = value(random);
  }
  Operands operands() {
    return {{a.data(), shape.m, shape.k, shape.k, 1, ElementType::f32},
            {b.data(), shape.k, shape.n, shape.n, 1, ElementType::f32},
            {c.data(), shape.m, shape.n, shape.n, 1, ElementType::f32}};
  }
  Plan plan(const char* kernel, const test::Blocks& blocks, int workers) const {
    return test::plan_for(*find_kernel(kernel), gemm_types_for(ElementType::f32), shape, blocks,
                          {.workers = workers});
  }
  void compute(const char* kernel, double alpha = 1, double beta = 0, int block_k = 64) {
    const Operands all = operands();
    Plan planned = plan(kernel, {96, 64, block_k}, 2);
    planned.problem.alpha = alpha;
    planned.problem.beta = beta;
    cpu::run_plan(planned, {&all, 1}, {.threads = 2});
  }
  float at(std::int64_t row, std::int64_t col) const {
    return c[static_cast<std::size_t>(row * shape.n + col)];
  }
};

// The others of its strip or panel are multiplied by vectors, and all others as ever.
TEST(SplitF32, AnElementThatPartsDoNotHoldTouchesItsStripAlone) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  const GemmShape shape{130, 100, 150};
  Sums plain(shape);
  plain.compute(kParts);
  for (const float special : {kInfinity, kNan, kSubnormal, 0x1p-120F, 0x1p127F}) {
    Sums with(shape);
    // Alone in its row, so that a small one shows.
    for (std::int64_t k = 0; k < shape.k; ++k)
      with.a[static_cast<std::size_t>(40 * shape.k + k)] = 0;
    with.a[static_cast<std::size_t>(40 * shape.k + 70)] = special;
    Sums by_vectors = with;
    with.compute(kParts);
    by_vectors.compute(kVectors);
    for (std::int64_t row = 0; row < shape.m; ++row) {
      for (std::int64_t col = 0; col < shape.n; ++col) {
        if (row / kRows != 40 / kRows) {
          ASSERT_EQ(with.at(row, col), plain.at(row, col)) << row << ", " << col;
        } else if (!std::isfinite(by_vectors.at(row, col))) {
          ASSERT_EQ(std::isnan(with.at(row, col)), std::isnan(by_vectors.at(row, col)));
          ASSERT_EQ(std::signbit(with.at(row, col)), std::signbit(by_vectors.at(row, col)))
              << special << ", " << row << ", " << col;
        } else if (row == 40) {
          ASSERT_EQ(with.at(row, col), by_vectors.at(row, col)) << special << ", " << col;
        } else {
          const float scale = std::max(100.0F, std::abs(by_vectors.at(row, col)));
          ASSERT_NEAR(with.at(row, col), by_vectors.at(row, col), 1e-6F * scale) << row;
        }
      }
    }
  }
}

// What beta keeps is added by vectors, in all blocks of k.
TEST(SplitF32, SubnormalSumsAreKept) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const double beta : {1.0, 0.5}) {
    for (const float scale : {0.0F, 0x1p-70F}) {
      Sums sums({64, 64, 200});
      for (float& element : sums.a) element *= scale;
      for (float& element : sums.b) element *= scale;
      std::fill(sums.c.begin(), sums.c.end(), kSubnormal);
      Sums by_vectors = sums;
      sums.compute(kParts, 1, beta);
      by_vectors.compute(kVectors, 1, beta);
      for (std::size_t i = 0; i < sums.c.size(); ++i) {
        ASSERT_NEAR(sums.c[i], by_vectors.c[i], scale == 0 ? 0 : 0x1p-147F) << beta << ", " << i;
        ASSERT_TRUE(scale != 0 || sums.c[i] != 0);
      }
    }
  }
}

// Nearer to the truth than multiply-adds are, in blocks of k as plans have them.
TEST(SplitF32, IsMorePreciseThanVectors) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const std::int64_t k : {256, 1024}) {
    for (const bool is_positive : {false, true}) {
      Sums parts({32, 32, k});
      if (is_positive) {
        for (float& element : parts.a) element = std::abs(element);
        for (float& element : parts.b) element = std::abs(element);
      }
      Sums vectors = parts;
      parts.compute(kParts, 1, 0, 128);
      vectors.compute(kVectors, 1, 0, 512);
      double errors[2] = {};
      for (std::int64_t row = 0; row < 32; ++row) {
        for (std::int64_t col = 0; col < 32; ++col) {
          double exact = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            exact += static_cast<double>(parts.a[static_cast<std::size_t>(row * k + i)]) *
                     static_cast<double>(parts.b[static_cast<std::size_t>(i * 32 + col)]);
          }
          errors[0] += std::pow(parts.at(row, col) - exact, 2);
          errors[1] += std::pow(vectors.at(row, col) - exact, 2);
        }
      }
      EXPECT_LT(errors[0], errors[1]) << k << ", " << is_positive;
    }
  }
}

// Turned round, parts are added up in the same order.
TEST(SplitF32, BitsDoNotDependOnHowTheProductIsTurned) {
  const cpu::KernelCode* const code = code_here();
  if (code == nullptr) GTEST_SKIP() << "has no tile registers";
  ASSERT_NE(code->turned, nullptr);
  constexpr std::int64_t kDepth = 3 * kChunk;
  const Sums operands({kRows, kRows, kDepth});
  const auto sums_of = [&](const cpu::KernelCode& by, const cpu::PackSource& rows,
                           const cpu::PackSource& cols) {
    std::vector<unsigned char> a(static_cast<std::size_t>(by.panel_bytes_a(kDepth)));
    std::vector<unsigned char> b(static_cast<std::size_t>(by.panel_bytes_b(kDepth)));
    by.pack_a(rows, a.data());
    by.pack_b(cols, b.data());
    cpu::BlockTask task = test::task_of_panels(by, {kRows, kRows, kDepth}, a.data(), b.data());
    std::vector<float> sums(static_cast<std::size_t>(kRows * kRows));
    task.sum = sums.data();
    task.sum_stride = kRows;
    by.multiply(task);
    return sums;
  };
  const cpu::PackSource rows{operands.a.data(), kRows, kDepth, kDepth, 1};
  const cpu::PackSource cols{operands.b.data(), kRows, kDepth, 1, kRows};
  const auto sums = sums_of(*code, rows, cols);
  const auto turned = sums_of(*code->turned, cols, rows);
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kRows; ++j) {
      ASSERT_EQ(sums[static_cast<std::size_t>(i * kRows + j)],
                turned[static_cast<std::size_t>(j * kRows + i)]);
    }
  }
}

// One element that parts do not hold, beside zeros, wherever it is and however operands lie, are
// dealt, scaled and written: what a multiplication of floats makes of it.
TEST(SplitF32, WhatPartsDoNotHoldComesThroughEverywhere) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  const GemmShape shape{70, 75, 85};
  struct Place {
    std::int64_t row, k;
  };
  int number = 0;
  for (const bool in_a : {true, false}) {
    for (const Place& at : {Place{0, 0}, {31, 15}, {32, 16}, {69, 84}, {40, 47}, {64, 63}}) {
      for (const float special : {kSubnormal, 0x1.234p127F, -kInfinity}) {
        const bool a_across = number % 2 == 1;
        const bool b_across = number / 2 % 2 == 1;  // across n
        const bool strides_c = number / 4 % 2 == 1;
        const bool scales = number / 8 % 2 == 1;
        const auto& schedule = test::kSchedules[static_cast<std::size_t>(number++) % 5];
        std::vector<float> a(static_cast<std::size_t>(shape.m * shape.k), in_a ? 0.0F : 1.5F);
        std::vector<float> b(static_cast<std::size_t>(shape.k * shape.n), in_a ? 1.5F : 0.0F);
        std::vector<float> c(static_cast<std::size_t>(4 * shape.m * shape.n), 0.25F);
        const std::int64_t a_row = a_across ? 1 : shape.k;
        const std::int64_t a_col = a_across ? shape.m : 1;
        const std::int64_t b_row = b_across ? 1 : shape.n;
        const std::int64_t b_col = b_across ? shape.k : 1;
        const std::int64_t c_col = strides_c ? 2 : 1;
        const std::int64_t c_row = 2 * shape.n;
        if (in_a) a[static_cast<std::size_t>(at.row * a_row + at.k * a_col)] = special;
        if (!in_a) b[static_cast<std::size_t>(at.k * b_row + at.row * b_col)] = special;
        const Operands operands{{a.data(), shape.m, shape.k, a_row, a_col, ElementType::f32},
                                {b.data(), shape.k, shape.n, b_row, b_col, ElementType::f32},
                                {c.data(), shape.m, shape.n, c_row, c_col, ElementType::f32}};
        Plan plan = test::plan_for(*find_kernel(kParts), gemm_types_for(ElementType::f32), shape,
                                   {64, 32, 32}, schedule);
        plan.problem = describe({&operands, 1}, scales ? 0.5 : 1, scales ? 2 : 0, {});
        cpu::run_plan(plan, {&operands, 1}, {.threads = 2});
        for (std::int64_t row = 0; row < shape.m; ++row) {
          for (std::int64_t col = 0; col < shape.n; ++col) {
            const bool is_hit = (in_a ? row : col) == at.row;
            const float sum = is_hit ? special * 1.5F : 0.0F;
            const float expected = scales ? 0.5F * sum + 0.5F : sum;
            ASSERT_EQ(c[static_cast<std::size_t>(row * c_row + col * c_col)], expected)
                << number << ": " << row << ", " << col << " of " << special;
          }
        }
      }
    }
  }
}

// A plan's bits do not depend on the number of threads, nor on who has the memory, also where its
// blocks cut strips.
TEST(SplitF32, StripsAreThePlansOnAnyNumberOfThreads) {
  if (code_here() == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const std::int64_t block : {48, 96, 128}) {
    Sums sums({80, 100, 64});
    sums.a[static_cast<std::size_t>(60 * sums.shape.k + 9)] = kSubnormal;
    const Plan plan = sums.plan(kParts, {block, block, 64}, 2);
    const Operands operands = sums.operands();
    const auto results = test::results_on_threads(plan, operands, [&] { return sums.c; });
    for (const std::vector<float>& result : results) EXPECT_EQ(result, results.front()) << block;
  }
}

// Packed the short way (direct.hpp), and by the general one.
TEST(SplitF32, BitsDoNotDependOnTheWay) {
  const cpu::KernelCode* const code = code_here();
  if (code == nullptr) GTEST_SKIP() << "has no tile registers";
  for (const bool is_special : {false, true}) {
    Sums sums({70, 100, 90});
    if (is_special) sums.b[77] = kInfinity;
    const Plan plan = sums.plan(kParts, {96, 128, 96}, 1);
    const Operands operands = sums.operands();
    ASSERT_TRUE(cpu::run_directly(plan, *code, {&operands, 1}, 1));
    const std::vector<float> direct = sums.c;
    std::byte workspace[64];  // a caller's means the general way
    cpu::run_plan(plan, {&operands, 1},
                  {.threads = 1, .workspace = workspace, .workspace_size = sizeof(workspace)});
    for (std::size_t i = 0; i < direct.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(direct[i]), std::bit_cast<std::uint32_t>(sums.c[i]));
    }
  }
}

}  // namespace
}  // namespace tessera
