// What a product means at its edges: what is not read, what propagates, what a caller may rely on.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "support/check_product.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using test::check_product;
using test::Fill;
using test::GuardedMatrix;
using test::Product;

constexpr GemmTypes kFloat{ElementType::f32, ElementType::f32, ElementType::f32};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Semantics, AlphaZeroDoesNotReadTheFactors) {
  std::vector<float> poison(60, kNan);
  std::vector<float> c(30, 2.0f);
  gemm(0, row_major(poison.data(), 5, 10), row_major(poison.data(), 10, 6), 0.5,
       row_major(c.data(), 5, 6));
  for (const float value : c) EXPECT_EQ(value, 1.0f);
}

TEST(Semantics, AlphaZeroBetaOneLeavesCAlone) {
  std::vector<float> factor(60, 1.0f);
  std::vector<float> c(30);
  std::iota(c.begin(), c.end(), 0.0f);
  c[7] = -0.0f;
  const std::vector<float> before = c;
  gemm(0, row_major(factor.data(), 5, 10), row_major(factor.data(), 10, 6), 1,
       row_major(c.data(), 5, 6));
  EXPECT_EQ(std::memcmp(c.data(), before.data(), c.size() * sizeof(float)), 0);
}

TEST(Semantics, NanAndInfinityPropagate) {
  constexpr int kSize = 40;
  std::vector<float> a(kSize * kSize, 1.0f);
  std::vector<float> b(kSize * kSize, 1.0f);
  std::vector<float> c(kSize * kSize);
  a[3 * kSize + 17] = kNan;
  a[5 * kSize + 2] = kInf;
  b[39] = -kInf;  // row 0, last column: meets a finite 1 in every row but row 3 and 5
  gemm(1, row_major(a.data(), kSize, kSize), row_major(b.data(), kSize, kSize), 0,
       row_major(c.data(), kSize, kSize));
  for (int col = 0; col < kSize; ++col) {
    EXPECT_TRUE(std::isnan(c[3 * kSize + col]));
    EXPECT_TRUE(col == 39 || c[5 * kSize + col] == kInf);
  }
  EXPECT_TRUE(std::isnan(c[5 * kSize + 39])) << "inf − inf";
  EXPECT_EQ(c[39], -kInf);
  EXPECT_EQ(c[0], 40.0f);
}

TEST(Semantics, DenormalsAreKept) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  std::vector<float> a(16, tiny);
  std::vector<float> b(16, 1.0f);
  std::vector<float> c(16);
  gemm(1, row_major(a.data(), 4, 4), row_major(b.data(), 4, 4), 0, row_major(c.data(), 4, 4));
  for (const float value : c) EXPECT_EQ(value, 4 * tiny);
}

TEST(Semantics, KZeroScalesC) {
  std::vector<float> c = {1, 2, 3, 4, 5, 6};
  gemm(1, row_major(static_cast<const float*>(nullptr), 2, 0),
       row_major(static_cast<const float*>(nullptr), 0, 3), 2, row_major(c.data(), 2, 3));
  EXPECT_EQ(c, (std::vector<float>{2, 4, 6, 8, 10, 12}));
  c[1] = kNan;
  gemm(1, row_major(static_cast<const float*>(nullptr), 2, 0),
       row_major(static_cast<const float*>(nullptr), 0, 3), 0, row_major(c.data(), 2, 3));
  EXPECT_EQ(c, std::vector<float>(6, 0.0f));
}

TEST(Semantics, AnErrorLeavesCUntouched) {
  Product product(kFloat, {8, 9, 10}, 1, Fill::normal, 1);
  Operands operands = product.operands();
  operands.b.rows = 9;
  EXPECT_THROW(gemm(1, operands.a, operands.b, 0, operands.c), Error);
  operands = product.operands();
  Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), host_machine());
  plan.problem.groups[0].n = 8;
  EXPECT_THROW(run(plan, {&operands, 1}), Error);
  EXPECT_EQ(product.c.bytes(), product.c_before.bytes());
}

TEST(Semantics, ACallersWorkspaceIsEnoughAtTheSizeThatWasAsked) {
  Product product(kFloat, {50, 60, 700}, 0, Fill::normal, 5);
  const Operands operands = product.operands();
  PlanOptions options;
  options.schedule = ScheduleKind::stream_k;
  options.workers = 5;
  options.tile = TileConfig{.block_m = 32, .block_n = 32, .block_k = 32};
  const Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), host_machine(), options);
  const std::size_t size = workspace_bytes(plan);
  ASSERT_GT(size, 0u);
  std::vector<std::byte> memory(size + 128, std::byte{0x5a});
  std::byte* aligned = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  run(plan, {&operands, 1}, {.workspace = aligned, .workspace_size = size});
  EXPECT_EQ(check_product(product, 1, 0, {}, 64), "");
  for (const std::byte* at = aligned + size; at < memory.data() + memory.size(); ++at) {
    ASSERT_EQ(*at, std::byte{0x5a}) << "written past the workspace";
  }
  EXPECT_THROW(run(plan, {&operands, 1}, {.workspace = aligned, .workspace_size = size - 1}),
               Error);
}

// One row of A, and what it gives as the first row of a taller product, bit for bit.
struct Scales {
  double alpha = 1;
  double beta = 0;
};

void expect_batch_invariance(const GemmTypes& types, std::int64_t n, std::int64_t k,
                             const test::Placement& place_b = {}, const Scales& scales = {}) {
  std::mt19937_64 random(3);
  const GuardedMatrix b(types.b, k, n, Fill::normal, random, place_b);
  const GuardedMatrix a(types.a, 130, k, Fill::normal, random);
  std::vector<std::byte> first_row;
  // Every number of rows, unless that takes seconds.
  const std::int64_t step = k > 1000 ? 7 : 1;
  for (std::int64_t m = 1; m <= 130; m += m < 40 || m >= 124 ? 1 : step) {
    std::mt19937_64 same(5);
    GuardedMatrix c(types.c, m, n, scales.beta != 0 ? Fill::normal : Fill::poison, same);
    ConstMatrixView top = a.view();
    top.rows = m;
    const Operands operands{top, b.view(), c.view()};
    PlanOptions options;
    options.batch_invariant = true;
    const Problem problem = describe({&operands, 1}, scales.alpha, scales.beta, {});
    run(make_plan(problem, host_machine(), options), {&operands, 1});
    const auto* row = static_cast<const std::byte*>(c.view().data);
    const std::vector<std::byte> bits(row, row + n * size_of(types.c));
    if (first_row.empty()) first_row = bits;
    ASSERT_EQ(bits, first_row) << "m = " << m;
  }
}

TEST(BatchInvariant, FirstRowKeepsItsBitsForF32) {
  expect_batch_invariance(kFloat, 96, 300);
}
TEST(BatchInvariant, FirstRowKeepsItsBitsForF64) {
  expect_batch_invariance({ElementType::f64, ElementType::f64, ElementType::f64}, 70, 600);
}
TEST(BatchInvariant, FirstRowKeepsItsBitsForBf16) {
  expect_batch_invariance({ElementType::bf16, ElementType::bf16, ElementType::bf16}, 130, 1000);
}
// Weights along k, beside which few rows may be computed turned round.
TEST(BatchInvariant, FirstRowKeepsItsBitsBesideColumnMajorWeights) {
  const GemmTypes types{ElementType::bf16, ElementType::bf16, ElementType::f32};
  const test::Placement along_k{.column_major = true};
  expect_batch_invariance(types, 60, 900, along_k);
  expect_batch_invariance(types, 60, 900, along_k, {.alpha = 0.7});
  expect_batch_invariance(types, 60, 900, along_k, {.beta = 1});
  expect_batch_invariance({ElementType::bf16, ElementType::bf16, ElementType::bf16}, 60, 900,
                          along_k, {.alpha = 0.7, .beta = 0.3});
}
TEST(BatchInvariant, FirstRowKeepsItsBitsOverALongK) {
  expect_batch_invariance(kFloat, 16, 9000);
  // Turned round from so many rows on where that is alike: 4 columns from 5, 12 from 17.
  expect_batch_invariance(kFloat, 18, 2406);
  expect_batch_invariance(kFloat, 18, 2406, {}, {.alpha = 0.7});
  for (const std::int64_t n : {1, 2, 4, 12}) {
    expect_batch_invariance(kFloat, n, 2406);
    expect_batch_invariance(kFloat, n, 2406, {}, {.alpha = 0.7});
    expect_batch_invariance(kFloat, n, 2406, {.column_major = true}, {.beta = 1});
  }
  // Columns of small elements that are copied beside 17 rows and more.
  expect_batch_invariance({ElementType::bf16, ElementType::bf16, ElementType::bf16}, 12, 1000);
  expect_batch_invariance({ElementType::bf16, ElementType::bf16, ElementType::f32}, 12, 1000);
  expect_batch_invariance({ElementType::i8, ElementType::i8, ElementType::i32}, 10, 1000);
}

// A single row of a column-major C may look like one of rows.
TEST(BatchInvariant, FirstRowKeepsItsBitsInAColumnMajorC) {
  constexpr std::int64_t kCols = 70;
  constexpr std::int64_t kDepth = 1500;
  constexpr std::int64_t kMostRows = 40;
  std::mt19937_64 random(7);
  const GuardedMatrix a(ElementType::f32, kMostRows, kDepth, Fill::normal, random);
  const GuardedMatrix b(ElementType::f32, kDepth, kCols, Fill::normal, random);
  PlanOptions options;
  options.batch_invariant = true;
  for (const bool is_packed : {false, true}) {
    std::vector<float> first_row;
    for (const std::int64_t m : {1, 2, 7, 40}) {
      std::vector<float> c(static_cast<std::size_t>(m * kCols), 0.3F);
      ConstMatrixView top = a.view();
      top.rows = m;
      Operands operands{top, b.view(), {c.data(), m, kCols, 1, m, ElementType::f32}};
      Plan plan = make_plan(describe({&operands, 1}, 0.7, 0.9, {}), host_machine(), options);
      const PackedMatrix packed = pack_b(plan, operands.b);
      if (is_packed) {
        operands.packed_b = &packed;
        plan = make_plan(describe({&operands, 1}, 0.7, 0.9, {}), host_machine(), options);
      }
      run(plan, {&operands, 1});
      std::vector<float> row;
      for (std::int64_t n = 0; n < kCols; ++n) row.push_back(c[static_cast<std::size_t>(n * m)]);
      if (first_row.empty()) first_row = row;
      ASSERT_EQ(row, first_row) << "m = " << m << (is_packed ? ", packed" : "");
    }
  }
}

// Several products at a time, from threads that know nothing of one another.
TEST(Concurrency, CallsFromManyThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> faults(6);
  for (std::size_t t = 0; t < faults.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 0; round < 5 && faults[t].empty(); ++round) {
        Product product(kFloat, {70, 90, 110}, 0, Fill::normal, 10 * t + round);
        const Operands operands = product.operands();
        PlanOptions options;
        options.schedule = ScheduleKind::stream_k;
        options.workers = 7;
        run(make_plan(describe({&operands, 1}, 1, 0, {}), host_machine(), options), {&operands, 1},
            {.threads = 3});
        faults[t] = check_product(product, 1, 0, {}, 64);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
}

// A long k, which a plan for several workers splits.
TEST(Concurrency, ACallIsPlannedForItsThreads) {
  Product product(kFloat, {24, 40, 20000}, 0, Fill::normal, 5);
  Product planned(kFloat, {24, 40, 20000}, 0, Fill::normal, 5);
  const Operands operands = planned.operands();
  const Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), with_workers(host_machine(), 1));
  run(plan, {&operands, 1});
  gemm(1, product.operands(), 0);
  for (int call = 0; call < 3; ++call) {
    gemm(1, product.operands(), 0, {}, {.threads = 1});
    ASSERT_EQ(product.c.bytes(), planned.c.bytes());
  }
}

// OpenMP would end the process, or overrun its stack.
TEST(Concurrency, ImpossibleNumbersOfThreadsAreRefused) {
  Product product(kFloat, {4, 4, 4}, 0, Fill::normal, 5);
  for (int call = 0; call < 3; ++call) gemm(1, product.operands(), 0);
  Product large(kFloat, {200, 180, 160}, 0, Fill::normal, 5);
  for (Product* const one : {&product, &large}) {
    const Operands operands = one->operands();
    const Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), host_machine());
    for (const int threads : {-1, 4097, 100000, std::numeric_limits<int>::max()}) {
      EXPECT_THROW(gemm(1, operands, 0, {}, {.threads = threads}), Error) << threads;
      EXPECT_THROW(run(plan, {&operands, 1}, {.threads = threads}), Error) << threads;
    }
  }
}

std::string multiply_on_two_threads() {
  Product product(kFloat, {200, 180, 160}, 0, Fill::normal, 2);
  const Operands operands = product.operands();
  PlanOptions options;
  options.workers = 4;
  run(make_plan(describe({&operands, 1}, 1, 0, {}), host_machine(), options), {&operands, 1},
      {.threads = 2});
  return check_product(product, 1, 0, {}, 64);
}

// The parent's threads do not exist in a forked child; a product there must not wait for them.
TEST(ForkSlow, AChildCanMultiplyAfterItsParentDid) {
  ASSERT_EQ(multiply_on_two_threads(), "");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);
    _exit(multiply_on_two_threads().empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

}  // namespace
}  // namespace tessera
