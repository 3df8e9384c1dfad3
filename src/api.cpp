// The public calls: check, plan, and hand over to the backend that the plan was made for. Next hop:
// cpu/run.cpp or cuda/run.cu.
#include <algorithm>

#include "backend.hpp"
#include "core/validate.hpp"
#include "cpu/run.hpp"
#include "cuda/device_machine.hpp"
#include "cuda/run.hpp"
#include "dispatch_line.hpp"
#include "plan_cache.hpp"
#include "small_calls.hpp"
#include "tessera/log.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

// The plan of a call whose operands pose the key's problem.
FoundPlan plan_of(std::string_view call, const ProblemKey& key) {
  if (is_logged(LogTopic::dispatch)) log_path(call, find_or_make_plan(key));
  return find_or_make_plan(key);
}

int planned_threads(const RunOptions& options) {
  return options.device == kHost ? threads_to_plan_for(threads_of(options)) : 0;
}

}  // namespace

void run(const Plan& plan, std::span<const Operands> groups, const RunOptions& options) {
  if (repeat_small_run(plan, groups, options)) return;
  check_operands_fit(plan.problem, groups);
  if (is_logged(LogTopic::dispatch)) log_line(dispatch_line("run", plan, "the caller's"));
  run_on_backend(plan, groups, options);
  if (groups.size() == 1) keep_small_call(plan, groups.front(), options, PlanSource::caller);
}

std::size_t workspace_bytes(const Plan& plan) {
  return plan.machine.kind == MachineKind::gpu ? cuda::workspace_bytes(plan)
                                               : cpu::workspace_bytes(plan);
}

void grouped_gemm(double alpha, std::span<const Operands> groups, double beta,
                  const Epilogue& epilogue, const RunOptions& options) {
  const Problem problem = describe(groups, alpha, beta, epilogue);
  ProblemKey key = ProblemKey::of(problem);
  key.device = options.device;
  key.threads = planned_threads(options);
  const auto packed = std::ranges::find_if(
      groups, [](const Operands& product) { return product.packed_b != nullptr; });
  if (packed != groups.end()) key.packed_b = packed->packed_b;
  run_on_backend(*plan_of("grouped_gemm", key).plan, groups, options);
}

void gemm(double alpha, const Operands& operands, double beta, const Epilogue& epilogue,
          const RunOptions& options) {
  if (repeat_small_call(alpha, operands, beta, epilogue, options)) return;
  const CheckedGroup checked = check_single(operands, alpha, beta, epilogue);
  const ProblemKey key{options.device,
                       planned_threads(options),
                       checked.types,
                       {&checked.shape, 1},
                       checked.a,
                       checked.b,
                       checked.c,
                       alpha,
                       beta,
                       epilogue,
                       operands.packed_b};
  const FoundPlan found = plan_of("gemm", key);
  // What came twice comes again.
  if (found.origin == PlanOrigin::recent) {
    keep_small_call(*found.plan, operands, options, PlanSource::planner);
  }
  run_on_backend(*found.plan, {&operands, 1}, options);
}

void gemm(double alpha, ConstMatrixView a, ConstMatrixView b, double beta, MatrixView c,
          const Epilogue& epilogue, ConstVectorView bias, const RunOptions& options) {
  gemm(alpha, {a, b, c, bias}, beta, epilogue, options);
}

int device_count() {
  return cuda::device_count();
}

Machine device_machine(int device) {
  return cuda::cuda_machine(device);
}

void initialize_workspace(void* workspace, std::size_t size, void* stream) {
  cuda::initialize_workspace(workspace, size, stream);
}

const char* version() {
  return TESSERA_VERSION;
}

}  // namespace tessera
