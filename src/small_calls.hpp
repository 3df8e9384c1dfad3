// Small products that this thread computed before: repeated with other addresses, they need no plan
// looked up, and of the checks only those of addresses. gemm asks here first, because for a product
// of 4³ the rest of its way takes ten times as long as the product. Next hop: the kernel, as in
// cpu/direct.hpp.
#pragma once

#include "tessera/plan.hpp"
#include "tessera/problem.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

// Whether the product was one of those, and C is written. False also where an address breaks a
// rule or memory is short: then the long way says so.
bool repeat_small_call(double alpha, const Operands& operands, double beta,
                       const Epilogue& epilogue, const RunOptions& options);

// To be called with a plan that gemm found for these operands, which have been checked. Keeps what
// repeat_small_call needs, if the product is small enough. Throws what cpu::run_plan throws.
void keep_small_call(const Plan& plan, const Operands& operands);

}  // namespace tessera
