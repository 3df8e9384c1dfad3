// The doors besides rows: a weight's gradient, pointer arrays, and the uniform case.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/guarded_matrix.hpp"
#include "support/ragged_products.hpp"
#include "support/ragged_sizes.hpp"
#include "tessera/grouped.hpp"

namespace tessera {
namespace {

using enum ElementType;
using test::draw_offsets;
using test::Fill;
using test::GuardedMatrix;
using test::judge;
using test::kRaggedTypes;
using test::kScalars;
using test::kSpreads;
using test::matrix_of;
using test::Placement;
using test::rows_of;
using test::Scalars;
using test::Spread;
using test::stack_of;
using test::suits;

TEST(RaggedK, EmptySegmentsScaleC) {
  std::uint64_t seed = 4000;
  for (const GemmTypes& types : kRaggedTypes) {
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
