#include "support/kernel_runs.hpp"

#include "cpu/cpuid.hpp"
#include "cpu/run.hpp"

namespace tessera::test {

GemmTypes types_of(const KernelEntry& kernel, bool wide_c) {
  GemmTypes types = gemm_types_for(kernel.a);
  types.b = kernel.b;
  if (wide_c) types.c = accumulator_of(types);
  return types;
}

Plan plan_for(const KernelEntry& kernel, const GemmTypes& types, const GemmShape& shape,
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

std::string run_and_check(Plan& plan, Product& product, int threads) {
  const Operands operands = product.operands(plan.problem.epilogue);
  cpu::run_plan(plan, {&operands, 1}, {.threads = threads});
  return check_product(product, plan.problem.alpha, plan.problem.beta, plan.problem.epilogue,
                       kMostPeers);
}

void Kernels::SetUp() {
  if (!architecture_runs(cpu::host_architecture(), kernel().architecture)) {
    GTEST_SKIP() << kernel().name << " needs " << kernel().architecture << "; this processor has "
                 << cpu::host_architecture();
  }
}

}  // namespace tessera::test
