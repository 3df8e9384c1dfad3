// The public calls of grouped.hpp. On the CPU the sizes are read here, at once: the products become
// a list, and go the way of grouped_gemm (api.cpp). Next hop: ragged.cpp for the list, backend.cpp
// for the run; ragged_device.cpp where the sizes lie in a GPU's memory.
#include <memory>
#include <string>
#include <variant>

#include "backend.hpp"
#include "core/invalid_argument.hpp"
#include "cuda/run.hpp"
#include "dispatch_line.hpp"
#include "ragged.hpp"
#include "ragged_device.hpp"
#include "tessera/error.hpp"
#include "tessera/grouped.hpp"
#include "tessera/log.hpp"

namespace tessera {
namespace {

bool is_uniform(const RaggedProducts& products) {
  return std::holds_alternative<StridedBatch>(products);
}

}  // namespace

void ragged_gemm(double alpha, const RaggedProducts& products, double beta,
                 const Epilogue& epilogue, const RunOptions& options) {
  if (is_uniform(products)) {
    grouped_gemm(alpha, products_of(products, epilogue), beta, epilogue, options);
    return;
  }
  if (options.device != kHost) {
    const DeviceProducts device = device_products(products, alpha, beta, epilogue);
    const std::shared_ptr<const Plan> plan = find_or_make_device_plan(device, options.device);
    if (is_logged(LogTopic::dispatch)) {
      log_line(dispatch_line("ragged_gemm", *plan, "this thread's"));
    }
    run_on_device(*plan, device, options);
    return;
  }
  const std::vector<Operands> groups = products_of(products, epilogue);
  const Problem problem = describe(groups, alpha, beta, epilogue);
  const FoundPlan found = find_or_make_plan(ProblemKey::of(problem), PlanKeeping::this_thread);
  // Kept, because whoever receives the log may call the library.
  const std::shared_ptr<const Plan> plan = found.plan;
  if (is_logged(LogTopic::dispatch)) log_path("ragged_gemm", found);
  run_on_backend(*plan, groups, options);
}

Plan make_ragged_plan(const RaggedProducts& products, double alpha, double beta,
                      const Epilogue& epilogue, const Machine& machine,
                      const PlanOptions& options) {
  if (machine.kind == MachineKind::gpu && !is_uniform(products)) {
    return make_device_plan(products, alpha, beta, epilogue, machine, options);
  }
  return make_plan(expected_problem(products, alpha, beta, epilogue), machine, options);
}

void run_ragged(const Plan& plan, const RaggedProducts& products, const RunOptions& options) {
  const Problem& planned = plan.problem;
  if (is_uniform(products)) {
    run(plan, products_of(products, planned.epilogue), options);
    return;
  }
  if (plan.machine.kind == MachineKind::gpu) {
    if (is_logged(LogTopic::dispatch)) {
      log_line(dispatch_line("run_ragged", plan, "the caller's"));
    }
    run_on_device(plan, device_products(products, planned.alpha, planned.beta, planned.epilogue),
                  options);
    return;
  }
  const std::vector<Operands> groups = products_of(products, planned.epilogue);
  Plan of_these = plan;
  of_these.problem = describe(groups, planned.alpha, planned.beta, planned.epilogue);
  check_sizes_fit(products, planned, of_these.problem);
  if (is_logged(LogTopic::dispatch)) {
    log_line(dispatch_line("run_ragged", of_these, "the caller's"));
  }
  run_on_backend(of_these, groups, options);
}

std::size_t ragged_workspace_bytes(const Plan& plan, const RaggedProducts& products) {
  if (is_uniform(products)) return workspace_bytes(plan);
  if (plan.machine.kind == MachineKind::gpu) return device_workspace_bytes(plan, products);
  const Problem& planned = plan.problem;
  Plan worst = plan;
  worst.problem = expected_problem(products, planned.alpha, planned.beta, planned.epilogue);
  worst.problem.groups = worst_shapes_of(products, worst.problem);
  // How many tiles of a hybrid are shared depends on the sizes; stream_k has room for any.
  if (worst.schedule.kind == ScheduleKind::hybrid) worst.schedule.kind = ScheduleKind::stream_k;
  return workspace_bytes(worst);
}

void check_sizes(const RunOptions& options) {
  const cuda::DeviceFault found = cuda::take_fault(options);
  const char* requirement = nullptr;
  const char* remedy = "correct the sizes; nothing was written for them";
  switch (found.fault) {
    case SizeFault::none:
      return;
    case SizeFault::negative:
      requirement = "be at least 0";
      break;
    case SizeFault::falls:
      requirement = "end no earlier than it begins";
      break;
    case SizeFault::too_large:
      requirement = "lie within the matrices' bounds, and in lines of its leading dimensions";
      break;
    case SizeFault::misaligned:
      requirement =
          "have pointers to its elements, multiples of their sizes, and keep what "
          "PointerArray::alignment promises";
      remedy = "copy it to aligned memory, or promise less; nothing was written for it";
      break;
  }
  fail_argument("group " + std::to_string(found.group), requirement,
                "a group that does not, in the device's memory", remedy);
}

}  // namespace tessera
