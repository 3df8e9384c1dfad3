// The short way for a small product: one tile, one pass over k, both operands read where they lie,
// and the sums collected in C. Nothing is packed, allocated, divided or shared; the kernel is
// called once.
#pragma once

#include "cpu/kernel.hpp"
#include "tessera/plan.hpp"

namespace tessera::cpu {

// Whether the plan's product went this way and C is written. The bits are those of the general way
// (tile_run.cpp), which makes the same single call.
bool run_directly(const Plan& plan, const KernelCode& code, const Operands& operands);

}  // namespace tessera::cpu
