// f16 by tile registers: what becomes of every f16 in a packed panel, and products of values that
// no finite sum makes good.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/catalogue.hpp"
#include "core/convert.hpp"
#include "cpu/kernel.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

// A chunk of a strip: so many rows of so many k, their first parts and then their second ones.
constexpr std::int64_t kRows = 32;
constexpr std::int64_t kChunk = 32;

constexpr const char* kKernel = "cpu_amx_f16";

struct Parts {
  float first;
  float second;
};

// Of element k of a packed strip's row.
Parts parts_at(const std::vector<std::uint16_t>& strip, std::int64_t row, std::int64_t k) {
  const std::int64_t at = k / kChunk * 2 * kRows * kChunk + row * kChunk + k % kChunk;
  const auto part = [&](std::int64_t index) {
    return to_float(bf16{strip[static_cast<std::size_t>(index)]});
  };
  return {part(at), part(at + kRows * kChunk)};
}

TEST(SplitF16, EveryValueIsTheSumOfItsParts) {
  const cpu::KernelCode* const code = test::code_here(kKernel);
  if (code == nullptr) GTEST_SKIP() << "has no tile registers";
  constexpr std::int64_t kEach = 65536 / kRows;
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<std::uint16_t> strip(static_cast<std::size_t>(code->panel_bytes_a(kEach) / 2));
  code->pack_a({all.data(), kRows, kEach, kEach, 1}, strip.data());
  for (std::int64_t i = 0; i < 65536; ++i) {
    const float value = to_float(f16{static_cast<std::uint16_t>(i)});
    const Parts parts = parts_at(strip, i / kEach, i % kEach);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(parts.first + parts.second)) << i;
      continue;
    }
    ASSERT_EQ(parts.first + parts.second, value) << i;
    if (value == 0) {
      ASSERT_TRUE(parts.first == 0 && parts.second == 0) << i;
      continue;
    }
    // Tile registers take subnormal numbers for zeros.
    ASSERT_TRUE(std::isnormal(parts.first)) << i;
    ASSERT_TRUE(std::isnormal(parts.second) || std::isinf(value)) << i;
    ASSERT_EQ(std::signbit(parts.first), std::signbit(value)) << i;
    ASSERT_EQ(std::signbit(parts.second), std::signbit(value)) << i;
  }
}

// One product of two elements: what a multiplication of floats says of them.
TEST(SplitF16, ProductsOfAnyTwoAreAsFloatsAre) {
  const cpu::KernelCode* const code = test::code_here(kKernel);
  if (code == nullptr) GTEST_SKIP() << "has no tile registers";
  std::vector<std::uint16_t> values;
  for (const int bits : {0x0000, 0x0001, 0x0003, 0x03ff, 0x0400, 0x0401, 0x3555, 0x3bff, 0x3c00,
                         0x3c01, 0x3c08, 0x4248, 0x7800, 0x7bff, 0x7c00, 0x7e00}) {
    values.push_back(static_cast<std::uint16_t>(bits));
    values.push_back(static_cast<std::uint16_t>(bits | 0x8000));
  }
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::uint16_t> a(static_cast<std::size_t>(code->panel_bytes_a(1) / 2));
  std::vector<std::uint16_t> b(static_cast<std::size_t>(code->panel_bytes_b(1) / 2));
  ASSERT_EQ(count, kRows);
  code->pack_a({values.data(), count, 1, 1, 1}, a.data());
  code->pack_b({values.data(), count, 1, 1, count}, b.data());
  std::vector<float> sums(static_cast<std::size_t>(count * count), -1);
  cpu::BlockTask task = test::task_of_panels(*code, {count, count, 1}, a.data(), b.data());
  task.sum = sums.data();
  task.sum_stride = count;
  code->multiply(task);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      const float expected = to_float(f16{values[i]}) * to_float(f16{values[j]});
      const float sum = sums[i * values.size() + j];
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(sum)) << values[i] << " · " << values[j];
      } else {
        ASSERT_EQ(sum, expected) << values[i] << " · " << values[j];
      }
    }
  }
}

// Roundings tell one order of a product's four parts from another; turned round it is the same.
TEST(SplitF16, PartsAreAddedUpInOneOrderHoweverTheProductIsTurned) {
  const cpu::KernelCode* const code = test::code_here(kKernel);
  if (code == nullptr) GTEST_SKIP() << "has no tile registers";
  ASSERT_NE(code->turned, nullptr);
  std::mt19937 random(11);
  std::uniform_real_distribution<float> value(0.5F, 2.0F);
  const auto panel_of = [&](const std::vector<std::uint16_t>& values, const auto& pack,
                            std::int64_t bytes) {
    std::vector<std::uint16_t> panel(static_cast<std::size_t>(bytes / 2));
    pack({values.data(), kRows, 1, 1, kRows}, panel.data());
    return panel;
  };
  std::vector<std::uint16_t> rows;
  std::vector<std::uint16_t> cols;
  for (std::int64_t i = 0; i < kRows; ++i) {
    rows.push_back(to_f16(value(random)).bits);
    cols.push_back(to_f16(value(random)).bits);
  }
  std::vector<float> before(static_cast<std::size_t>(kRows * kRows));
  for (float& sum : before) sum = 300 * value(random);

  const auto transposed = [](const std::vector<float>& sums) {
    std::vector<float> to(sums.size());
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kRows; ++j) {
        to[static_cast<std::size_t>(j * kRows + i)] = sums[static_cast<std::size_t>(i * kRows + j)];
      }
    }
    return to;
  };
  // The rows of `a` by those of `b`, which are columns of B, added to sums.
  const auto add = [&](const cpu::KernelCode& by, const std::vector<std::uint16_t>& a,
                       const std::vector<std::uint16_t>& b, std::vector<float> sums) {
    const auto panel_a = panel_of(a, by.pack_a, by.panel_bytes_a(1));
    const auto panel_b = panel_of(b, by.pack_b, by.panel_bytes_b(1));
    cpu::BlockTask task =
        test::task_of_panels(by, {kRows, kRows, 1}, panel_a.data(), panel_b.data());
    task.sum = sums.data();
    task.sum_stride = kRows;
    task.beta = 1;
    by.multiply(task);
    return sums;
  };
  const auto sums = add(*code, rows, cols, before);
  EXPECT_EQ(transposed(add(*code->turned, cols, rows, transposed(before))), sums);

  const auto parts_of_a = panel_of(rows, code->pack_a, code->panel_bytes_a(1));
  const auto parts_of_b = panel_of(cols, code->pack_a, code->panel_bytes_a(1));
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kRows; ++j) {
      const Parts a = parts_at(parts_of_a, i, 0);
      const Parts b = parts_at(parts_of_b, j, 0);
      const auto at = static_cast<std::size_t>(i * kRows + j);
      float sum = before[at] + a.first * b.first;
      sum += a.second * b.first;
      sum += a.second * b.second;
      sum += a.first * b.second;
      ASSERT_EQ(sums[at], sum) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace tessera
