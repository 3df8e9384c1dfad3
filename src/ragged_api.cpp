// The public calls of grouped.hpp. On the CPU the sizes are read here, at once: the products become
// a list, and go the way of grouped_gemm (api.cpp). Next hop: ragged.cpp for the list, backend.cpp
// for the run.
#include <memory>
#include <string>
#include <variant>

#include "backend.hpp"
#include "dispatch_line.hpp"
#include "ragged.hpp"
#include "tessera/error.hpp"
#include "tessera/grouped.hpp"
#include "tessera/log.hpp"

namespace tessera {
namespace {

[[noreturn]] void refuse_device(const char* argument) {
  throw Error(ErrorCode::unsupported, argument,
              "be the host where sizes stand in arrays: no CUDA kernel reads them yet",
              "a CUDA device",
              "copy the sizes to the host and pass one product per group to grouped_gemm");
}

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
  if (options.device != kHost) refuse_device("options.device");
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
  if (machine.kind == MachineKind::gpu && !is_uniform(products)) refuse_device("machine");
  return make_plan(expected_problem(products, alpha, beta, epilogue), machine, options);
}

void run_ragged(const Plan& plan, const RaggedProducts& products, const RunOptions& options) {
  const Problem& planned = plan.problem;
  if (is_uniform(products)) {
    run(plan, products_of(products, planned.epilogue), options);
    return;
  }
  if (plan.machine.kind == MachineKind::gpu) refuse_device("plan.machine");
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
  if (plan.machine.kind == MachineKind::gpu) refuse_device("plan.machine");
  const Problem& planned = plan.problem;
  Plan worst = plan;
  worst.problem = expected_problem(products, planned.alpha, planned.beta, planned.epilogue);
  worst.problem.groups = worst_shapes_of(products, worst.problem);
  // How many tiles of a hybrid are shared depends on the sizes; stream_k has room for any.
  if (worst.schedule.kind == ScheduleKind::hybrid) worst.schedule.kind = ScheduleKind::stream_k;
  return workspace_bytes(worst);
}

}  // namespace tessera
