#include "cuda/product.hpp"

#include <algorithm>
#include <sstream>

#include "cuda/judge.hpp"

namespace tessera::test {
namespace {

bool is_floating(ElementType type) {
  return type != ElementType::i8 && type != ElementType::u8 && type != ElementType::i32;
}

// beta = 0 must not read C: its elements are NaN then.
DeviceFill c_fill(const ProductCase& what) {
  return what.beta == 0 ? DeviceFill::poison : what.fill;
}

std::string layout_text(const DeviceLayout& layout) {
  std::ostringstream text;
  text << (layout.column_major ? "column" : "row") << "+" << layout.padding << "×" << layout.step
       << "@" << layout.offset;
  return text.str();
}

}  // namespace

Plan forced_plan(const Problem& problem, const KernelEntry& kernel, const Schedule& schedule) {
  Plan plan;
  plan.problem = problem;
  plan.machine = device_under_test();
  plan.kernel = kernel.name;
  plan.tile = kernel.tile;
  plan.schedule = schedule;
  return plan;
}

DeviceProduct::DeviceProduct(const ProductCase& what)
    : what_(what),
      a_(what.types.a, what.shape.m, what.shape.k, what.fill, 3 * what.seed, what.a),
      b_(what.types.b, what.shape.k, what.shape.n, what.fill, 3 * what.seed + 1, what.b),
      c_(what.types.c, what.shape.m, what.shape.n, c_fill(what), 3 * what.seed + 2, what.c),
      c_before_(what.types.c, what.shape.m, what.shape.n, c_fill(what), 3 * what.seed + 2, what.c),
      bias_(what.types.c, 1, std::max(what.shape.m, what.shape.n), what.fill, 7 * what.seed + 5,
            {.step = what.bias_stride}) {}

Operands DeviceProduct::operands() const {
  Operands operands{a_.view(), b_.view(), c_.view(), {}};
  if (what_.epilogue.bias != BiasAxis::none) {
    const std::int64_t size = what_.epilogue.bias == BiasAxis::row ? what_.shape.m : what_.shape.n;
    operands.bias = {bias_.view().data, size, what_.bias_stride, what_.types.c};
  }
  return operands;
}

Problem DeviceProduct::problem() const {
  const Operands group = operands();
  return tessera::describe({&group, 1}, what_.alpha, what_.beta, what_.epilogue);
}

std::string DeviceProduct::verdict(std::int64_t contributors, std::int64_t samples) const {
  const JudgeRequest request{
      .operands = operands(),
      .c_before = c_before_.view().data,
      .alpha = what_.alpha,
      .beta = what_.beta,
      .epilogue = what_.epilogue,
      .contributors = contributors,
      .exact = what_.fill == DeviceFill::integers || !is_floating(what_.types.c),
      .samples = samples};
  std::string wrong = judge({&request, 1});
  if (wrong.empty()) wrong = c_.damage();
  return wrong;
}

std::optional<std::string> run_case(const ProductCase& what, const KernelEntry& kernel,
                                    const Schedule& schedule) {
  DeviceProduct product(what);
  const Problem problem = product.problem();
  if (why_not(kernel, problem, device_under_test())) return std::nullopt;
  const Plan plan = forced_plan(problem, kernel, schedule);
  const Operands group = product.operands();
  run(plan, {&group, 1});
  const std::int64_t iterations = what.shape.k / kernel.tile.block_k + 1;
  return product.verdict(std::min<std::int64_t>(iterations, 4096));
}

std::vector<KernelEntry> kernels_under_test() {
  std::vector<KernelEntry> kernels;
  const std::string architecture = why_no_device().empty() ? device_under_test().architecture : "";
  for (const KernelEntry& kernel : catalogue()) {
    if (kernel.device != MachineKind::gpu) continue;
    if (architecture.empty() || architecture_runs(architecture, kernel.architecture)) {
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

std::string describe_case(const ProductCase& what, const Schedule& schedule) {
  std::ostringstream text;
  text << name_of(what.types.a) << "·" << name_of(what.types.b) << "→" << name_of(what.types.c)
       << " " << what.shape.m << "×" << what.shape.n << "×" << what.shape.k << " A "
       << layout_text(what.a) << " B " << layout_text(what.b) << " C " << layout_text(what.c)
       << " alpha " << what.alpha << " beta " << what.beta << " bias "
       << name_of(what.epilogue.bias) << " activation " << name_of(what.epilogue.activation) << ", "
       << name_of(schedule.kind) << " workers " << schedule.workers << " splits " << schedule.splits
       << " order " << name_of(schedule.order) << "(" << schedule.group_m << ")"
       << (schedule.two_tile ? " two_tile" : "");
  return text.str();
}

}  // namespace tessera::test
