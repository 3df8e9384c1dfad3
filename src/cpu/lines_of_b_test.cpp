// Where B begins in memory, by which products of the short way (direct.hpp) read its rows where
// they lie or pack them in passing, for every microkernel of the catalogue that does the latter.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "cpu/direct.hpp"
#include "cpu/product.hpp"
#include "cpu/run.hpp"
#include "support/behind_a_line.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::BehindALine;
using test::Fill;
using test::Kernels;
using test::kMostPeers;
using test::plan_for;
using test::Product;
using test::types_of;

// Both operands in place, and one pass over k.
Plan plan_of(const KernelEntry& kernel, const GemmShape& shape) {
  Plan plan = plan_for(kernel, types_of(kernel, true), shape, {96, 96, 200}, {.workers = 4});
  plan.problem.alpha = 1.5;
  plan.problem.beta = 0.5;
  plan.tile.a_in_place = plan.tile.b_in_place = true;
  plan.machine.l1_bytes = 48 << 10;
  return plan;
}

// Rows of B whose lines lie in few sets of the nearest cache are packed in passing where they do
// not begin at lines, and read where they lie where they do, or on a machine that has less room.
TEST_P(Kernels, CollidingRowsArePackedInPassingOffALine) {
  const std::int64_t depth = 130;
  Plan plan = plan_of(kernel(), {});
  const cpu::KernelCode& code = cpu::code_of(plan);
  if (code.passing_cols == 0) GTEST_SKIP() << "packs before it multiplies";
  for (const std::int64_t cols : {std::int64_t{128}, std::int64_t{120}}) {
    for (const bool a_is_across : {false, true}) {
      plan.problem.groups = {{60, cols, depth}};
      plan.tile.block_n = 128;
      // A row of 128 elements, of which all or not quite all are used.
      const auto make = [&] {
        return Product(plan.problem.types, plan.problem.groups.front(), 0.5, Fill::normal, 41,
                       {.column_major = a_is_across, .padding = 1}, {.padding = 128 - cols});
      };
      std::vector<std::byte> first;
      for (const auto& [offset, l2, passes] :
           {std::tuple(16, 2 << 20, true), {0, 2 << 20, false}, {16, 1 << 20, false}}) {
        Product product = make();
        Operands operands = product.operands();
        const BehindALine b(operands.b, static_cast<std::size_t>(offset));
        operands.b = b.view();
        plan.machine.scratchpad_bytes = l2;
        const auto form = cpu::direct_form(plan, code, operands);
        ASSERT_TRUE(form.has_value());
        EXPECT_EQ(form->passes, passes);
        ASSERT_TRUE(cpu::run_directly(plan, code, {&operands, 1}, 1));
        EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
        if (first.empty()) first = product.c.bytes();
        EXPECT_EQ(product.c.bytes(), first);
        if (!passes) continue;
        // Whether or not multiply-adds load A's elements.
        for (const bool load : {false, true}) {
          cpu::DirectForm either = *form;
          either.task.multiply_adds_load = load;
          Product again = make();
          operands.c = again.operands().c;
          ASSERT_TRUE(cpu::multiply_directly(either, operands));
          EXPECT_EQ(again.c.bytes(), first);
        }
      }
    }
  }
}

// Rows of B that begin at lines are read where they lie in a larger product, too, on a machine that
// has room for them: with the bits of the general way.
TEST_P(Kernels, WholeLinesOfALargerProductAreReadInPlace) {
  const GemmShape shape{150, 176, 140};
  Plan plan = plan_of(kernel(), shape);
  const cpu::KernelCode& code = cpu::code_of(plan);
  if (code.passing_cols == 0) GTEST_SKIP() << "packs before it multiplies";
  for (const bool a_is_across : {false, true}) {
    std::vector<std::byte> first;
    for (const auto& [offset, padding, l2, is_direct] : {std::tuple(0, 0, 2 << 20, true),
                                                         {0, 16, 2 << 20, true},
                                                         {0, 1, 2 << 20, false},
                                                         {16, 0, 2 << 20, false},
                                                         {0, 0, 1 << 20, false}}) {
      Product product(plan.problem.types, shape, 0.5, Fill::normal, 41,
                      {.column_major = a_is_across, .padding = 1}, {.padding = padding});
      Operands operands = product.operands();
      const BehindALine b(operands.b, static_cast<std::size_t>(offset));
      operands.b = b.view();
      plan.machine.scratchpad_bytes = l2;
      ASSERT_EQ(cpu::run_directly(plan, code, {&operands, 1}, 1), is_direct);
      if (!is_direct) cpu::run_plan(plan, {&operands, 1}, {.threads = 2});
      EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
      if (padding != 0 || offset != 0) continue;
      if (first.empty()) first = product.c.bytes();
      EXPECT_EQ(product.c.bytes(), first);
    }
  }
}

// What was found out about a product with B at a line is not taken for one with B off it.
TEST_P(Kernels, AFormIsForABThatBeginsLikeItsOwn) {
  Plan plan = plan_of(kernel(), {150, 176, 140});
  const cpu::KernelCode& code = cpu::code_of(plan);
  if (code.passing_cols == 0) GTEST_SKIP() << "packs before it multiplies";
  plan.machine.scratchpad_bytes = 2 << 20;
  Product product(plan.problem.types, {150, 176, 140}, 0.5, Fill::normal, 41);
  Operands operands = product.operands();
  const BehindALine at(operands.b, 0);
  const BehindALine off(operands.b, 16);
  operands.b = at.view();
  const auto form = cpu::direct_form(plan, code, operands);
  ASSERT_TRUE(form.has_value());
  EXPECT_TRUE(cpu::begins_alike(*form, operands));
  operands.b = off.view();
  EXPECT_FALSE(cpu::begins_alike(*form, operands));
  EXPECT_FALSE(cpu::run_directly(plan, code, {&operands, 1}, 1));
  // Small products whose rows find room are done alike.
  plan.problem.groups = {{20, 48, 30}};
  Product small(plan.problem.types, {20, 48, 30}, 0.5, Fill::normal, 41);
  const BehindALine small_at(small.operands().b, 0);
  const BehindALine small_off(small.operands().b, 16);
  operands = small.operands();
  operands.b = small_off.view();
  const auto small_form = cpu::direct_form(plan, code, operands);
  ASSERT_TRUE(small_form.has_value());
  operands.b = small_at.view();
  EXPECT_TRUE(cpu::begins_alike(*small_form, operands));
}

}  // namespace
}  // namespace tessera
