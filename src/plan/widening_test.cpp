// Where bf16 is widened to f32 while it is packed, and where it is multiplied as it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalogue.hpp"
#include "plan/explain.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

Plan bf16_plan(const Machine& machine, const GemmShape& shape, const PlanOptions& options = {}) {
  return make_plan(dense_problem(shape, gemm_types_for(ElementType::bf16)), machine, options);
}

constexpr std::string_view kOwnBf16 = "cpu_avx512bf16_bf16";
constexpr std::string_view kWidenedBf16 = "cpu_avx512_bf16";

TEST(Widening, Bf16IsWidenedWhereF32IsFasterAndThatPays) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids-avx512"), 2);
  PlanOptions options;
  options.keep_others = true;
  for (const GemmShape& square : {GemmShape{256, 256, 256}, {1000, 1000, 1000}}) {
    const Plan plan = bf16_plan(machine, square, options);
    EXPECT_EQ(plan.kernel, kWidenedBf16);
    EXPECT_NE(plan.reason.find("bf16 is widened to f32, which is multiplied 2 times as fast"),
              std::string::npos)
        << plan.reason;
    const auto own = std::ranges::find(plan.others, kOwnBf16, &Candidate::kernel);
    ASSERT_NE(own, plan.others.end());
    EXPECT_GT(own->cost.value().seconds, plan.cost.seconds);
    const auto narrow = std::ranges::find(plan.others, "cpu_avx2_bf16", &Candidate::kernel);
    ASSERT_NE(narrow, plan.others.end());
    EXPECT_NE(narrow->rejection.find("comes after cpu_avx512_bf16"), std::string::npos);
  }
  const Plan small = bf16_plan(machine, {3, 16, 16}, options);
  EXPECT_EQ(small.kernel, kOwnBf16);
  EXPECT_NE(small.reason.find("bf16 is multiplied as it is"), std::string::npos) << small.reason;
  const auto widened = std::ranges::find(small.others, kWidenedBf16, &Candidate::kernel);
  ASSERT_NE(widened, small.others.end());
  EXPECT_GT(widened->cost.value().seconds, small.cost.seconds);
  // A kernel that the caller names is not argued about.
  options.kernel = kOwnBf16;
  const Plan named = bf16_plan(machine, {1000, 1000, 1000}, options);
  EXPECT_EQ(named.kernel, kOwnBf16);
  EXPECT_EQ(named.reason.find("bf16"), std::string::npos) << named.reason;
}

TEST(Widening, Bf16IsNotWidenedWhereItsOwnInstructionsAreFaster) {
  std::vector<Machine> machines = {machine_by_name("zen4"), machine_by_name("zen5")};
  // As its figures decide, and not its name.
  machines.push_back(machine_by_name("sapphire-rapids-avx512"));
  for (PeakRate& peak : machines.back().peaks) {
    if (peak.type == ElementType::bf16) peak.flops_per_second_per_worker *= 4;
  }
  PlanOptions all;
  all.keep_others = true;
  PlanOptions invariant;
  invariant.batch_invariant = true;
  for (const Machine& machine : machines) {
    for (const GemmShape& shape : {GemmShape{16, 16, 16},
                                   {256, 256, 256},
                                   {1000, 1000, 1000},
                                   {1, 4096, 4096},
                                   {64, 4096, 4096},
                                   {4096, 2, 4096},
                                   {192, 192, 16384}}) {
      const Plan plan = bf16_plan(machine, shape, all);
      EXPECT_NE(plan.kernel, kWidenedBf16) << machine.name;
      EXPECT_NE(bf16_plan(machine, shape, invariant).kernel, kWidenedBf16) << machine.name;
      const auto widened = std::ranges::find(plan.others, kWidenedBf16, &Candidate::kernel);
      ASSERT_NE(widened, plan.others.end());
      EXPECT_NE(widened->rejection.find("multiplies as fast or faster"), std::string::npos);
    }
  }
}

// Its own products are for dot products, and for few columns beside an A across k; more rows beside
// a B that leaves the nearest cache are left to tile registers.
TEST(Widening, VectorsBesideTileRegistersWidenRowsOfB) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 2);
  const auto kernel_of = [&](const GemmShape& shape, Major a, Major b,
                             const PlanOptions& options = {}) {
    Problem problem = dense_problem(shape, gemm_types_for(ElementType::bf16));
    problem.a.major = a;
    problem.b.major = b;
    return make_plan(problem, machine, options).kernel;
  };
  constexpr std::string_view kTileRegisters = "cpu_amx_bf16";
  for (const GemmShape& shape : {GemmShape{1, 1000, 1000}, {4, 4096, 4096}, {3, 300, 300}}) {
    EXPECT_EQ(kernel_of(shape, Major::row, Major::row), kWidenedBf16);
    EXPECT_EQ(kernel_of(shape, Major::column, Major::row), kWidenedBf16);
    EXPECT_EQ(kernel_of(shape, Major::row, Major::column), kOwnBf16);
  }
  EXPECT_EQ(kernel_of({3000, 1, 2000}, Major::row, Major::row), kOwnBf16);
  EXPECT_EQ(kernel_of({4, 48, 2000}, Major::column, Major::row), kOwnBf16);
  EXPECT_EQ(kernel_of({4, 49, 2000}, Major::column, Major::row), kWidenedBf16);
  EXPECT_EQ(kernel_of({4, 48, 39}, Major::column, Major::row), kWidenedBf16);

  // Where B is packed by pieces fewer rows are enough than of a B that is far.
  EXPECT_EQ(kernel_of({7, 3000, 3000}, Major::row, Major::row), kWidenedBf16);
  EXPECT_EQ(kernel_of({8, 3000, 3000}, Major::row, Major::row), kTileRegisters);
  EXPECT_EQ(kernel_of({6, 3000, 3000}, Major::column, Major::row), kWidenedBf16);
  EXPECT_EQ(kernel_of({7, 3000, 3000}, Major::column, Major::row), kTileRegisters);
  EXPECT_EQ(kernel_of({5, 300, 300}, Major::row, Major::column), kTileRegisters);
  EXPECT_EQ(kernel_of({5, 700, 700}, Major::row, Major::row), kTileRegisters);
  EXPECT_EQ(kernel_of({5, 700, 700}, Major::column, Major::row), kTileRegisters);
  EXPECT_EQ(kernel_of({4, 64, 300}, Major::row, Major::row), kTileRegisters);
  EXPECT_EQ(kernel_of({4, 300, 300}, Major::row, Major::row), kTileRegisters);
  EXPECT_EQ(kernel_of({4, 300, 330}, Major::row, Major::row), kWidenedBf16);
  EXPECT_EQ(kernel_of({4, 60, 300}, Major::row, Major::row), kWidenedBf16);
  // And so small a C pays for a long k, operands in rows.
  EXPECT_EQ(kernel_of({5, 20, 128}, Major::row, Major::row), kTileRegisters);
  EXPECT_EQ(kernel_of({5, 20, 127}, Major::row, Major::row), kWidenedBf16);
  EXPECT_EQ(kernel_of({5, 19, 128}, Major::row, Major::row), kWidenedBf16);
  EXPECT_EQ(kernel_of({5, 20, 128}, Major::column, Major::row), kOwnBf16);
  EXPECT_EQ(kernel_of({300, 5, 300}, Major::row, Major::row), kTileRegisters);

  // A column-major C is its transpose's, and of a group the largest product counts.
  Problem across = dense_problem({1000, 4, 1000}, gemm_types_for(ElementType::bf16));
  across.a.major = across.b.major = across.c.major = Major::column;
  EXPECT_EQ(make_plan(across, machine).kernel, kWidenedBf16);
  across.a.major = Major::row;
  EXPECT_EQ(make_plan(across, machine).kernel, kOwnBf16);
  Problem experts = dense_problem({4, 2000, 1000}, gemm_types_for(ElementType::bf16));
  experts.groups.resize(8, {1, 2000, 1000});
  EXPECT_EQ(make_plan(experts, machine).kernel, kWidenedBf16);

  // What is known of a machine, or can be counted, may leave no other.
  Machine unknown = machine;
  std::erase_if(unknown.peaks, [](const PeakRate& peak) { return peak.type == ElementType::f32; });
  EXPECT_EQ(bf16_plan(unknown, {4, 4096, 4096}).kernel, kOwnBf16);
  EXPECT_EQ(bf16_plan(machine, {12, 12, std::int64_t{1} << 40}).kernel, kOwnBf16);
  unknown = machine;
  unknown.l1_bytes = 0;
  EXPECT_EQ(bf16_plan(unknown, {6, 300, 300}).kernel, kTileRegisters);

  PlanOptions named;
  named.kernel = kOwnBf16;
  EXPECT_EQ(kernel_of({4, 4096, 4096}, Major::row, Major::row, named), kOwnBf16);
  PlanOptions all;
  all.keep_others = true;
  const Plan plan = bf16_plan(machine, {4, 4096, 4096}, all);
  const auto own = std::ranges::find(plan.others, kOwnBf16, &Candidate::kernel);
  ASSERT_NE(own, plan.others.end());
  EXPECT_NE(own->rejection.find("half as fast as f32"), std::string::npos);
}

TEST(Widening, TheKernelOfABatchInvariantPlanFollowsFromTheTypesAlone) {
  PlanOptions options;
  options.batch_invariant = true;
  options.keep_others = true;
  for (const int workers : {1, 2, 56}) {
    const Machine machine = with_workers(machine_by_name("sapphire-rapids-avx512"), workers);
    for (const GemmShape& shape : {GemmShape{1, 64, 64}, {1, 4096, 4096}, {4096, 4096, 4096}}) {
      for (const Major major : {Major::row, Major::column}) {
        Problem problem = dense_problem(shape, gemm_types_for(ElementType::bf16));
        problem.a.major = problem.c.major = major;
        const Plan plan = make_plan(problem, machine, options);
        EXPECT_EQ(plan.kernel, kWidenedBf16);
        const auto own = std::ranges::find(plan.others, kOwnBf16, &Candidate::kernel);
        ASSERT_NE(own, plan.others.end());
        EXPECT_NE(own->rejection.find("fixes the kernel by the types alone"), std::string::npos);
      }
    }
  }
}

TEST(Widening, SharesOfThePeakReferToTheFasterKind) {
  const Machine machine = machine_by_name("sapphire-rapids-avx512");
  const Explanation explained = explain(bf16_plan(machine, {4096, 4096, 4096}));
  EXPECT_LE(explained.share_of_peak, 1);
  EXPECT_DOUBLE_EQ(best_rate(ElementType::bf16, machine), machine.peak(ElementType::f32));
  const Machine zen = machine_by_name("zen5");
  EXPECT_DOUBLE_EQ(best_rate(ElementType::bf16, zen), zen.peak(ElementType::bf16));
}

// Small products are multiplied from widened copies, but as dot products where those suit, and few
// rows from where a wide B lies.
TEST(Widening, SmallProductsAreWidenedAsAWhole) {
  struct Case {
    GemmShape shape;
    Major a;
    Major b;
    bool copies;
  };
  constexpr Major kRow = Major::row;
  constexpr Major kColumn = Major::column;
  for (const char* name : {"sapphire-rapids", "zen5", "avx2-laptop"}) {
    const Machine machine = with_workers(machine_by_name(name), 2);
    for (const Case& one : {Case{{40, 30, 20}, kRow, kRow, true},
                            {{40, 30, 20}, kRow, kColumn, true},
                            {{40, 30, 20}, kColumn, kRow, true},
                            {{40, 30, 20}, kColumn, kColumn, true},
                            {{13, 300, 20}, kRow, kRow, true},
                            {{6, 100, 20}, kRow, kRow, true},
                            {{6, 100, 21}, kRow, kRow, false},
                            {{3, 30, 20}, kRow, kRow, false},
                            {{6, 48, 60}, kColumn, kRow, true},
                            {{6, 49, 60}, kColumn, kRow, false},
                            {{6, 100, 1000}, kRow, kColumn, false},
                            {{1, 1, 500}, kRow, kRow, false},
                            {{16, 16, 9000}, kRow, kRow, false},
                            {{400, 400, 400}, kRow, kRow, false}}) {
      Problem problem = dense_problem(one.shape, gemm_types_for(ElementType::f16));
      problem.a.major = one.a;
      problem.b.major = one.b;
      PlanOptions vectors;
      vectors.kernel = machine.architecture == "avx2" ? "cpu_avx2_f16" : "cpu_avx512_f16";
      const Plan plan = make_plan(problem, machine, vectors);
      const bool says_so = plan.reason.find("operands are widened first") != std::string::npos;
      EXPECT_EQ(says_so, one.copies) << name << ": " << one.shape.m << "×" << one.shape.n << "×"
                                     << one.shape.k << ", " << plan.reason;
      if (!one.copies) continue;
      EXPECT_TRUE(plan.tile.a_in_place);
      EXPECT_EQ(plan.tile.b_in_place, one.b == kRow);
      EXPECT_GE(plan.tile.block_k, one.shape.k);
    }
  }
}

}  // namespace
}  // namespace tessera
