// The public calls: check, plan, and hand over to the backend that the plan was made for. Next hop:
// cpu/run.cpp or cuda/run.cu.
#include "core/validate.hpp"
#include "cpu/run.hpp"
#include "cuda/run.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

void run(const Plan& plan, std::span<const Operands> groups, const RunOptions& options) {
  check_operands_fit(plan.problem, groups);
  if (plan.machine.kind == MachineKind::gpu) {
    cuda::run_plan(plan, groups, options);
  } else {
    cpu::run_plan(plan, groups, options);
  }
}

std::size_t workspace_bytes(const Plan& plan) {
  return plan.machine.kind == MachineKind::gpu ? cuda::workspace_bytes(plan)
                                               : cpu::workspace_bytes(plan);
}

void grouped_gemm(double alpha, std::span<const Operands> groups, double beta,
                  const Epilogue& epilogue, const RunOptions& options) {
  static const Machine machine = host_machine();
  run(make_plan(describe(groups, alpha, beta, epilogue), machine), groups, options);
}

void gemm(double alpha, ConstMatrixView a, ConstMatrixView b, double beta, MatrixView c,
          const Epilogue& epilogue, ConstVectorView bias, const RunOptions& options) {
  const Operands operands{a, b, c, bias};
  grouped_gemm(alpha, {&operands, 1}, beta, epilogue, options);
}

const char* version() {
  return TESSERA_VERSION;
}

}  // namespace tessera
