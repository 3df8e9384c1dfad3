// Plans for one microkernel of the CPU, put together by hand, and their runs judged: what is tested
// with them is the backend, whatever the planner would choose. All in this header, because most
// tests that share the support library are linked without the backend.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/catalogue.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/direct.hpp"
#include "cpu/kernel.hpp"
#include "cpu/run.hpp"
#include "support/check_product.hpp"
#include "tessera/plan.hpp"

namespace tessera::test {

// No tile of these tests has more (see expected_element).
inline constexpr std::int64_t kMostPeers = 200;

inline constexpr std::array kSchedules = {
    Schedule{.kind = ScheduleKind::data_parallel, .workers = 3},
    Schedule{.kind = ScheduleKind::split_k, .workers = 4, .splits = 3, .order = TileOrder::swizzle},
    Schedule{.kind = ScheduleKind::stream_k, .workers = 7, .order = TileOrder::hilbert},
    Schedule{.kind = ScheduleKind::hybrid, .workers = 5},
    Schedule{.kind = ScheduleKind::stream_k, .workers = 132}};

struct Blocks {
  std::int64_t block_m;
  std::int64_t block_n;
  std::int64_t block_k;
};

// The kernel's own types; C, where it is wide, of its accumulator's.
inline GemmTypes types_of(const KernelEntry& kernel, bool wide_c = false) {
  GemmTypes types = gemm_types_for(kernel.a);
  types.b = kernel.b;
  if (wide_c) types.c = accumulator_of(types);
  return types;
}

inline Plan plan_for(const KernelEntry& kernel, const GemmTypes& types, const GemmShape& shape,
                     const Blocks& blocks, const Schedule& schedule) {
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

// A kernel's code; null where this processor does not run it.
inline const cpu::KernelCode* code_here(std::string_view name) {
  const KernelEntry* const entry = find_kernel(name);
  const bool runs =
      entry != nullptr && architecture_runs(cpu::host_architecture(), entry->architecture);
  return runs ? cpu::find_code(name) : nullptr;
}

// Random bytes that are finite in every type.
inline std::vector<unsigned char> random_bytes(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random() & 0x3f);
  return bytes;
}

// A block of packed panels, without its sums. Its room is the thread's, which the next has as well.
inline cpu::BlockTask task_of_panels(const cpu::KernelCode& code, const GemmShape& shape,
                                     const void* a, const void* b) {
  cpu::BlockTask task;
  task.rows = shape.m;
  task.cols = shape.n;
  task.depth = shape.k;
  task.a = {a, false, 0, 0, code.panel_bytes_a(shape.k)};
  task.b = {b, false, 0, 0, code.panel_bytes_b(shape.k)};
  if (code.room_bytes > 0) {
    thread_local std::vector<unsigned char> room;
    room.resize(static_cast<std::size_t>(code.room_bytes));
    task.passing_panel = room.data();
  }
  return task;
}

// Empty, or what is wrong with the result.
inline std::string run_and_check(Plan& plan, Product& product, int threads) {
  const Operands operands = product.operands(plan.problem.epilogue);
  cpu::run_plan(plan, {&operands, 1}, {.threads = threads});
  return check_product(product, plan.problem.alpha, plan.problem.beta, plan.problem.epilogue,
                       kMostPeers);
}

// The same plan on several numbers of threads, with memory of its own and of the caller's: what
// `result` is after each.
template <class Result>
auto results_on_threads(const Plan& plan, const Operands& operands, const Result& result) {
  std::byte workspace[64];
  std::vector<decltype(result())> results;
  for (const int threads : {1, 2, 3}) {
    for (const bool is_callers : {false, true}) {
      RunOptions options{.threads = threads};
      if (is_callers) {
        options.workspace = workspace;
        options.workspace_size = sizeof(workspace);
      }
      cpu::run_plan(plan, {&operands, 1}, options);
      results.push_back(result());
    }
  }
  return results;
}

// Of a product that goes the short way, which is run so and judged: how many of its columns, or
// else rows, each of so many workers is dealt, and whether it is columns.
inline std::pair<std::int64_t, bool> dealt_parts(const Plan& plan, Product& product, int workers) {
  const Operands operands = product.operands(plan.problem.epilogue);
  const cpu::KernelCode& code = cpu::code_of(plan);
  const auto form = cpu::direct_form(plan, code, operands);
  if (!form) throw std::logic_error("not the short way");
  EXPECT_TRUE(cpu::run_directly(plan, code, {&operands, 1}, workers));
  EXPECT_EQ(check_product(product, plan.problem.alpha, plan.problem.beta, plan.problem.epilogue,
                          kMostPeers),
            "");
  const cpu::Share share = cpu::share_of(*form, workers);
  return {share.size, share.of_columns};
}

// The tests of all kernels. One that this processor cannot run is skipped by name.
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

}  // namespace tessera::test
