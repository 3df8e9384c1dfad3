// Small products of f16 and bf16 from copies that are widened first: the copies themselves, and the
// products, bit for bit those of operands that are widened as they are packed.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/catalogue.hpp"
#include "core/convert.hpp"
#include "cpu/direct.hpp"
#include "cpu/product.hpp"
#include "cpu/run.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::Fill;
using test::Kernels;
using test::kMostPeers;
using test::Placement;
using test::Product;

// The code of a kernel that widens whole operands; null of others.
const cpu::KernelCode* widening_code(const KernelEntry& kernel) {
  const cpu::KernelCode* const code = cpu::find_code(kernel.name);
  return code != nullptr && code->widen_lines != nullptr ? code : nullptr;
}

float widened(ElementType type, std::uint16_t bits) {
  return type == ElementType::f16 ? to_float(f16{bits}) : to_float(bf16{bits});
}

// Lines of all lengths, dense and not, along k, across it and neither, and nothing beyond them but
// what the next line writes over, or a line's rest of its stride.
TEST_P(Kernels, WidenedCopiesLieAsTheOperandDoes) {
  const cpu::KernelCode* const code = widening_code(kernel());
  if (code == nullptr) GTEST_SKIP() << "widens no whole operands";
  for (std::int64_t length = 1; length <= 70; ++length) {
    for (const std::int64_t lines : {1, 2, 7}) {
      for (const std::int64_t gap : {0, 1, 16}) {
        for (const int step : {1, 2}) {
          const std::int64_t next = length * step + gap;
          std::vector<std::uint16_t> elements(static_cast<std::size_t>(lines * next));
          for (std::size_t i = 0; i < elements.size(); ++i) {
            elements[i] = static_cast<std::uint16_t>(0x3c01 + 37 * i % 900);
          }
          const bool is_dense = step == 1 && gap == 0;
          const std::int64_t stride = is_dense && length < 16 ? length : (length + 15) / 16 * 16;
          // Along k and, where a line's elements are neighbours, across it.
          for (const bool is_across : {false, true}) {
            if (is_across && (step != 1 || next == 1)) continue;
            const cpu::PackSource source =
                is_across ? cpu::PackSource{elements.data(), length, lines, 1, next}
                          : cpu::PackSource{elements.data(), lines, length, next, step};
            constexpr float kUntouched = -77;
            const auto room = static_cast<std::size_t>(lines * stride + 16);
            std::vector<float> to(room + 16, kUntouched);
            code->widen_lines(source, stride, to.data());
            for (std::int64_t line = 0; line < lines; ++line) {
              for (std::int64_t i = 0; i < length; ++i) {
                const auto from = static_cast<std::size_t>(line * next + i * step);
                ASSERT_EQ(to[static_cast<std::size_t>(line * stride + i)],
                          widened(kernel().a, elements[from]))
                    << kernel().name << ' ' << lines << " of " << length << ", " << gap << ", "
                    << step << ", " << is_across << ": " << line << ", " << i;
              }
            }
            for (std::size_t i = room; i < to.size(); ++i) ASSERT_EQ(to[i], kUntouched);
          }
        }
      }
    }
  }
}

Plan plan_for(const KernelEntry& kernel, const GemmShape& shape, bool wide_c, bool in_place) {
  const int side = 96 / kernel.tile.mr * kernel.tile.mr;
  Plan plan = test::plan_for(kernel, test::types_of(kernel, wide_c), shape, {side, 96, shape.k},
                             {.workers = 1});
  plan.tile.a_in_place = plan.tile.b_in_place = in_place;
  plan.problem.alpha = 1.5;
  plan.problem.beta = 0.5;
  return plan;
}

TEST_P(Kernels, ProductsOfWidenedCopiesHaveTheBitsOfPackedOnes) {
  if (widening_code(kernel()) == nullptr) GTEST_SKIP() << "widens no whole operands";
  std::uint64_t seed = 1;
  int from_copies = 0;
  int beside_panels = 0;
  for (const GemmShape& shape : {GemmShape{1, 40, 9},
                                 {13, 17, 1},
                                 {16, 16, 16},
                                 {20, 33, 70},
                                 {33, 65, 130},
                                 {47, 35, 35},
                                 {61, 48, 15},
                                 {70, 100, 3},
                                 {120, 110, 4}}) {
    for (int layout = 0; layout < 8; ++layout) {
      for (const bool wide_c : {true, false}) {
        const Placement a{.column_major = (layout & 1) != 0, .padding = layout % 3};
        const Placement b{.column_major = (layout & 2) != 0, .padding = (layout + 1) % 3};
        const Placement c{.column_major = (layout & 4) != 0, .padding = (layout + 2) % 3};
        ++seed;
        const auto make = [&](const Plan& plan) {
          return Product(plan.problem.types, shape, 0.5, Fill::normal, seed, a, b, c);
        };
        const Plan packing = plan_for(kernel(), shape, wide_c, false);
        Plan plan = plan_for(kernel(), shape, wide_c, true);
        // What is to be vectors and lies along k is left out of place, or it would be dot products:
        // B, and of a product that a column-major C turns round, A.
        if (b.column_major) plan.tile.b_in_place = false;
        if (c.column_major && !a.column_major) plan.tile.a_in_place = false;
        Product packed = make(packing);
        const Operands one = packed.operands();
        cpu::run_plan(packing, {&one, 1}, {.threads = 1});
        Product product = make(plan);
        const Operands operands = product.operands();
        const cpu::KernelCode& code = cpu::code_of(plan);
        const auto form = cpu::direct_form(plan, code, operands);
        if (form && form->a.widen != nullptr) {
          ++from_copies;
          beside_panels += form->b.pack != nullptr ? 1 : 0;
          ASSERT_TRUE(cpu::multiply_directly(*form, operands));
        } else {
          cpu::run_plan(plan, {&operands, 1}, {.threads = 1});
        }
        EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
        ASSERT_EQ(product.c.bytes(), packed.c.bytes())
            << kernel().name << ' ' << shape.m << "×" << shape.n << "×" << shape.k << ", layout "
            << layout << ", " << wide_c;
      }
    }
  }
  EXPECT_GE(from_copies, 90) << kernel().name;
  EXPECT_GE(beside_panels, 30) << kernel().name;
}

// B's rows are widened where they lie so; what lies along k is transposed, and packed.
TEST_P(Kernels, ABAlongKIsPackedBesideAWidenedA) {
  if (widening_code(kernel()) == nullptr) GTEST_SKIP() << "widens no whole operands";
  const GemmShape shape{60, 50, 40};
  const Plan plan = plan_for(kernel(), shape, true, true);
  for (const bool is_along_k : {false, true}) {
    Plan faced = plan;
    faced.tile.b_in_place = !is_along_k;
    Product product(plan.problem.types, shape, 0.5, Fill::normal, 3, {},
                    {.column_major = is_along_k});
    const auto form = cpu::direct_form(faced, cpu::code_of(faced), product.operands());
    ASSERT_TRUE(form.has_value());
    EXPECT_EQ(form->b.widen == nullptr, is_along_k);
    EXPECT_EQ(form->b.pack != nullptr, is_along_k);
  }
}

// Rows of B that overlap, each beginning an element after the last one, lie both ways.
TEST_P(Kernels, WidenedCopiesOfRowsThatOverlap) {
  if (widening_code(kernel()) == nullptr) GTEST_SKIP() << "widens no whole operands";
  const GemmShape shape{20, 40, 30};
  const Plan plan = plan_for(kernel(), shape, true, true);
  Product overlapping(plan.problem.types, shape, 0.5, Fill::normal, 5);
  Operands operands = overlapping.operands();
  // The same as rows of their own.
  Product expected(plan.problem.types, shape, 0.5, Fill::normal, 5);
  const Operands apart = expected.operands();
  auto* rows = static_cast<std::uint16_t*>(const_cast<void*>(apart.b.data));
  const auto* line = static_cast<const std::uint16_t*>(operands.b.data);
  for (std::int64_t k = 0; k < shape.k; ++k) {
    for (std::int64_t n = 0; n < shape.n; ++n) rows[k * apart.b.row_stride + n] = line[k + n];
  }
  operands.b.row_stride = 1;
  cpu::run_plan(plan, {&operands, 1}, {.threads = 1});
  cpu::run_plan(plan, {&apart, 1}, {.threads = 1});
  ASSERT_EQ(overlapping.c.bytes(), expected.c.bytes()) << kernel().name;
}

// Threads widen what they need of the parts that they are dealt, of columns and of rows.
TEST_P(Kernels, WidenedCopiesOfPartsOfOneProduct) {
  if (widening_code(kernel()) == nullptr) GTEST_SKIP() << "widens no whole operands";
  for (const auto& [shape, of_columns] :
       {std::pair(GemmShape{40, 256, 90}, true), {{288, 40, 60}, false}, {{288, 40, 7}, false}}) {
    for (const bool is_across : {false, true}) {
      Plan plan = plan_for(kernel(), shape, true, true);
      const Placement a{.column_major = is_across, .padding = 1};
      const auto make = [&, shape = shape] {
        return Product(plan.problem.types, shape, 0.5, Fill::normal, 7, a, {.padding = 3});
      };
      Product whole = make();
      const Operands all = whole.operands();
      ASSERT_TRUE(cpu::run_directly(plan, cpu::code_of(plan), {&all, 1}, 1));
      for (const int threads : {2, 4}) {
        plan.schedule.workers = threads;
        Product dealt = make();
        const Operands parts = dealt.operands();
        const auto form = cpu::direct_form(plan, cpu::code_of(plan), parts);
        ASSERT_TRUE(form.has_value() && form->a.widen != nullptr && form->b.widen != nullptr);
        EXPECT_EQ(cpu::share_of(*form, threads).of_columns, of_columns);
        ASSERT_TRUE(cpu::run_directly(plan, cpu::code_of(plan), {&parts, 1}, threads));
        ASSERT_EQ(dealt.c.bytes(), whole.c.bytes()) << kernel().name << ' ' << threads;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
