// Groups whose sizes stand in arrays, through the public API: every element within its error bound,
// nothing outside the groups touched, and the bits of the same products given one by one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "core/reference.hpp"
#include "support/guarded_matrix.hpp"
#include "support/ragged_sizes.hpp"
#include "tessera/grouped.hpp"

namespace tessera {
namespace {

using enum ElementType;
using test::changed_elements;
using test::draw_offsets;
using test::Fill;
using test::GuardedMatrix;
using test::matrix_of;
using test::Placement;
using test::rows_of;
using test::Spread;
using test::stack_of;

constexpr std::int64_t kMostContributors = 64;
const std::vector<GemmTypes> kTypes = {{f32, f32, f32},   {f64, f64, f64}, {bf16, bf16, bf16},
                                       {bf16, bf16, f32}, {f16, f16, f16}, {i8, i8, i32}};
constexpr Spread kSpreads[] = {Spread::even, Spread::dirichlet, Spread::one_has_all,
                               Spread::all_empty};

struct Scalars {
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;
};
const std::vector<Scalars> kScalars = {
    {1, 0, {}}, {0.75, -0.5, {}}, {1, 0, {BiasAxis::column, Activation::silu}}, {0, 1, {}}};

bool suits(const GemmTypes& types, const Scalars& scalars) {
  return types.c != i32 || (scalars.epilogue == Epilogue{} && scalars.alpha != 0.75);
}

// One product against the reference; `before` is C as it was. Empty, or what is wrong.
std::string judge(const Operands& product, const ConstMatrixView& before, const Scalars& s) {
  for (std::int64_t row = 0; row < product.c.rows; ++row) {
    for (std::int64_t col = 0; col < product.c.cols; ++col) {
      const double was = s.beta != 0 ? element_at(before, row, col) : 0;
      const Expected expected =
          expected_element(s.alpha, product, s.beta, s.epilogue, row, col, was, kMostContributors);
      const double found = element_at(product.c, row, col);
      if (std::abs(found - expected.value) <= expected.tolerance) continue;
      std::ostringstream text;
      text << "C(" << row << ", " << col << ") is " << found << "; expected " << expected.value
           << " ± " << expected.tolerance;
      return text.str();
    }
  }
  return {};
}

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
  for (const GemmTypes& types : kTypes) {
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
  for (const GemmTypes& types : kTypes) {
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
  for (const GemmTypes& types : kTypes) {
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
  for (const GemmTypes& types : kTypes) {
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

TEST(RaggedK, EmptySegmentsScaleC) {
  std::uint64_t seed = 4000;
  for (const GemmTypes& types : kTypes) {
    for (const Scalars& scalars : kScalars) {
      if (!suits(types, scalars)) continue;
      for (const std::int64_t groups : {1, 5, 40}) {
        for (const Spread spread : kSpreads) {
          constexpr std::int64_t kM = 11;
          constexpr std::int64_t kN = 13;
          const std::int64_t total = 90;
          std::mt19937_64 random(++seed);
          const GuardedMatrix a(types.a, total, kM, Fill::normal, random, {.padding = 1});
          const GuardedMatrix b(types.b, total, kN, Fill::normal, random);
          GuardedMatrix c(types.c, groups * kM, kN, scalars.beta == 0 ? Fill::poison : Fill::normal,
                          random);
          GuardedMatrix before(c);
          const GuardedMatrix bias(types.c, groups, kN, Fill::normal, random);
          const auto offsets = draw_offsets(spread, groups, total, seed % 2 == 0, random);
          const RaggedK depth{a.view().transposed(), b.view(), index_array(offsets),
                              stack_of(c, groups), bias.view()};
          ragged_gemm(scalars.alpha, depth, scalars.beta, scalars.epilogue);
          for (std::int64_t g = 0; g < groups; ++g) {
            const auto at = static_cast<std::size_t>(g);
            const std::int64_t size = offsets[at + 1] - offsets[at];
            const ConstMatrixView one_bias = rows_of(bias.view(), g, 1);
            const Operands product{rows_of(a.view(), offsets[at], size).transposed(),
                                   rows_of(b.view(), offsets[at], size),
                                   matrix_of(depth.c, g),
                                   {one_bias.data, kN, 1, one_bias.type}};
            ASSERT_EQ(judge(product, matrix_of(stack_of(before, groups), g), scalars), "")
                << "group " << g << " of case " << seed;
          }
          ASSERT_EQ(c.damage(), "");
        }
      }
    }
  }
}

TEST(RaggedK, OnePlanServesAnySegments) {
  std::mt19937_64 random(7);
  const GuardedMatrix a(f32, 500, 20, Fill::normal, random);
  const GuardedMatrix b(f32, 500, 24, Fill::normal, random);
  GuardedMatrix c(f32, 8 * 20, 24, Fill::poison, random);
  std::vector<std::int64_t> offsets(9, 0);
  const RaggedK depth{a.view().transposed(), b.view(), index_array(offsets), stack_of(c, 8), {}};
  const Plan plan = make_ragged_plan(depth, 1, 0, {}, host_machine());
  for (const Spread spread : kSpreads) {
    offsets = draw_offsets(spread, 8, 500, false, random);
    RaggedK now = depth;
    now.offsets = index_array(offsets);
    run_ragged(plan, now);
    for (std::int64_t g = 0; g < 8; ++g) {
      const auto at = static_cast<std::size_t>(g);
      const std::int64_t size = offsets[at + 1] - offsets[at];
      const Operands product{rows_of(a.view(), offsets[at], size).transposed(),
                             rows_of(b.view(), offsets[at], size), matrix_of(depth.c, g)};
      ASSERT_EQ(judge(product, c.view(), {}), "");
    }
  }
}

TEST(PointerArray, ProductsOfAnySizeAtAnyAddress) {
  const std::vector<std::int64_t> m = {5, 0, 17, 1, 9}, n = {7, 3, 1, 20, 0}, k = {11, 4, 0, 33, 2};
  for (const Major c_major : {Major::row, Major::column}) {
    std::mt19937_64 random(9);
    const Placement c_place{.column_major = c_major == Major::column, .padding = 2};
    std::vector<GuardedMatrix> a, b, c, before;
    std::vector<const void*> a_at, b_at;
    std::vector<void*> c_at;
    std::vector<std::int32_t> lda, ldb, ldc;
    for (std::size_t g = 0; g < m.size(); ++g) {
      a.emplace_back(f32, m[g], k[g], Fill::normal, random, Placement{.padding = 3});
      b.emplace_back(f32, k[g], n[g], Fill::normal, random, Placement{.column_major = true});
      c.emplace_back(f32, m[g], n[g], Fill::normal, random, c_place);
      before.push_back(c.back());
    }
    for (std::size_t g = 0; g < m.size(); ++g) {
      a_at.push_back(a[g].view().data);
      b_at.push_back(b[g].view().data);
      c_at.push_back(c[g].view().data);
      lda.push_back(static_cast<std::int32_t>(a[g].view().row_stride));
      ldb.push_back(static_cast<std::int32_t>(b[g].view().col_stride));
      const MatrixView out = c[g].view();
      ldc.push_back(
          static_cast<std::int32_t>(c_major == Major::row ? out.row_stride : out.col_stride));
    }
    PointerArray array{.groups = 5,
                       .types = {f32, f32, f32},
                       .a = a_at.data(),
                       .b = b_at.data(),
                       .c = c_at.data(),
                       .m = index_array(m),
                       .n = index_array(n),
                       .k = index_array(k),
                       .lda = index_array(lda),
                       .ldb = index_array(ldb),
                       .ldc = index_array(ldc),
                       .b_major = Major::column,
                       .c_major = c_major};
    const Scalars scalars{2, 0.5, {}};
    const auto check = [&] {
      for (std::size_t g = 0; g < m.size(); ++g) {
        const Operands product{a[g].view(), b[g].view(), c[g].view()};
        ASSERT_EQ(judge(product, before[g].view(), scalars), "") << "group " << g;
        ASSERT_EQ(c[g].damage(), "");
        std::memcpy(c[g].view().data, before[g].view().data,
                    static_cast<std::size_t>(c[g].bytes().size()) - 512);
      }
    };
    ragged_gemm(2, array, 0.5);
    check();
    EXPECT_THROW(make_ragged_plan(array, 2, 0.5, {}, host_machine()), Error);
    array.bound = {17, 20, 33};
    const Plan plan = make_ragged_plan(array, 2, 0.5, {}, host_machine());
    run_ragged(plan, array);
    check();
    array.bound = {17, 19, 33};
    EXPECT_THROW(run_ragged(plan, array), Error);
  }
}

TEST(StridedBatch, IsABatch) {
  const Scalars scalars{1, 0, {BiasAxis::row, Activation::none}};
  std::mt19937_64 random(11);
  GuardedMatrix a(f32, 4 * 10, 12, Fill::normal, random);
  GuardedMatrix b(f32, 4 * 12, 14, Fill::normal, random);
  GuardedMatrix c(f32, 4 * 10, 14, Fill::poison, random);
  const GuardedMatrix bias(f32, 4, 10, Fill::normal, random);
  const StridedBatch batch{stack_of(a, 4), stack_of(b, 4), stack_of(c, 4), bias.view()};
  ragged_gemm(1, batch, 0, scalars.epilogue);
  for (std::int64_t g = 0; g < 4; ++g) {
    const ConstMatrixView one_bias = rows_of(bias.view(), g, 1);
    const Operands product{matrix_of(batch.a, g),
                           matrix_of(batch.b, g),
                           matrix_of(batch.c, g),
                           {one_bias.data, 10, 1, f32}};
    EXPECT_EQ(judge(product, c.view(), scalars), "");
  }
  EXPECT_EQ(c.damage(), "");
}

}  // namespace
}  // namespace tessera
