// Where C begins in memory, by which register tiles are laid beside a B in place
// (BlockTask::begins_at_pairs), for every microkernel of the catalogue.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/run.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::Fill;
using test::Kernels;
using test::plan_for;
using test::Product;
using test::run_and_check;
using test::types_of;

// At the first line of a pair or the second, where columns before that pair come first: the bits of
// a C anywhere else, and nothing written beside them.
TEST_P(Kernels, CBeginsAtEitherLineOfAPair) {
  constexpr std::int64_t kPair = 128;
  constexpr std::byte kUntouched{0x5a};
  const int nr = kernel().tile.nr;
  std::uint64_t seed = 6000;
  for (const std::int64_t n : {3 * nr, 2 * nr + 1, nr + nr / 2, nr}) {
    for (const double beta : {0, 1}) {
      const GemmShape shape{70, n, 200};
      Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {72, 4 * nr, 96}, {});
      plan.tile.b_in_place = true;
      plan.machine.scratchpad_bytes = 64 << 10;
      plan.problem.beta = beta;
      Product product(plan.problem.types, shape, beta, Fill::normal, seed++);
      const Operands elsewhere = product.operands();
      const std::int64_t size = size_of(plan.problem.types.c);
      const std::int64_t used = n * size;
      const std::int64_t row_bytes = (used / kPair + 1) * kPair;
      const auto row_elsewhere = [&](std::int64_t row) {
        return static_cast<std::byte*>(elsewhere.c.data) + row * elsewhere.c.row_stride * size;
      };
      std::vector<std::byte> memory(shape.m * row_bytes + 2 * kPair, kUntouched);
      void* pair = memory.data();
      std::size_t space = memory.size();
      std::align(kPair, shape.m * row_bytes, pair, space);
      std::vector<std::byte> bits[2];
      for (const int line : {0, 1}) {
        std::byte* const c = static_cast<std::byte*>(pair) + line * kPair / 2;
        for (std::int64_t row = 0; row < shape.m; ++row) {
          std::copy_n(row_elsewhere(row), used, c + row * row_bytes);
        }
        Operands operands = elsewhere;
        operands.c.data = c;
        operands.c.row_stride = row_bytes / size;
        cpu::run_plan(plan, {&operands, 1}, {.threads = 1});
        for (std::int64_t row = 0; row < shape.m; ++row) {
          std::byte* const from = c + row * row_bytes;
          bits[line].insert(bits[line].end(), from, from + used);
          std::fill_n(from, used, kUntouched);
        }
        EXPECT_EQ(std::ranges::count(memory, kUntouched), std::ssize(memory));
      }
      ASSERT_EQ(run_and_check(plan, product, 1), "") << n << " columns, beta " << beta;
      std::vector<std::byte> expected;
      for (std::int64_t row = 0; row < shape.m; ++row) {
        expected.insert(expected.end(), row_elsewhere(row), row_elsewhere(row) + used);
      }
      ASSERT_EQ(bits[0], expected) << n << " columns, beta " << beta;
      ASSERT_EQ(bits[1], expected) << n << " columns, beta " << beta;
    }
  }
}

}  // namespace
}  // namespace tessera
