// A run of a plan, whatever its kernel: groups, the caller's workspace, what is refused, and runs
// from many threads, inside a parallel region and after a fork.
#include "cpu/run.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/catalogue.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::check_product;
using test::Fill;
using test::kMostPeers;
using test::kSchedules;
using test::plan_for;
using test::Product;
using test::run_and_check;
using test::types_of;

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
      EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
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
    EXPECT_EQ(check_product(product, 0, beta, {}, kMostPeers), "");
  }
}

TEST(Run, CallersWorkspace) {
  Stock stock;
  const std::size_t bytes = cpu::workspace_bytes(stock.plan);
  ASSERT_GT(bytes, 0u);
  // Not cleared, on no line's start, and with a guard behind it.
  constexpr std::size_t kOff = 24;
  std::vector<std::byte> memory(kOff + bytes + 64, std::byte{0x5a});
  const std::span<std::byte> workspace = std::span(memory).subspan(kOff);
  Product product(stock.plan.problem.types, stock.shape, 0, Fill::normal, 4);
  const Operands operands = product.operands();
  for (int repeat = 0; repeat < 2; ++repeat) {
    cpu::run_plan(stock.plan, {&operands, 1},
                  {.threads = 2, .workspace = workspace.data(), .workspace_size = bytes});
    EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
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

// Whichever kernel a plan of more or fewer rows prefers, one that is packed for goes on being used.
TEST(Run, PackedBf16ServesItsKernelForAnyNumberOfRows) {
  const GemmTypes types{ElementType::bf16, ElementType::bf16, ElementType::f32};
  const Machine machine = host_machine();
  for (const char* kernel : {"cpu_avx512bf16_bf16", "cpu_avx512_bf16", "cpu_avx2_bf16"}) {
    if (!architecture_runs(machine.architecture, find_kernel(kernel)->architecture)) continue;
    SCOPED_TRACE(kernel);
    PlanOptions options;
    options.kernel = kernel;
    options.tile = TileConfig{.block_k = 128};
    const Plan many = make_plan(dense_problem({4096, 90, 300}, types), machine, options);
    for (const std::int64_t m : {1, 5, 70}) {
      Product product(types, {m, 90, 300}, 0, Fill::normal, 5);
      Operands operands = product.operands();
      const Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), machine, options);
      const PackedMatrix packed = pack_b(many, operands.b);
      EXPECT_EQ(packed.kernel(), kernel);
      operands.packed_b = &packed;
      cpu::run_plan(plan, {&operands, 1}, {});
      EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "") << "m = " << m;
      Plan foreign = plan;
      foreign.kernel = "cpu_scalar_bf16";
      EXPECT_THROW(cpu::run_plan(foreign, {&operands, 1}, {}), Error);
    }
  }
}

// The backend starts threads for what a plan has workers for.
TEST(Run, WorkersHaveThreads) {
  const GemmTypes types = gemm_types_for(ElementType::f32);
  for (const char* name : {"sapphire-rapids", "zen5", "zen4", "avx2-laptop"}) {
    const Machine machine = with_workers(machine_by_name(name), 4);
    for (const GemmShape& shape :
         {GemmShape{1, 370, 370}, {1, 400, 400}, {400, 1, 400}, {1, 500, 500}, {64, 64, 64}}) {
      const Plan plan = make_plan(dense_problem(shape, types), machine);
      EXPECT_EQ(cpu::may_use_threads(plan), plan.schedule.workers > 1)
          << name << " " << shape.m << "×" << shape.n << "×" << shape.k;
    }
  }
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 4);
  for (const auto& [shape, is_shared] : {std::pair{GemmShape{1, 400, 400}, true},
                                         {{400, 1, 400}, true},
                                         {{1, 390, 400}, false},
                                         {{64, 64, 64}, false},
                                         {{300, 300, 3}, true}}) {
    const Plan plan = make_plan(dense_problem(shape, types), machine);
    EXPECT_EQ(plan.schedule.workers > 1, is_shared) << shape.m << "×" << shape.n << "×" << shape.k;
    EXPECT_EQ(cpu::may_use_threads(plan), is_shared) << shape.m << "×" << shape.n << "×" << shape.k;
  }
}

TEST(Run, Bf16RepeatsItsBitsUnderOnePlan) {
  const GemmTypes types{ElementType::bf16, ElementType::bf16, ElementType::f32};
  for (const GemmShape& shape : {GemmShape{1, 300, 500}, {70, 90, 300}, {200, 200, 200}}) {
    Product product(types, shape, 0, Fill::normal, 6);
    const Operands operands = product.operands();
    Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), host_machine());
    EXPECT_EQ(run_and_check(plan, product, 1), "");
    const std::vector<std::byte> first = product.c.bytes();
    EXPECT_EQ(run_and_check(plan, product, 2), "");
    EXPECT_EQ(product.c.bytes(), first);
  }
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
