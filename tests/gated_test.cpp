// The gated pair, C ← activation(A·B) ∘ (A·B_up), against both exact products, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
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
using test::rows_of;
using test::Spread;
using test::stack_of;

constexpr std::int64_t kMostContributors = 64;

// Element (row, col) of one product. The two factors' own errors, each bounded as for a single
// product in the accumulator's type, and one rounding to C's type.
std::string judge(const ConstMatrixView& a, const ConstMatrixView& gate, const ConstMatrixView& up,
                  const ConstMatrixView& c, Activation activation) {
  const ElementType sums = accumulator_of({a.type, gate.type, c.type});
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t col = 0; col < c.cols; ++col) {
      const MatrixView shape{nullptr, c.rows, c.cols, c.cols, 1, sums};
      const Expected p = expected_element(1, {a, gate, shape}, 0, {BiasAxis::none, activation}, row,
                                          col, 0, kMostContributors);
      const Expected q = expected_element(1, {a, up, shape}, 0, {}, row, col, 0, kMostContributors);
      const double value = p.value * q.value;
      const double spread = p.tolerance * std::abs(q.value) + std::abs(p.value) * q.tolerance +
                            p.tolerance * q.tolerance;
      const double tolerance =
          spread +
          1.01 * (unit_roundoff(sums) + unit_roundoff(c.type)) * (std::abs(value) + spread) +
          smallest_subnormal(c.type);
      const double found = element_at(c, row, col);
      if (std::abs(found - value) <= tolerance) continue;
      std::ostringstream text;
      text << "C(" << row << ", " << col << ") is " << found << "; expected " << value << " ± "
           << tolerance;
      return text.str();
    }
  }
  return {};
}

struct Pair {
  Pair(const GemmTypes& types, std::int64_t groups, std::int64_t rows, std::int64_t n,
       std::int64_t k, std::uint64_t seed, bool column_major_c = false)
      : random(seed),
        a(types.a, rows, k, Fill::normal, random, {.padding = 2}),
        gate(types.b, groups * k, n, Fill::normal, random),
        up(types.b, groups * k, n, Fill::normal, random, {.padding = 1}),
        c(types.c, rows, n, Fill::poison, random, {.column_major = column_major_c, .padding = 3}),
        before(c) {}

  std::string judge_rows(std::int64_t group, std::int64_t k, std::int64_t begin, std::int64_t count,
                         Activation activation = Activation::silu) {
    return judge(rows_of(ConstMatrixView(a.view()), begin, count),
                 rows_of(ConstMatrixView(gate.view()), group * k, k),
                 rows_of(ConstMatrixView(up.view()), group * k, k),
                 rows_of(ConstMatrixView(c.view()), begin, count), activation);
  }

  std::mt19937_64 random;
  GuardedMatrix a;
  GuardedMatrix gate;
  GuardedMatrix up;
  GuardedMatrix c;
  GuardedMatrix before;
};

TEST(Gated, RaggedRows) {
  std::uint64_t seed = 1;
  for (const GemmTypes& types : {GemmTypes{f32, f32, f32},
                                 {f64, f64, f64},
                                 {bf16, bf16, bf16},
                                 {f16, f16, f16},
                                 {bf16, bf16, f32}}) {
    for (const Spread spread :
         {Spread::even, Spread::dirichlet, Spread::one_has_all, Spread::all_empty}) {
      for (const std::int64_t groups : {1, 6}) {
        ++seed;
        Pair pair(types, groups, 70, 33, 40, seed, seed % 3 == 0);
        const auto offsets = draw_offsets(spread, groups, 70, seed % 2 == 0, pair.random);
        const RaggedRows rows{
            pair.a.view(), index_array(offsets), stack_of(pair.gate, groups), pair.c.view(), {}};
        gated_gemm(rows, stack_of(pair.up, groups), Activation::silu, {.threads = 2});
        for (std::int64_t g = 0; g < groups; ++g) {
          const auto at = static_cast<std::size_t>(g);
          ASSERT_EQ(pair.judge_rows(g, 40, offsets[at], offsets[at + 1] - offsets[at]), "")
              << "case " << seed;
        }
        ASSERT_EQ(changed_elements(pair.c, pair.before, 0, offsets.front()), 0);
        ASSERT_EQ(changed_elements(pair.c, pair.before, offsets.back(), 70), 0);
        ASSERT_EQ(pair.c.damage(), "");
      }
    }
  }
}

TEST(Gated, MaskedRows) {
  Pair pair({bf16, bf16, bf16}, 4, 4 * 10, 20, 16, 5);
  const std::vector<std::int32_t> counts = {10, 0, 3, 1};
  const MaskedRows masked{
      stack_of(pair.a, 4), index_array(counts), stack_of(pair.gate, 4), stack_of(pair.c, 4), {}};
  gated_gemm(masked, stack_of(pair.up, 4));
  for (std::int64_t g = 0; g < 4; ++g) {
    const std::int64_t count = counts[static_cast<std::size_t>(g)];
    EXPECT_EQ(pair.judge_rows(g, 16, g * 10, count), "");
    EXPECT_EQ(changed_elements(pair.c, pair.before, g * 10 + count, (g + 1) * 10), 0);
  }
}

TEST(Gated, OneProductOfEveryActivation) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_tanh,
                                      Activation::gelu_erf, Activation::silu}) {
    Pair pair({f32, f32, f32}, 1, 31, 29, 37, 7);
    gated_gemm(pair.a.view(), pair.gate.view(), pair.up.view(), pair.c.view(), activation);
    EXPECT_EQ(pair.judge_rows(0, 37, 0, 31, activation), "") << name_of(activation);
    EXPECT_EQ(pair.c.damage(), "");
  }
}

// Larger than a slab in both directions, with a group boundary inside.
TEST(Gated, LargerThanItsScratch) {
  Pair pair({bf16, bf16, bf16}, 3, 2500, 1100, 2, 9);
  const std::vector<std::int64_t> offsets = {0, 2000, 2001, 2500};
  const RaggedRows rows{
      pair.a.view(), index_array(offsets), stack_of(pair.gate, 3), pair.c.view(), {}};
  gated_gemm(rows, stack_of(pair.up, 3));
  for (std::int64_t g = 0; g < 3; ++g) {
    const auto at = static_cast<std::size_t>(g);
    EXPECT_EQ(pair.judge_rows(g, 2, offsets[at], offsets[at + 1] - offsets[at]), "");
  }
  EXPECT_EQ(pair.c.damage(), "");
}

TEST(Gated, NothingToMultiplyGivesZeros) {
  std::vector<float> c(12, 5.0f);
  gated_gemm(row_major(static_cast<const float*>(nullptr), 3, 0),
             row_major(static_cast<const float*>(nullptr), 0, 4),
             row_major(static_cast<const float*>(nullptr), 0, 4), row_major(c.data(), 3, 4));
  EXPECT_EQ(c, std::vector<float>(12, 0.0f));
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::interrupted;
}

TEST(Gated, RefusesWhatItCannotDo) {
  Pair pair({f32, f32, f32}, 2, 10, 8, 6, 3);
  const std::vector<std::int64_t> offsets = {0, 4, 10};
  const RaggedRows rows{
      pair.a.view(), index_array(offsets), stack_of(pair.gate, 2), pair.c.view(), {}};
  const auto refuses = [&](ErrorCode code, const RaggedProducts& products, ConstBatchView up,
                           const RunOptions& options = {}) {
    EXPECT_EQ(code_of([&] { gated_gemm(products, up, Activation::silu, options); }), code);
    EXPECT_EQ(pair.c.bytes(), pair.before.bytes());
  };
  ConstBatchView up = stack_of(pair.up, 2);
  refuses(ErrorCode::invalid_argument, RaggedK{}, up);
  refuses(ErrorCode::invalid_argument, PointerArray{}, up);
  up.cols = 7;
  refuses(ErrorCode::invalid_argument, rows, up);
  up = stack_of(pair.up, 2);
  up.groups = 1;
  refuses(ErrorCode::invalid_argument, rows, up);
  // C within B_up.
  up = stack_of(pair.up, 2);
  RaggedRows inside = rows;
  inside.c.data = pair.up.view().data;
  refuses(ErrorCode::invalid_argument, inside, up);

  std::vector<std::int8_t> bytes(64, 1);
  std::vector<std::int32_t> sums(64);
  EXPECT_EQ(code_of([&] {
              gated_gemm(row_major(std::as_const(bytes).data(), 8, 8),
                         row_major(std::as_const(bytes).data(), 8, 8),
                         row_major(std::as_const(bytes).data(), 8, 8),
                         row_major(sums.data(), 8, 8));
            }),
            ErrorCode::unsupported);
}

}  // namespace
}  // namespace tessera
