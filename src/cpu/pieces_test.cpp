// Few rows in tile registers beside a B whose panels are packed piece by piece
// (core/tile_registers_rule.hpp). The bits are those of panels that are packed before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/catalogue.hpp"
#include "core/tile_registers_rule.hpp"
#include "cpu/blocking.hpp"
#include "cpu/direct.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

using test::Fill;
using test::Kernels;
using test::Placement;
using test::plan_for;
using test::Product;
using test::run_and_check;
using test::types_of;

// What runs by pieces with this L2, and by panels with a small one.
constexpr std::int64_t kRoom = 2 << 20;
constexpr std::int64_t kNoRoom = 8 << 10;

constexpr std::string_view kTileRegisters = "cpu_amx_bf16";
constexpr std::int64_t kDeepestPanels = 512;  // but by pieces

bool takes_pieces(const Plan& plan, Product& product) {
  const cpu::KernelCode& code = *cpu::find_code(plan.kernel);
  const cpu::Launch launch{plan, code, {}, {}};
  return cpu::blocking_of(launch, cpu::product_of(product.operands(), plan, code)).packs_by_pieces;
}

// Runs the product by pieces, which `takes` says whether it is, and by panels: the same bits.
void check_both_ways(Plan plan, std::uint64_t seed, Placement place_a, Placement place_b,
                     bool takes) {
  const GemmShape& shape = plan.problem.groups.front();
  const auto run = [&](std::int64_t l2) {
    plan.machine.scratchpad_bytes = l2;
    Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed, place_a,
                    place_b);
    EXPECT_EQ(takes_pieces(plan, product), takes && l2 == kRoom);
    EXPECT_EQ(run_and_check(plan, product, 1), "");
    return product.c.bytes();
  };
  ASSERT_EQ(run(kRoom), run(kNoRoom));
}

// One strip of rows, two, the second of any length, up to four where that pays; panels that columns
// end in; k of a piece, of several, in blocks, and of an end of each kind; operands whose rows are
// padded, A across k, epilogues, sums that C is added to, and C of another type.
TEST_P(Kernels, FewRowsTakeBByPieces) {
  if (cpu::find_code(kernel().name)->piece_depth == 0) GTEST_SKIP() << "packs whole panels";
  std::uint64_t seed = 9000;
  for (const std::int64_t m : {1, 7, 16, 17, 31, 32, 33, 40, 48, 63, 64, 75, 96, 128}) {
    for (const std::int64_t n : {70, 96, 131, 170}) {
      for (const std::int64_t k : {128, 131, 320, 517, 700}) {
        const bool is_odd = m % 2 == 1;
        const GemmShape shape{m, n, k};
        const std::int64_t block_k = k == 700 ? 256 : 704;
        Plan plan =
            plan_for(kernel(), types_of(kernel(), k != 320), shape, {128, 160, block_k}, {});
        plan.problem.c.alignment = 64;
        plan.problem.alpha = k == 131 ? 0.5 : 1;
        plan.problem.beta = k % 2 == 0 ? 0 : 1;
        if (n == 131) plan.problem.epilogue = {BiasAxis::column, Activation::relu};
        const Placement place_a = {.column_major = k == 517, .padding = is_odd ? 0 : 3};
        const std::int64_t cols = std::min<std::int64_t>(n, 160);
        const bool is_flat = m > 32 && suits_flat_blocks(2 * std::min(k, block_k), cols);
        const bool suits_many = k % 32 == 0 ? m % 16 == 0 : cols == 160;
        const bool takes = n * k > 8192 && !is_flat && (m <= 64 || suits_many);
        SCOPED_TRACE(testing::Message() << m << "×" << n << "×" << k);
        check_both_ways(plan, seed++, place_a, {.padding = is_odd ? 5 : 0}, takes);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rows of A that begin at lines pass by where they lie, and so do the ends of those whose k ends
// in a part of one.
TEST_P(Kernels, StripsOnLinesTakeBByPieces) {
  if (cpu::find_code(kernel().name)->piece_depth == 0) GTEST_SKIP() << "packs whole panels";
  std::uint64_t seed = 9400;
  for (const std::int64_t m : {32, 64, 80, 96, 128}) {
    for (const std::int64_t n : {96, 170}) {
      for (const std::int64_t k : {320, 833}) {
        const GemmShape shape{m, n, k};
        Plan plan = plan_for(kernel(), types_of(kernel()), shape, {128, 192, 864}, {});
        plan.problem.a.alignment = 64;
        plan.problem.c.alignment = 64;
        const Placement on_lines = {.padding = k % 32 == 0 ? 0 : 32 - k % 32, .on_line = true};
        SCOPED_TRACE(testing::Message() << m << "×" << n << "×" << k);
        check_both_ways(plan, seed++, on_lines, {}, true);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Columns, k and rows are dealt to workers, which is no reason to read rows of A that are not
// there.
TEST_P(Kernels, WorkersTakeBByPieces) {
  if (cpu::find_code(kernel().name)->piece_depth == 0) GTEST_SKIP() << "packs whole panels";
  std::uint64_t seed = 9500;
  for (const std::int64_t m : {5, 40, 64}) {
    for (const int workers : {2, 3}) {
      for (const ScheduleKind kind : {ScheduleKind::data_parallel, ScheduleKind::split_k}) {
        const GemmShape shape{m, 330, 613};
        const bool splits = kind == ScheduleKind::split_k;
        Schedule schedule{.kind = kind, .workers = workers};
        if (splits) schedule.splits = workers;
        Plan plan = plan_for(kernel(), types_of(kernel()), shape,
                             {64, splits ? 352 : 128, splits ? 224 : 640}, schedule);
        plan.machine.scratchpad_bytes = kRoom;
        plan.machine.workers = workers;
        Product product(plan.problem.types, shape, 0, Fill::normal, seed++);
        EXPECT_TRUE(takes_pieces(plan, product)) << m << " rows, " << workers << " workers";
        EXPECT_EQ(run_and_check(plan, product, workers), "") << m << " rows, " << workers;
      }
    }
  }
}

// Rows that lie as they are long are dealt by strips of registers, where columns would share lines
// of C, and else columns; the bits are those of one thread.
TEST_P(Kernels, PartsOfSmallProductsTakeBByPieces) {
  if (cpu::find_code(kernel().name)->piece_depth == 0) GTEST_SKIP() << "packs whole panels";
  std::uint64_t seed = 9700;
  for (const std::int64_t m : {20, 48, 64, 80}) {
    for (const std::int64_t n : {192, 300}) {
      const GemmShape shape{m, n, 300};
      Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {96, 320, 320}, {});
      plan.machine.scratchpad_bytes = kRoom;
      Product alone(plan.problem.types, shape, 0, Fill::normal, seed);
      ASSERT_EQ(run_and_check(plan, alone, 1), "") << m << "×" << n;
      for (const int threads : {2, 3}) {
        plan.schedule.workers = threads;
        Product product(plan.problem.types, shape, 0, Fill::normal, seed);
        const cpu::KernelCode& code = *cpu::find_code(kernel().name);
        const auto form = cpu::direct_form(plan, code, product.operands());
        ASSERT_TRUE(form.has_value() && form->passes);
        if (threads == 2) {  // which both sides divide among nearly equally
          EXPECT_EQ(cpu::share_of(*form, threads).of_columns, m <= 32 || n == 192) << m << "×" << n;
        }
        EXPECT_EQ(run_and_check(plan, product, threads), "") << m << "×" << n;
        EXPECT_EQ(product.c.bytes(), alone.c.bytes()) << m << "×" << n;
      }
      ++seed;
    }
  }
}

// A plan whose panels are deeper than few rows have otherwise is made for pieces.
TEST(ByPieces, ArePlannedWhereTheyAreTaken) {
  if (test::code_here(kTileRegisters) == nullptr) GTEST_SKIP() << "no tile registers here";
  int taken = 0;
  int taken_of_many = 0;
  for (const int workers : {1, 2, 4, 7}) {
    const Machine machine = with_workers(machine_by_name("sapphire-rapids"), workers);
    for (const GemmShape& shape : {GemmShape{8, 300, 900},
                                   {16, 500, 2000},
                                   {64, 1500, 1200},
                                   {40, 40, 20000},
                                   {64, 1024, 1024},
                                   {32, 2048, 700},
                                   {33, 100, 5000},
                                   {5, 700, 700},
                                   {48, 4096, 600},
                                   {64, 100, 8000},
                                   {24, 3000, 1000},
                                   {80, 512, 700},
                                   {128, 512, 768},
                                   {100, 300, 1001},
                                   {96, 96, 832},
                                   {100, 90, 800}}) {
      const Plan plan = make_plan(dense_problem(shape, gemm_types_for(ElementType::bf16)), machine);
      if (plan.kernel != kTileRegisters) continue;
      Product product(plan.problem.types, shape, 0, Fill::normal, 1);
      const bool takes = takes_pieces(plan, product);
      EXPECT_EQ(takes, plan.tile.block_k > kDeepestPanels)
          << shape.m << "×" << shape.n << "×" << shape.k << ", " << workers << " workers";
      taken += takes ? 1 : 0;
      taken_of_many += takes && shape.m > 64 ? 1 : 0;
    }
  }
  EXPECT_GT(taken, 20);
  EXPECT_GT(taken_of_many, 4);
}

// Columns of a column-major C are rows to the kernel, and B is A.
TEST(ByPieces, ArePlannedWhereTheyAreTakenFromTheOtherSide) {
  if (test::code_here(kTileRegisters) == nullptr) GTEST_SKIP() << "no tile registers here";
  const Placement columns = {.column_major = true, .on_line = true};
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  for (const auto& [shape, takes] : {std::pair{GemmShape{512, 80, 700}, true},
                                     {GemmShape{512, 96, 832}, true},
                                     {GemmShape{80, 96, 832}, true},
                                     {GemmShape{90, 100, 800}, false}}) {
    Product product({ElementType::bf16, ElementType::bf16, ElementType::f32}, shape, 0,
                    Fill::normal, 1, columns, columns, columns);
    const Operands operands = product.operands();
    Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), machine);
    ASSERT_EQ(plan.kernel, kTileRegisters);
    EXPECT_EQ(takes_pieces(plan, product), takes) << shape.m << "×" << shape.n << "×" << shape.k;
    EXPECT_EQ(plan.tile.block_k > kDeepestPanels, takes) << shape.m << "×" << shape.n;
    EXPECT_EQ(run_and_check(plan, product, 1), "") << shape.m << "×" << shape.n << "×" << shape.k;
  }
}

TEST(ByPieces, HaveAllOfKWhileALeavesRoom) {
  EXPECT_EQ(depth_by_pieces(40, 2, kRoom), kRoom / 5 / 80);
  EXPECT_GT(depth_by_pieces(32, 2, kRoom), 4000);
  EXPECT_GT(depth_by_pieces(16, 2, kRoom), 10000);
  EXPECT_LT(depth_by_pieces(40, 2, kRoom), 10000);
  EXPECT_LT(depth_by_pieces(64, 2, kRoom), 8000);
}

TEST(ByPieces, AreDealtByColumnsWhereWorkersShareFewLines) {
  EXPECT_TRUE(deals_columns_by_pieces(32, 300, 16));
  EXPECT_FALSE(deals_columns_by_pieces(32, 200, 16));
  EXPECT_FALSE(deals_columns_by_pieces(33, 300, 16));
  EXPECT_TRUE(deals_columns_by_pieces(33, 500, 16));
  EXPECT_TRUE(deals_columns_by_pieces(33, 300, 32));
}

TEST(ByPieces, SuitFewRowsBesideABInL2) {
  const FewRows few{.rows = 16,
                    .cols = 500,
                    .depth = 800,
                    .packed_size = 2,
                    .b_row_bytes = 1000,
                    .b_bytes = 800e3};
  const auto with = [&](auto member, auto value) {
    FewRows other = few;
    other.*member = value;
    return packs_by_pieces(other, kRoom);
  };
  EXPECT_TRUE(packs_by_pieces(few, kRoom));
  EXPECT_FALSE(packs_by_pieces(few, 512 << 10));
  EXPECT_TRUE(with(&FewRows::rows, 64));
  EXPECT_FALSE(with(&FewRows::packed_size, 1));
  EXPECT_FALSE(with(&FewRows::packed_size, 4));
  EXPECT_FALSE(with(&FewRows::b_bytes, 16e3));
  EXPECT_TRUE(with(&FewRows::b_bytes, 2e6));
  EXPECT_FALSE(with(&FewRows::b_bytes, 2.2e6));
  // Rows that share few places of L2 leave less room.
  FewRows colliding = few;
  colliding.b_row_bytes = 1024;
  colliding.b_bytes = 1.5e6;
  EXPECT_TRUE(packs_by_pieces(colliding, kRoom));
  colliding.b_row_bytes = 4096;
  EXPECT_FALSE(packs_by_pieces(colliding, kRoom));
  // Short rows are written from end to end, or multiplied flat.
  EXPECT_FALSE(packs_by_pieces({64, 5000, 200, 2, 10000, 2e6}, kRoom));
  EXPECT_FALSE(packs_by_pieces({32, 500, 20, 2, 1000, 20e3}, kRoom));
  EXPECT_TRUE(packs_by_pieces({16, 500, 20, 2, 1000, 20e3}, kRoom));
  EXPECT_FALSE(packs_by_pieces({40, 60, 200, 2, 120, 24e3}, kRoom));
  EXPECT_TRUE(packs_by_pieces({32, 60, 200, 2, 120, 24e3}, kRoom));
}

TEST(ByPieces, SuitMoreStripsThatArePackedAnywayOrLieOnLines) {
  const FewRows on_lines{.rows = 96,
                         .cols = 96,
                         .depth = 832,
                         .packed_size = 2,
                         .b_row_bytes = 192,
                         .b_bytes = 160e3,
                         .a_is_on_lines = true,
                         .c_is_on_lines = true};
  const auto with = [&](std::int64_t rows, std::int64_t cols, bool a_is_on_lines = true,
                        bool c_is_on_lines = true) {
    FewRows other = on_lines;
    other.rows = rows;
    other.cols = cols;
    other.a_is_on_lines = a_is_on_lines;
    other.c_is_on_lines = c_is_on_lines;
    return packs_by_pieces(other, kRoom);
  };
  EXPECT_TRUE(packs_by_pieces(on_lines, kRoom));
  EXPECT_TRUE(with(128, 96));
  EXPECT_FALSE(with(129, 96));
  EXPECT_FALSE(with(96, 96, true, false));
  // Rows that do not fill their registers.
  EXPECT_FALSE(with(97, 96));
  EXPECT_TRUE(with(97, 256));
  EXPECT_FALSE(with(97, 256, true, false));
  // A across lines is packed.
  EXPECT_FALSE(with(96, 96, false));
  EXPECT_TRUE(with(96, 160, false));
  EXPECT_TRUE(with(97, 160, false, false));
  // Up to two strips anyway, of which B may be larger.
  EXPECT_TRUE(with(64, 96, false, false));
  FewRows many = on_lines;
  many.b_bytes = 1.2e6;
  EXPECT_FALSE(packs_by_pieces(many, kRoom));
  many.rows = 64;
  EXPECT_TRUE(packs_by_pieces(many, kRoom));
}

}  // namespace
}  // namespace tessera
