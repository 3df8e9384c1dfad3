// Groups whose sizes stand in arrays, through the public API: every element within its error bound,
// nothing outside the groups touched, and the bits of the same products given one by one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/guarded_matrix.hpp"
#include "support/ragged_products.hpp"
#include "support/ragged_sizes.hpp"
#include "tessera/grouped.hpp"

namespace tessera {
namespace {

using enum ElementType;
using test::changed_elements;
using test::draw_offsets;
using test::Fill;
using test::GuardedMatrix;
using test::judge;
using test::kRaggedTypes;
using test::kScalars;
using test::kSpreads;
using test::matrix_of;
using test::rows_of;
using test::Scalars;
using test::Spread;
using test::stack_of;
using test::suits;

// A long matrix per operand, of which each door cuts its groups: the ragged or stacked dimension
// comes first.
struct Case {
  Case(const GemmTypes& types, std::int64_t groups, std::int64_t length, std::int64_t n,
       std::int64_t k, const Scalars& scalars, std::uint64_t seed, bool transposed_b = false)
      : group_count(groups),
        n_size(n),
        k_size(k),
        s(scalars),
        random(seed),
        a(types.a, length, k, Fill::normal, random,
          {.padding = static_cast<std::int64_t>(seed % 3)}),
        b(types.b, transposed_b ? groups * n : groups * k, transposed_b ? k : n, Fill::normal,
          random),
        c(types.c, length, n, s.beta == 0 ? Fill::poison : Fill::normal, random,
          {.padding = static_cast<std::int64_t>(seed % 5)}),
        before(c),
        bias(types.c, groups, n, Fill::normal, random, {.padding = 2}),
        is_b_transposed(transposed_b) {}

  // Where K or N is 0 the stack has no rows to tell its height by.
  ConstBatchView weights() {
    const MatrixView all = b.view();
    const std::int64_t rows = is_b_transposed ? n_size : k_size;
    const ConstBatchView stack{
        all.data,       group_count,    rows,    all.cols, rows * all.row_stride,
        all.row_stride, all.col_stride, all.type};
    return is_b_transposed ? stack.transposed() : stack;
  }

  RaggedRows rows(const IndexArray& offsets) {
    return {a.view(), offsets, weights(), c.view(), bias.view()};
  }
  std::vector<Operands> row_products(const std::vector<std::int64_t>& offsets) {
    std::vector<Operands> products;
    for (std::int64_t g = 0; g < group_count; ++g) {
      const auto at = static_cast<std::size_t>(g);
      const std::int64_t size = offsets[at + 1] - offsets[at];
      const ConstMatrixView one_bias = rows_of(ConstMatrixView(bias.view()), g, 1);
      products.push_back({rows_of(ConstMatrixView(a.view()), offsets[at], size),
                          matrix_of(weights(), g),
                          rows_of(c.view(), offsets[at], size),
                          {one_bias.data, n_size, 1, one_bias.type}});
    }
    return products;
  }

  // The products' elements, and everything outside them.
  std::string check_rows(const std::vector<std::int64_t>& offsets) {
    const std::vector<Operands> products = row_products(offsets);
    for (std::int64_t g = 0; g < group_count; ++g) {
      const auto at = static_cast<std::size_t>(g);
      const std::string fault =
          judge(products[at], rows_of(ConstMatrixView(before.view()), offsets[at], 0), s);
      if (!fault.empty()) return "group " + std::to_string(g) + ": " + fault;
    }
    if (changed_elements(c, before, 0, offsets.front()) != 0) return "rows before the first group";
    if (changed_elements(c, before, offsets.back(), c.view().rows) != 0)
      return "rows after the last";
    return c.damage();
  }

  std::int64_t group_count;
  std::int64_t n_size;
  std::int64_t k_size;
  Scalars s;
  std::mt19937_64 random;
  GuardedMatrix a;
  GuardedMatrix b;
  GuardedMatrix c;
  GuardedMatrix before;
  GuardedMatrix bias;
  bool is_b_transposed;
};

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

TEST(RaggedRows, AnySizesGiveTheProducts) {
  std::uint64_t seed = 1;
  for (const GemmTypes& types : kRaggedTypes) {
    for (const Scalars& scalars : kScalars) {
      if (!suits(types, scalars)) continue;
      for (const std::int64_t groups : {1, 2, 7, 33}) {
        for (const Spread spread : kSpreads) {
          ++seed;
          const std::int64_t k = seed % 5 == 0 ? 0 : static_cast<std::int64_t>(seed % 53);
          Case one(types, groups, 60 + static_cast<std::int64_t>(seed % 31), 19, k, scalars, seed,
                   seed % 2 == 0);
          const auto offsets =
              draw_offsets(spread, groups, one.c.view().rows, seed % 3 == 0, one.random);
          ragged_gemm(scalars.alpha, one.rows(index_array(offsets)), scalars.beta, scalars.epilogue,
                      {.threads = 2});
          ASSERT_EQ(one.check_rows(offsets), "") << "case " << seed;
        }
      }
    }
  }
}

TEST(RaggedRows, ManyGroups) {
  std::uint64_t seed = 1000;
  for (const std::int64_t groups : {128, 4096}) {
    for (const Spread spread : kSpreads) {
      Case one({bf16, bf16, f32}, groups, 3000, 9, 8, {}, ++seed);
      const auto offsets = draw_offsets(spread, groups, 3000, true, one.random);
      ragged_gemm(1, one.rows(index_array(offsets)), 0);
      ASSERT_EQ(one.check_rows(offsets), "") << groups << " groups";
    }
  }
}

TEST(RaggedRows, BitsAreThoseOfTheListOfProducts) {
  std::uint64_t seed = 2000;
  for (const GemmTypes& types : kRaggedTypes) {
    for (const std::int64_t groups : {1, 5, 64}) {
      Case one(types, groups, 400, 70, 130, {}, ++seed);
      Case other(types, groups, 400, 70, 130, {}, seed);
      const auto offsets = draw_offsets(Spread::dirichlet, groups, 400, true, one.random);
      ragged_gemm(1, one.rows(index_array(offsets)), 0, {}, {.threads = 2});
      grouped_gemm(1, other.row_products(offsets), 0);
      ASSERT_EQ(one.c.bytes(), other.c.bytes());
    }
  }
}

TEST(RaggedRows, OffsetsOfAnyKindSayTheSame) {
  Case wide({f32, f32, f32}, 6, 90, 20, 30, {}, 5);
  Case thin({f32, f32, f32}, 6, 90, 20, 30, {}, 5);
  Case ends({f32, f32, f32}, 6, 90, 20, 30, {}, 5);
  const auto offsets = draw_offsets(Spread::dirichlet, 6, 90, false, wide.random);
  const auto thin_offsets = narrow(offsets);
  ragged_gemm(1, wide.rows(index_array(offsets)), 0);
  ragged_gemm(1, thin.rows(index_array(thin_offsets)), 0);
  ragged_gemm(1, ends.rows(index_array(std::span(thin_offsets).subspan(1))), 0);
  EXPECT_EQ(wide.check_rows(offsets), "");
  EXPECT_EQ(wide.c.bytes(), thin.c.bytes());
  EXPECT_EQ(wide.c.bytes(), ends.c.bytes());
}

TEST(RaggedRows, OneMatrixAndOneBiasMayServeAllGroups) {
  Case one({f32, f32, f32}, 4, 50, 16, 12, {1, 0, {BiasAxis::column, Activation::relu}}, 6);
  const std::vector<std::int64_t> offsets = {0, 10, 10, 37, 50};
  RaggedRows rows = one.rows(index_array(offsets));
  rows.b.group_stride = 0;
  rows.bias.row_stride = 0;
  ragged_gemm(1, rows, 0, one.s.epilogue);
  const Operands all{rows.a, matrix_of(rows.b, 0), rows.c, {rows.bias.data, 16, 1, f32}};
  EXPECT_EQ(judge(all, one.before.view(), one.s), "");
}

class Schedules : public testing::TestWithParam<ScheduleKind> {};

TEST_P(Schedules, OnePlanServesAnySizes) {
  PlanOptions wanted;
  wanted.schedule = GetParam();
  wanted.workers = 5;
  wanted.tile = TileConfig{.block_m = 24, .block_n = 32, .block_k = 16};
  if (GetParam() == ScheduleKind::split_k) wanted.splits = 3;
  Case first({f32, f32, f32}, 9, 300, 70, 50, {}, 1);
  // Offsets that no run could use: making a plan does not read them.
  const std::vector<std::int64_t> garbage(10, -77);
  const Plan plan =
      make_ragged_plan(first.rows(index_array(garbage)), 1, 0, {}, host_machine(), wanted);
  constexpr std::size_t kGuard = 64;
  const std::size_t bytes = ragged_workspace_bytes(plan, first.rows(index_array(garbage)));
  std::vector<std::int64_t> memory((bytes + kGuard) / 8 + 1, 0x5A5A5A5A5A5A5A5A);
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    Case one({f32, f32, f32}, 9, 300, 70, 50, {}, seed);
    Case other({f32, f32, f32}, 9, 300, 70, 50, {}, seed);
    const auto offsets = draw_offsets(kSpreads[seed % 4], 9, 300, seed % 3 == 0, one.random);
    run_ragged(plan, one.rows(index_array(offsets)),
               {.threads = 2, .workspace = memory.data(), .workspace_size = bytes});
    ASSERT_EQ(one.check_rows(offsets), "") << "seed " << seed;
    Plan same = plan;
    same.problem.groups.clear();
    for (const Operands& o : other.row_products(offsets)) {
      same.problem.groups.push_back({o.c.rows, o.c.cols, o.a.cols});
    }
    run(same, other.row_products(offsets));
    ASSERT_EQ(one.c.bytes(), other.c.bytes()) << "seed " << seed;
  }
  for (std::size_t at = (bytes + 7) / 8; at < memory.size(); ++at) {
    ASSERT_EQ(memory[at], 0x5A5A5A5A5A5A5A5A) << "past the workspace";
  }
}

INSTANTIATE_TEST_SUITE_P(Ragged, Schedules,
                         testing::Values(ScheduleKind::data_parallel, ScheduleKind::split_k,
                                         ScheduleKind::stream_k, ScheduleKind::hybrid),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

// The planner assumes a few rows each, and reads B in place; then one group gets them all.
TEST(Ragged, ThePlannersOwnPlanServesAnySizes) {
  for (const GemmTypes& types : kRaggedTypes) {
    Case planned(types, 40, 160, 48, 60, {}, 1, true);
    const std::vector<std::int64_t> none(41, 0);
    const Plan plan = make_ragged_plan(planned.rows(index_array(none)), 1, 0, {}, host_machine());
    for (std::uint64_t seed = 1; seed < 9; ++seed) {
      Case one(types, 40, 160, 48, 60, {}, seed, true);
      const auto offsets = draw_offsets(kSpreads[seed % 4], 40, 160, seed % 3 == 0, one.random);
      run_ragged(plan, one.rows(index_array(offsets)));
      ASSERT_EQ(one.check_rows(offsets), "") << "seed " << seed;
    }
  }
}

TEST(Ragged, TheWorkspaceDoesForAnySizes) {
  // split_k needs slots for every tile: 40 groups of few rows have more tiles than one of many.
  Case one({f32, f32, f32}, 40, 100, 32, 64, {}, 3);
  PlanOptions wanted;
  wanted.splits = 4;
  wanted.tile = TileConfig{.block_m = 8, .block_n = 16, .block_k = 8};
  std::vector<std::int64_t> offsets(41, 100);
  offsets[0] = 0;
  const RaggedRows rows = one.rows(index_array(offsets));
  const Plan plan = make_ragged_plan(rows, 1, 0, {}, host_machine(), wanted);
  const std::size_t bytes = ragged_workspace_bytes(plan, rows);
  std::vector<std::int64_t> memory(bytes / 8 + 1);
  const auto fits = [&] {
    run_ragged(plan, rows, {.workspace = memory.data(), .workspace_size = bytes});
    EXPECT_EQ(one.check_rows(offsets), "");
  };
  fits();
  for (std::int64_t g = 0; g < 40; ++g) offsets[static_cast<std::size_t>(g)] = g;
  fits();
}

TEST(Ragged, ABatchInvariantPlanKeepsARowsBits) {
  PlanOptions wanted;
  wanted.batch_invariant = true;
  Case base({f32, f32, f32}, 3, 200, 40, 300, {}, 1);
  const std::vector<std::int64_t> offsets = {0, 20, 60, 200};
  const Plan plan =
      make_ragged_plan(base.rows(index_array(offsets)), 1, 0, {}, host_machine(), wanted);
  run_ragged(plan, base.rows(index_array(offsets)));
  for (const std::vector<std::int64_t>& others :
       {std::vector<std::int64_t>{20, 20, 60, 60}, {20, 20, 60, 61}, {0, 20, 57, 199}}) {
    Case again({f32, f32, f32}, 3, 200, 40, 300, {}, 1);
    run_ragged(plan, again.rows(index_array(others)));
    EXPECT_EQ(changed_elements(again.c, base.c, 20, 57), 0);
  }
}

TEST(MaskedRows, OnlyTheCountedRowsAreTouched) {
  std::uint64_t seed = 3000;
  for (const GemmTypes& types : kRaggedTypes) {
    for (const Scalars& scalars : kScalars) {
      if (!suits(types, scalars)) continue;
      constexpr std::int64_t kGroups = 6;
      constexpr std::int64_t kMost = 15;
      ++seed;
      Case one(types, kGroups, kGroups * kMost, 18, seed % 2 == 0 ? 21 : 0, scalars, seed, true);
      const std::vector<std::int32_t> counts = {3, 0, 15, 1, 0, 14};
      const MaskedRows masked{stack_of(one.a, kGroups), index_array(counts), one.weights(),
                              stack_of(one.c, kGroups), one.bias.view()};
      ragged_gemm(scalars.alpha, masked, scalars.beta, scalars.epilogue);
      for (std::int64_t g = 0; g < kGroups; ++g) {
        const std::int64_t count = counts[static_cast<std::size_t>(g)];
        const ConstMatrixView bias = rows_of(ConstMatrixView(one.bias.view()), g, 1);
        const Operands product{rows_of(matrix_of(masked.a, g), 0, count),
                               matrix_of(masked.b, g),
                               rows_of(matrix_of(masked.c, g), 0, count),
                               {bias.data, 18, 1, bias.type}};
        const ConstMatrixView before = matrix_of(stack_of(one.before, kGroups), g);
        ASSERT_EQ(judge(product, before, scalars), "") << "group " << g;
        ASSERT_EQ(changed_elements(one.c, one.before, g * kMost + count, (g + 1) * kMost), 0);
      }
      ASSERT_EQ(one.c.damage(), "");
    }
  }
}

}  // namespace
}  // namespace tessera
