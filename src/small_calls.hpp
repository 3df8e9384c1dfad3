// Small products that this thread computed before: repeated with other addresses, they need no plan
// looked up, and of the checks only those of addresses. gemm and run ask here first, because for a
// product of 4³ the rest of their way takes ten times as long as the product. Next hop: the kernel,
// as in cpu/direct.hpp.
#pragma once

#include <span>

#include "tessera/plan.hpp"
#include "tessera/problem.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

// Whether the product was one of those, and C is written. False also where an address breaks a
// rule or memory is short: then the long way says so.
bool repeat_small_call(double alpha, const Operands& operands, double beta,
                       const Epilogue& epilogue, const RunOptions& options);

// The same for a product that comes with its plan.
bool repeat_small_run(const Plan& plan, std::span<const Operands> groups,
                      const RunOptions& options);

enum class PlanSource { planner, caller };

// To be called with the plan for these operands, which have been checked. Keeps what the above
// need, if the product is small enough; gemm takes the planner's choice alone, for as many threads.
// Throws what cpu::run_plan throws.
void keep_small_call(const Plan& plan, const Operands& operands, const RunOptions& options,
                     PlanSource source);

}  // namespace tessera
