// Every microkernel of the catalogue, forced, over edge sizes, layouts, schedules, epilogues and
// thread counts, judged element by element. Plans are put together by hand: what is tested here is
// the backend, whatever the planner chooses. A kernel that this processor cannot run is skipped by
// name.
#include "cpu/run.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "core/catalogue.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/kernel.hpp"
#include "support/check_product.hpp"

namespace tessera {
namespace {

using test::check_product;
using test::Fill;
using test::Placement;
using test::Product;

constexpr std::int64_t kMostContributors = 200;

struct Shape {
  std::int64_t block_m;
  std::int64_t block_n;
  std::int64_t block_k;
};

GemmTypes types_of(const KernelEntry& kernel, bool wide_c = false) {
  GemmTypes types = gemm_types_for(kernel.a);
  types.b = kernel.b;
  if (wide_c) types.c = accumulator_of(types);
  return types;
}

Plan plan_for(const KernelEntry& kernel, const GemmTypes& types, const GemmShape& shape,
              const Shape& blocks, const Schedule& schedule) {
  Plan plan;
  plan.problem = dense_problem(shape, types);
  plan.machine = host_machine();
  plan.kernel = kernel.name;
  plan.tile = kernel.tile;
  plan.tile.block_m = static_cast<int>(blocks.block_m);
  plan.tile.block_n = static_cast<int>(blocks.block_n);
  plan.tile.block_k = static_cast<int>(blocks.block_k);
  plan.schedule = schedule;
  return plan;
}

// Empty, or what is wrong with the result.
std::string run_and_check(Plan& plan, Product& product, int threads) {
  const Operands operands = product.operands(plan.problem.epilogue);
  cpu::run_plan(plan, {&operands, 1}, {.threads = threads});
  return check_product(product, plan.problem.alpha, plan.problem.beta, plan.problem.epilogue,
                       kMostContributors);
}

class Kernels : public testing::TestWithParam<const KernelEntry*> {
 protected:
  void SetUp() override {
    if (!architecture_runs(cpu::host_architecture(), kernel().architecture)) {
      GTEST_SKIP() << kernel().name << " needs " << kernel().architecture << "; this processor has "
                   << cpu::host_architecture();
    }
  }
  const KernelEntry& kernel() const { return *GetParam(); }
};

std::vector<const KernelEntry*> all_kernels() {
  std::vector<const KernelEntry*> all;
  for (const KernelEntry& kernel : cpu_kernels()) all.push_back(&kernel);
  return all;
}

TEST_P(Kernels, CodeAgreesWithTheCatalogue) {
  const cpu::KernelCode* code = cpu::find_code(kernel().name);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->mr, kernel().tile.mr);
  EXPECT_EQ(code->nr, kernel().tile.nr);
  EXPECT_EQ(code->accumulator, accumulator_of(types_of(kernel())));
  EXPECT_EQ(code->reads_in_place, kernel().reads_in_place);
  EXPECT_EQ(code->interleaves, kernel().interleaves);
  EXPECT_EQ(code->multiplies_dots, kernel().multiplies_dots);
}

// One tile: every number of rows and vectors that a register tile can have, packed and in place.
TEST_P(Kernels, EveryRegisterTileSize) {
  const int mr = kernel().tile.mr;
  const int nr = kernel().tile.nr;
  std::uint64_t seed = 1;
  for (std::int64_t m = 1; m <= mr + 1; ++m) {
    for (const std::int64_t n :
         {1, nr / 2 - 1, nr / 2, nr / 2 + 1, nr - 1, nr, nr + 1, 2 * nr + 3}) {
      for (const std::int64_t k : {1, 2, 3, 7, 64}) {
        for (const bool in_place : {false, true}) {
          Plan plan =
              plan_for(kernel(), types_of(kernel(), true), {m, n, k}, {m + 3, n + 3, 32}, {});
          plan.tile.a_in_place = in_place;
          plan.tile.b_in_place = in_place;
          Product product(plan.problem.types, {m, n, k}, 0, Fill::normal, seed++);
          ASSERT_EQ(run_and_check(plan, product, 1), "") << (in_place ? "in place" : "packed");
        }
      }
    }
  }
}

// Rows of A and columns of B along k, in place: every size of a tile of dot products, all ends of
// k.
TEST_P(Kernels, DotProductsOfEverySize) {
  std::uint64_t seed = 500;
  for (std::int64_t m = 1; m <= 6; ++m) {
    for (const std::int64_t n : {1, 4, 7, 8, 9, 21}) {
      for (const std::int64_t k : {1, 15, 16, 63, 64, 67, 130, 300}) {
        Plan plan =
            plan_for(kernel(), types_of(kernel(), m % 2 == 0), {m, n, k}, {m, n + 3, 256}, {});
        plan.tile.a_in_place = true;
        plan.tile.b_in_place = true;
        plan.problem.beta = n % 2 == 0 ? 0 : 1;
        Product product(plan.problem.types, {m, n, k}, plan.problem.beta, Fill::normal, seed++, {},
                        {.column_major = true});
        ASSERT_EQ(run_and_check(plan, product, 1), "") << m << "×" << n << "×" << k;
      }
    }
  }
}

// Blocks of k so deep that C is fetched before it is needed (microkernel.hpp), and their
// remainders; with k = 4096, rows of A that would drive each other out of the nearest cache, and
// are copied or taken a few at a time (blocking.cpp).
TEST_P(Kernels, DeepBlocks) {
  std::uint64_t seed = 700;
  for (const std::int64_t block_k : {132, 256, 1000}) {
    for (const std::int64_t k : {131, 257, 700, 4096}) {
      for (const bool in_place : {false, true}) {
        const GemmShape shape{2 * kernel().tile.mr + 1, kernel().tile.nr + 1, k};
        Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {64, 96, block_k}, {});
        plan.tile.a_in_place = in_place;
        plan.tile.b_in_place = in_place;
        plan.problem.beta = 1;
        Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed++);
        ASSERT_EQ(run_and_check(plan, product, 1), "") << block_k << " of " << k;
      }
    }
  }
}

// Rows of A whose k ends within a pair or a quad, where they lie, a few at a time and copied: with
// rows 4096 elements apart, that is for few columns and for many.
TEST_P(Kernels, RowsThatEndWithinAGroup) {
  std::uint64_t seed = 800;
  for (const std::int64_t k : {5, 7, 63, 1021, 4093, 4094}) {
    for (const std::int64_t n : {kernel().tile.nr + 1, 289}) {
      for (const std::int64_t block_k : {64, 5000}) {
        const GemmShape shape{2 * kernel().tile.mr + 1, n, k};
        Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {64, 320, block_k}, {});
        plan.problem.beta = k % 2 == 0 ? 0 : 1;
        Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed++,
                        {.padding = k < 4000 ? 0 : static_cast<int>(4096 - k)});
        ASSERT_EQ(run_and_check(plan, product, 1), "") << block_k << " of " << k;
      }
    }
  }
}

// A C that no cache holds is written row by row (blocking.cpp), with the same bits: every kind of
// operand, edges of register tiles, the longest k for which it is so, and beyond.
TEST_P(Kernels, FarSums) {
  const int mr = kernel().tile.mr;
  const int nr = kernel().tile.nr;
  std::uint64_t seed = 900;
  for (const std::int64_t k : {1, 7, 64, 127, 128, 129, 512, 520}) {
    for (const GemmShape& shape :
         {GemmShape{2 * mr + 1, 3 * nr - 1, k}, GemmShape{3 * mr, nr + 1, k}}) {
      for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7}) {
        Plan plan = plan_for(kernel(), types_of(kernel(), variant < 6), shape,
                             {mr + 5, 2 * nr, variant % 4 == 0 ? 64 : 600}, {});
        plan.tile.a_in_place = variant % 2 == 1;
        plan.tile.b_in_place = variant % 4 >= 2;
        plan.problem.beta = variant < 4 ? 0 : 1;
        if (variant == 5) plan.problem.epilogue = {BiasAxis::column, Activation::relu};
        std::vector<std::byte> near;
        for (const std::int64_t cache : {std::int64_t{1} << 30, std::int64_t{1}}) {
          plan.machine.cache_bytes = cache;
          Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed);
          ASSERT_EQ(run_and_check(plan, product, 2), "") << variant << ", k = " << k;
          if (near.empty()) near = product.c.bytes();
          ASSERT_EQ(near, product.c.bytes()) << variant << ", k = " << k;
        }
        ++seed;
      }
    }
  }
}

constexpr std::array kSchedules = {
    Schedule{.kind = ScheduleKind::data_parallel, .workers = 3},
    Schedule{.kind = ScheduleKind::split_k, .workers = 4, .splits = 3, .order = TileOrder::swizzle},
    Schedule{.kind = ScheduleKind::stream_k, .workers = 7, .order = TileOrder::hilbert},
    Schedule{.kind = ScheduleKind::hybrid, .workers = 5},
    Schedule{.kind = ScheduleKind::stream_k, .workers = 132}};

TEST_P(Kernels, EdgesOfTilesInEverySchedule) {
  std::uint64_t seed = 1000;
  for (const Schedule& schedule : kSchedules) {
    for (const std::int64_t m : {0, 1, 24, 61}) {
      for (const std::int64_t n : {1, 63, 64, 131}) {
        for (const std::int64_t k : {0, 1, 31, 33, 127}) {
          for (const bool wide_c : {false, true}) {
            Plan plan =
                plan_for(kernel(), types_of(kernel(), wide_c), {m, n, k}, {24, 64, 32}, schedule);
            plan.tile.mc = 12;
            Product product(plan.problem.types, {m, n, k}, 0, Fill::normal, seed++);
            ASSERT_EQ(run_and_check(plan, product, 2), "")
                << name_of(schedule.kind) << " " << m << "×" << n << "×" << k;
          }
        }
      }
    }
  }
}

TEST_P(Kernels, EveryLayoutAndBeta) {
  const bool integer = kernel().a == ElementType::i8 || kernel().a == ElementType::u8;
  const std::array<Placement, 4> placements = {
      {{}, {.padding = 3}, {.column_major = true, .padding = 5}, {.padding = 1, .step = 2}}};
  std::uint64_t seed = 2000;
  for (const Placement& a : placements) {
    for (const Placement& b : placements) {
      for (const Placement& c : placements) {
        for (const double beta : {0.0, 1.0, integer ? -2.0 : -0.5}) {
          for (const bool in_place : {false, true}) {
            const GemmShape shape{37, 75, 83};
            Plan plan = plan_for(kernel(), types_of(kernel()), shape, {25, 40, 32},
                                 kSchedules[seed % kSchedules.size()]);
            plan.problem.alpha = integer ? 3 : 0.75;
            plan.problem.beta = beta;
            plan.tile.a_in_place = in_place;
            plan.tile.b_in_place = in_place;
            Product product(plan.problem.types, shape, beta, Fill::normal, seed++, a, b, c);
            ASSERT_EQ(run_and_check(plan, product, 2), "") << "beta " << beta << ", " << seed;
          }
        }
      }
    }
  }
}

// Skinny products are turned round, whatever C's layout.
TEST_P(Kernels, OneRowAndOneColumn) {
  std::uint64_t seed = 3000;
  for (const GemmShape& shape :
       {GemmShape{1, 201, 77}, GemmShape{201, 1, 77}, GemmShape{3, 97, 40}, GemmShape{97, 3, 40},
        GemmShape{1, 1, 500}, GemmShape{16, 133, 75}}) {
    for (const bool column_major : {false, true}) {
      for (const bool in_place : {false, true}) {
        for (const BiasAxis bias : {BiasAxis::none, BiasAxis::row, BiasAxis::column}) {
          Plan plan = plan_for(kernel(), types_of(kernel()), shape, {64, 64, 48}, kSchedules[2]);
          plan.tile.a_in_place = in_place;
          plan.tile.b_in_place = in_place;
          // So small a cache that B in place is streamed, a few k at a time.
          plan.machine.scratchpad_bytes = 1024;
          plan.problem.epilogue.bias = bias;
          Product product(plan.problem.types, shape, 0, Fill::normal, seed++,
                          {.column_major = column_major}, {.column_major = column_major},
                          {.column_major = column_major, .padding = 1});
          ASSERT_EQ(run_and_check(plan, product, 2), "") << shape.m << "×" << shape.n;
        }
      }
    }
  }
}

// B in place as streams: every number of rows side by side, pieces of B's rows and what is left of
// them, rows that keep apart in the nearest cache or not, steps of k and what is left of those, and
// an epilogue over all of it.
TEST_P(Kernels, StreamsOfB) {
  std::uint64_t seed = 3500;
  for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13}) {
    for (const std::int64_t n : {31, 520, 1024, 1100}) {
      for (const std::int64_t k : {3, 4, 70, 310}) {
        const std::int64_t block_k = k < 100 ? 33 : 160;
        Plan plan =
            plan_for(kernel(), types_of(kernel(), true), {m, n, k}, {m + 3, n + 3, block_k}, {});
        plan.tile.b_in_place = true;
        plan.tile.a_in_place = m % 2 == 0;
        plan.machine.scratchpad_bytes = 1024;
        plan.problem.beta = k == 4 ? 0 : 1;
        plan.problem.epilogue = {BiasAxis::column, Activation::relu};
        Product product(plan.problem.types, {m, n, k}, plan.problem.beta, Fill::normal, seed++);
        ASSERT_EQ(run_and_check(plan, product, 1), "") << m << "×" << n << "×" << k;
      }
    }
  }
}

// Weights: packed once, multiplied by inputs of any number of rows, under plans that cut n
// otherwise.
TEST_P(Kernels, PackedAhead) {
  const int nr = kernel().tile.nr;
  std::uint64_t seed = 5000;
  for (const bool column_major : {false, true}) {
    const GemmShape largest{61, 3 * nr + 5, 131};
    Product weights(types_of(kernel()), largest, 0, Fill::normal, seed, {},
                    {.column_major = column_major, .padding = 3});
    Plan plan = plan_for(kernel(), types_of(kernel()), largest, {24, nr, 32}, kSchedules[0]);
    const PackedMatrix packed = pack_b(plan, weights.operands().b);
    for (const std::int64_t m : {1, 13, 61}) {
      for (const Schedule& schedule : kSchedules) {
        const GemmShape shape{m, largest.n, largest.k};
        plan = plan_for(kernel(), types_of(kernel()), shape, {24, 2 * nr, 32}, schedule);
        Product product(plan.problem.types, shape, 0, Fill::normal, seed++, {}, {},
                        {.column_major = m == 13});
        Operands operands = product.operands();
        operands.b = weights.operands().b;
        Operands without_b = operands;
        without_b.b.data = nullptr;
        without_b.packed_b = &packed;
        cpu::run_plan(plan, {&without_b, 1}, {.threads = 2});
        const std::vector<std::byte> from_packed = product.c.bytes();
        cpu::run_plan(plan, {&operands, 1}, {.threads = 2});
        ASSERT_EQ(from_packed, product.c.bytes()) << m << " rows, " << name_of(schedule.kind);
      }
    }
  }
}

TEST_P(Kernels, EveryEpilogue) {
  const bool integer = kernel().a == ElementType::i8 || kernel().a == ElementType::u8;
  std::uint64_t seed = 4000;
  for (const BiasAxis bias : {BiasAxis::none, BiasAxis::row, BiasAxis::column}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_tanh,
                                        Activation::gelu_erf, Activation::silu}) {
      if (integer && activation != Activation::none && activation != Activation::relu) continue;
      for (const std::int64_t k : {0, 16, 70}) {
        for (const Schedule& schedule : {kSchedules[0], kSchedules[2]}) {
          for (const bool wide_c : {false, true}) {
            Plan plan =
                plan_for(kernel(), types_of(kernel(), wide_c), {29, 83, k}, {24, 64, 32}, schedule);
            plan.problem.beta = 1;
            plan.problem.epilogue = {bias, activation};
            Product product(plan.problem.types, {29, 83, k}, 1, Fill::normal, seed++);
            ASSERT_EQ(run_and_check(plan, product, 1), "")
                << name_of(bias) << " " << name_of(activation);
          }
        }
      }
    }
  }
}

TEST_P(Kernels, BitsDoNotDependOnThreads) {
  for (const Schedule& schedule : kSchedules) {
    std::vector<std::byte> first;
    for (const int threads : {1, 2, 3, 7, 64}) {
      const GemmShape shape{150, 170, 190};
      Plan plan = plan_for(kernel(), types_of(kernel()), shape, {48, 64, 32}, schedule);
      Product product(plan.problem.types, shape, 0, Fill::normal, 77);
      const Operands operands = product.operands();
      cpu::run_plan(plan, {&operands, 1}, {.threads = threads});
      if (first.empty()) {
        first = product.c.bytes();
        ASSERT_EQ(check_product(product, 1, 0, {}, kMostContributors), "");
      }
      ASSERT_EQ(first, product.c.bytes()) << threads << " threads";
    }
  }
}

// More rows leave the ones before them unchanged, wherever a plan's blocks of k stay the same.
TEST_P(Kernels, BitsOfARowDoNotDependOnTheNumberOfRows) {
  const GemmShape largest{130, 70, 100};
  std::vector<double> row;
  for (const std::int64_t m : {1, 2, 5, 6, 12, 13, 24, 31, 64, 130}) {
    const GemmShape shape{m, largest.n, largest.k};
    Plan plan = plan_for(kernel(), types_of(kernel()), shape, {24, 64, 32}, {});
    Product product(plan.problem.types, largest, 0, Fill::normal, 5);
    Operands operands = product.operands();
    operands.a.rows = m;
    operands.c.rows = m;
    cpu::run_plan(plan, {&operands, 1}, {});
    std::vector<double> found;
    for (std::int64_t col = 0; col < largest.n; ++col) found.push_back(product.c.at(0, col));
    if (row.empty()) row = found;
    ASSERT_EQ(row, found) << m << " rows";
  }
}

std::string kernel_name(const testing::TestParamInfo<const KernelEntry*>& info) {
  return std::string(info.param->name);
}
INSTANTIATE_TEST_SUITE_P(Cpu, Kernels, testing::ValuesIn(all_kernels()), kernel_name);

// A plain f32 product for what does not depend on the kernel.
struct Stock {
  GemmShape shape{200, 180, 300};
  const KernelEntry& kernel = *find_kernel("cpu_scalar_f32");
  Plan plan = plan_for(kernel, types_of(kernel), shape, {48, 64, 64},
                       {.kind = ScheduleKind::stream_k, .workers = 7});
};

TEST(Run, GroupsOfAnySize) {
  Stock stock;
  const std::vector<GemmShape> shapes = {{0, 5, 5},   {61, 33, 129}, {1, 200, 64}, {5, 7, 0},
                                         {90, 1, 31}, {128, 64, 0},  {64, 64, 64}};
  for (const Schedule& schedule : kSchedules) {
    stock.plan.schedule = schedule;
    stock.plan.problem.groups = shapes;
    std::vector<Product> products;
    std::vector<Operands> operands;
    std::uint64_t seed = 9;
    products.reserve(shapes.size());
    for (const GemmShape& shape : shapes) {
      products.emplace_back(stock.plan.problem.types, shape, 0, Fill::normal, seed++);
      operands.push_back(products.back().operands());
    }
    cpu::run_plan(stock.plan, operands, {.threads = 3});
    for (Product& product : products) {
      EXPECT_EQ(check_product(product, 1, 0, {}, kMostContributors), "");
    }
  }
}

TEST(Run, AlphaZeroReadsNeitherFactor) {
  Stock stock;
  stock.plan.problem.alpha = 0;
  for (const double beta : {0.0, 1.0, -0.5}) {
    stock.plan.problem.beta = beta;
    Product product(stock.plan.problem.types, stock.shape, beta, Fill::normal, 3);
    Operands operands = product.operands();
    operands.a.data = nullptr;
    operands.b.data = nullptr;
    cpu::run_plan(stock.plan, {&operands, 1}, {});
    EXPECT_EQ(check_product(product, 0, beta, {}, kMostContributors), "");
  }
}

TEST(Run, CallersWorkspace) {
  Stock stock;
  const std::size_t bytes = cpu::workspace_bytes(stock.plan);
  ASSERT_GT(bytes, 0u);
  // Not cleared, and with a guard behind it.
  std::vector<std::byte> workspace(bytes + 64, std::byte{0x5a});
  Product product(stock.plan.problem.types, stock.shape, 0, Fill::normal, 4);
  const Operands operands = product.operands();
  for (int repeat = 0; repeat < 2; ++repeat) {
    cpu::run_plan(stock.plan, {&operands, 1},
                  {.threads = 2, .workspace = workspace.data(), .workspace_size = bytes});
    EXPECT_EQ(check_product(product, 1, 0, {}, kMostContributors), "");
  }
  for (std::size_t i = bytes; i < workspace.size(); ++i) ASSERT_EQ(workspace[i], std::byte{0x5a});
  EXPECT_THROW(cpu::run_plan(stock.plan, {&operands, 1},
                             {.workspace = workspace.data(), .workspace_size = bytes - 1}),
               Error);
}

TEST(Run, RefusesWhatItCannotRun) {
  Stock stock;
  Product product(stock.plan.problem.types, stock.shape, 0, Fill::normal, 4);
  const Operands operands = product.operands();
  EXPECT_THROW(cpu::run_plan(stock.plan, {&operands, 1}, {.threads = -1}), Error);
  stock.plan.kernel = "cpu_abacus_f32";
  EXPECT_THROW(cpu::run_plan(stock.plan, {&operands, 1}, {}), Error);
  stock.plan.kernel = "cpu_scalar_f64";
  EXPECT_THROW(cpu::run_plan(stock.plan, {&operands, 1}, {}), Error);
}

TEST(Run, RefusesAForeignPacking) {
  Stock stock;
  Product product(stock.plan.problem.types, stock.shape, 0, Fill::normal, 4);
  Operands operands = product.operands();
  const PackedMatrix packed = pack_b(stock.plan, operands.b);
  operands.packed_b = &packed;
  EXPECT_NO_THROW(cpu::run_plan(stock.plan, {&operands, 1}, {}));
  Plan other = stock.plan;
  other.tile.block_k /= 2;
  EXPECT_THROW(cpu::run_plan(other, {&operands, 1}, {}), Error);
  other = stock.plan;
  other.tile.block_n = 50;
  EXPECT_THROW(cpu::run_plan(other, {&operands, 1}, {}), Error);
  operands.b = operands.b.transposed();
  EXPECT_THROW(cpu::run_plan(stock.plan, {&operands, 1}, {}), Error);
  EXPECT_THROW(pack_b(stock.plan, {nullptr, 3, 3, 3, 1, ElementType::f32}), Error);
  EXPECT_THROW(pack_b(stock.plan, {&operands, 3, 3, 3, 1, ElementType::f64}), Error);
}

TEST(Run, FromManyThreadsAndInsideAParallelRegion) {
  Stock stock;
  std::array<std::string, 6> faults;
  const auto one = [&](std::size_t i) {
    Product product(stock.plan.problem.types, stock.shape, 0, Fill::normal, i);
    Plan plan = stock.plan;
    for (int repeat = 0; repeat < 5; ++repeat) faults[i] += run_and_check(plan, product, 3);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) threads.emplace_back(one, i);
  for (std::thread& thread : threads) thread.join();
#ifndef __SANITIZE_THREAD__
#pragma omp parallel for num_threads(3)
  for (std::size_t i = 3; i < 6; ++i) one(i);
#endif
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
}

#ifndef __SANITIZE_THREAD__
TEST(Run, AfterFork) {
  Stock stock;
  Product product(stock.plan.problem.types, stock.shape, 0, Fill::normal, 1);
  ASSERT_EQ(run_and_check(stock.plan, product, 2), "");  // starts OpenMP's threads
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(run_and_check(stock.plan, product, 2).empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}
#endif

}  // namespace
}  // namespace tessera
