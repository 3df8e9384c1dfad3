// Few columns beside more rows, which some processors multiply by tall register tiles, through
// every microkernel of the catalogue that reads operands in place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/product.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::Fill;
using test::Kernels;
using test::Placement;
using test::plan_for;
using test::Product;
using test::run_and_check;
using test::types_of;

// Operands that lie either way, and what follows the sums, which go to C or are no C.
struct Variant {
  bool a_is_across = false;
  bool b_is_along = false;  // and packed
  bool has_epilogue = false;
  bool c_is_by_columns = false;
};

// Some rows of a product, as one of its own.
Operands some_rows(Operands operands, std::int64_t first, std::int64_t count) {
  ConstMatrixView& a = operands.a;
  MatrixView& c = operands.c;
  a.data = static_cast<const std::byte*>(a.data) + first * a.row_stride * size_of(a.type);
  c.data = static_cast<std::byte*>(c.data) + first * c.row_stride * size_of(c.type);
  a.rows = c.rows = count;
  return operands;
}

// With the bits of a few rows at a time, too few for tall tiles.
void expect_bits_of_few_rows(const KernelEntry& kernel, const GemmShape& shape,
                             const Variant& variant) {
  const Placement a{.column_major = variant.a_is_across, .padding = 3};
  const Placement b{.column_major = variant.b_is_along, .padding = 1};
  const Placement c{.column_major = variant.c_is_by_columns};
  Plan plan = plan_for(kernel, types_of(kernel, true), shape, {shape.m, shape.n, shape.k}, {});
  plan.machine.scratchpad_bytes = 2 << 20;
  plan.tile.a_in_place = true;
  plan.tile.b_in_place = !variant.b_is_along;
  plan.problem.alpha = shape.k % 2 == 0 ? 1 : 1.5;
  plan.problem.beta = shape.m % 2 == 0 ? 0 : 1;
  if (variant.has_epilogue) plan.problem.epilogue = {BiasAxis::column, Activation::relu};
  Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, 2100, a, b, c);
  ASSERT_EQ(run_and_check(plan, product, 1), "");
  const cpu::KernelCode& code = *cpu::find_code(kernel.name);
  const Operands whole = product.operands(plan.problem.epilogue);
  const auto faced = cpu::product_of(whole, plan, code);
  if (faced.turned || faced.is_dots) return;  // fewer rows may be computed otherwise

  Product again(plan.problem.types, shape, plan.problem.beta, Fill::normal, 2100, a, b, c);
  const Operands all = again.operands(plan.problem.epilogue);
  constexpr std::int64_t kFew = 8;
  for (std::int64_t row = 0; row < shape.m; row += kFew) {
    const std::int64_t rows = std::min(kFew, shape.m - row);
    plan.problem.groups = {{rows, shape.n, shape.k}};
    plan.tile.rows_alike = true;  // nor is it turned round for its size
    const Operands few = some_rows(all, row, rows);
    cpu::run_plan(plan, {&few, 1}, {.threads = 1});
  }
  EXPECT_TRUE(again.c.bytes() == product.c.bytes());
}

// Every number of a tile's rows and ends of k, and a last panel of one vector behind others.
TEST_P(Kernels, TallTilesHaveTheBitsOfOthers) {
  const KernelEntry& entry = kernel();
  if (!cpu::find_code(entry.name)->reads_in_place) GTEST_SKIP() << "packs, groups or widens";
  const int lanes = entry.tile.nr / 2;
  std::int64_t k = 1;
  for (const std::int64_t m : {17, 18, 19, 20, 21, 22, 23, 24, 25, 29, 48, 49, 75}) {
    for (const std::int64_t n : {lanes - 2, lanes, entry.tile.nr + lanes - 1}) {
      if (n < 2) continue;
      for (unsigned bits = 0; bits < 16; ++bits) {
        SCOPED_TRACE(testing::Message() << m << "×" << n << "×" << k << ", variant " << bits);
        expect_bits_of_few_rows(entry, {m, n, k},
                                {.a_is_across = (bits & 1) != 0,
                                 .b_is_along = (bits & 2) != 0,
                                 .has_epilogue = (bits & 4) != 0,
                                 .c_is_by_columns = (bits & 8) != 0});
        k = k % 19 + 1;
      }
    }
  }
}

// k in several blocks, also of rows whole pages apart, for which there are no tall tiles.
TEST_P(Kernels, TallTilesOfSeveralBlocks) {
  const KernelEntry& entry = kernel();
  if (!cpu::find_code(entry.name)->reads_in_place) GTEST_SKIP() << "packs, groups or widens";
  const std::int64_t page = 4096 / size_of(entry.a);
  for (const std::int64_t padding : {std::int64_t{0}, page / 2}) {
    const GemmShape shape{50, entry.tile.nr / 2, page};
    Plan plan = plan_for(entry, types_of(entry, true), shape, {shape.m, shape.n, page / 4}, {});
    plan.machine.scratchpad_bytes = 2 << 20;
    plan.tile.a_in_place = plan.tile.b_in_place = true;
    Product product(plan.problem.types, shape, 0, Fill::normal, 2101, {.padding = padding});
    ASSERT_EQ(run_and_check(plan, product, 1), "") << padding;
  }
}

}  // namespace
}  // namespace tessera
