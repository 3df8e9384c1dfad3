// A C that leaves the second-level cache beside a packed B, through every microkernel of the
// catalogue but those of tile registers: which are walked by strips of rows, with what bits.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/blocking.hpp"
#include "cpu/cpuid.hpp"
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

// With a short k, of narrow registers and on processors whose last cache is slow; with the bits of
// a C that stays.
TEST_P(Kernels, ALargeCOfAShortKIsWrittenByStrips) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.rows_together > 0) GTEST_SKIP() << "tile registers walk strips beside a near B";
  const bool writes_so = is_narrow_tile(code.mr) || cpu::has_two_units();
  const std::int64_t cols = 2 * code.nr + 3;
  for (const auto& [depth, is_short] : {std::pair{code.depth_step * cpu::kShortGroups, true},
                                        {code.depth_step * (cpu::kShortGroups + 1), false}}) {
    const GemmShape shape{600, cols, depth};
    std::vector<std::byte> bits;
    for (const bool is_large : {true, false}) {
      Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {shape.m, cols, depth}, {});
      // Of C, of which half is enough; and then of all there is.
      const std::int64_t c_bytes = shape.m * cols * size_of(code.accumulator);
      plan.machine.scratchpad_bytes = is_large ? 2 * c_bytes : 4 * c_bytes;
      plan.machine.cache_bytes = 64 * c_bytes;
      Product product(plan.problem.types, shape, 0, Fill::normal, 2300);
      const Operands operands = product.operands();
      const cpu::Launch launch{plan, code, {&operands, 1}, {}};
      const cpu::Product faced = cpu::product_of(operands, plan, code);
      EXPECT_EQ(cpu::blocking_of(launch, faced).sums_are_far, writes_so && is_short && is_large)
          << depth;
      ASSERT_EQ(run_and_check(plan, product, 1), "") << depth;
      if (is_large) bits = product.c.bytes();
      EXPECT_TRUE(product.c.bytes() == bits) << depth;
    }
  }
}

}  // namespace
}  // namespace tessera
