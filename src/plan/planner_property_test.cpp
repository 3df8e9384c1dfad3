// What must hold of a plan for any problem on any machine.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/catalogue.hpp"
#include "core/tile_config.hpp"
#include "core/validate.hpp"
#include "plan/cost.hpp"
#include "plan/scratchpad.hpp"
#include "tessera/error.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

struct AnyProblem {
  Problem problem;
  Machine machine;
};

AnyProblem any_problem() {
  AnyProblem any;
  const std::vector<std::string> names = machine_names();
  any.machine = machine_by_name(*rc::gen::elementOf(names));
  const auto type = *rc::gen::element(ElementType::bf16, ElementType::f16, ElementType::f32,
                                      ElementType::f64, ElementType::i8);
  any.problem = dense_problem({}, gemm_types_for(type));
  any.problem.groups.clear();
  const int groups = *rc::gen::inRange(1, 5);
  const auto size = [] {
    return static_cast<std::int64_t>(std::exp2(*rc::gen::inRange(0, 1400) / 100.0)) -
           *rc::gen::inRange(0, 2);
  };
  for (int g = 0; g < groups; ++g) any.problem.groups.push_back({size(), size(), size()});
  return any;
}

RC_GTEST_PROP(PlannerProperty, AnySizeIsPlannedOrRefused, ()) {
  auto [problem, machine] = any_problem();
  const auto size = [] {
    const std::int64_t power = std::int64_t{1} << *rc::gen::inRange(20, 63);
    return *rc::gen::element(power - 1, power, power + 1, std::int64_t{1});
  };
  bool is_too_large = false;
  for (GemmShape& shape : problem.groups) {
    shape = {size(), size(), size()};
    is_too_large |= std::max({shape.m, shape.n, shape.k}) > kLargestSize;
  }
  PlanOptions options;
  options.batch_invariant = *rc::gen::arbitrary<bool>();
  try {
    const Plan plan = make_plan(problem, machine, options);
    RC_ASSERT(!is_too_large);
    RC_ASSERT(!why_not(plan.tile).has_value());
    RC_ASSERT(std::isfinite(plan.cost.seconds) && plan.cost.seconds >= 0);
  } catch (const Error& error) {
    RC_ASSERT(error.code() ==
              (is_too_large ? ErrorCode::invalid_argument : ErrorCode::unsupported));
  }
}

void expect_planned_or_refused(const GemmShape& shape, ElementType type, const Machine& machine) {
  Problem problem = dense_problem(shape, gemm_types_for(type));
  for (const Major major : {Major::row, Major::column}) {
    problem.a.major = major;
    try {
      const Plan plan = make_plan(problem, machine, {});
      EXPECT_TRUE(std::isfinite(plan.cost.seconds) && plan.cost.seconds >= 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
  }
}

// Every corner of what may be asked for, where a product of two sizes no longer fits an integer.
TEST(PlannerProperty, TheLargestSizesArePlannedOrRefused) {
  const std::vector<std::int64_t> sizes = {1, 16, std::int64_t{1} << 20, kLargestSize};
  std::vector<GemmShape> shapes;
  for (const std::int64_t m : sizes) {
    for (const std::int64_t n : sizes) {
      for (const std::int64_t k : sizes) shapes.push_back({m, n, k});
    }
  }
  for (const std::string& name : machine_names()) {
    const Machine machine = machine_by_name(name);
    for (const GemmShape& shape : shapes) {
      expect_planned_or_refused(shape, ElementType::bf16, machine);
      expect_planned_or_refused(shape, ElementType::f32, machine);
      expect_planned_or_refused(shape, ElementType::f64, machine);
      expect_planned_or_refused(shape, ElementType::i8, machine);
    }
  }
}

RC_GTEST_PROP(PlannerProperty, AnyPlanIsSound, ()) {
  const auto [problem, machine] = any_problem();
  PlanOptions options;
  options.keep_others = true;
  const Plan plan = make_plan(problem, machine, options);
  RC_ASSERT(!why_not(plan.tile).has_value());
  RC_ASSERT(!why_not(plan.schedule).has_value());
  RC_ASSERT(plan.schedule.workers <= machine.workers);
  RC_ASSERT(std::isfinite(plan.cost.seconds));
  RC_ASSERT(plan.cost.seconds > 0 || plan.decomposition.tiles == 0);
  RC_ASSERT(!plan.reason.empty());
  double sum = 0;
  for (const CostTerm& term : plan.cost.terms) sum += term.seconds;
  RC_ASSERT(std::abs(sum - plan.cost.seconds) <= 1e-9 * plan.cost.seconds);
  for (const Candidate& other : plan.others) {
    RC_ASSERT(other.cost.has_value() == other.rejection.empty());
    if (!other.cost) continue;
    // A simpler plan may win by a hair's breadth, and one without claimed pieces by more.
    const bool may_have_claimed_pieces =
        problem.groups.size() > 1 && other.schedule.kind == ScheduleKind::hybrid;
    const double worth = may_have_claimed_pieces ? kWorthPieces : 1;
    RC_ASSERT(plan.cost.seconds * 0.98 * worth <= other.cost->seconds);
    const KernelEntry* kernel = find_kernel(other.kernel);
    RC_ASSERT(kernel != nullptr);
    if (machine.kind == MachineKind::gpu) {
      RC_ASSERT(scratchpad_use(other.tile, problem.types, kernel->epilogue_bytes).total() <=
                machine.scratchpad_bytes);
    }
  }
}

RC_GTEST_PROP(PlannerProperty, SameQuestionSameAnswer, ()) {
  const auto [problem, machine] = any_problem();
  PlanOptions options;
  options.keep_others = true;
  RC_ASSERT(to_json(make_plan(problem, machine, options)) ==
            to_json(make_plan(problem, machine, options)));
}

// What is left out where nobody asks for the others would have lost.
RC_GTEST_PROP(PlannerProperty, TheOthersHaveNoSay, ()) {
  const auto [problem, machine] = any_problem();
  PlanOptions options;
  const Plan alone = make_plan(problem, machine, options);
  options.keep_others = true;
  Plan among_others = make_plan(problem, machine, options);
  among_others.others.clear();
  RC_ASSERT(to_json(alone) == to_json(among_others));
}

// The predicted time of a fixed kind of plan grows with the work.
RC_GTEST_PROP(PlannerProperty, MoreWorkTakesLonger, ()) {
  const auto m = *rc::gen::inRange(1, 4000);
  const auto n = *rc::gen::inRange(1, 4000);
  const auto k = *rc::gen::inRange(1, 4000);
  PlanOptions options;
  options.schedule = ScheduleKind::data_parallel;
  options.tile = TileConfig{.block_m = 128, .block_n = 128, .block_k = 32};
  options.workers = 84;
  const Machine machine = machine_by_name("gpu-84sm");
  const auto seconds = [&](std::int64_t rows, std::int64_t cols, std::int64_t depth) {
    Problem problem = dense_problem({rows, cols, depth}, gemm_types_for(ElementType::bf16));
    // Another size would change the alignment of rows, too.
    for (OperandLayout* layout : {&problem.a, &problem.b, &problem.c}) layout->alignment = 128;
    return make_plan(problem, machine, options).cost.seconds;
  };
  RC_ASSERT(seconds(m, n, k) <= seconds(m + 128, n, k) * (1 + 1e-12));
  RC_ASSERT(seconds(m, n, k) <= seconds(m, n + 128, k) * (1 + 1e-12));
  RC_ASSERT(seconds(m, n, k) <= seconds(m, n, 2 * k) * (1 + 1e-12));
}

}  // namespace
}  // namespace tessera
