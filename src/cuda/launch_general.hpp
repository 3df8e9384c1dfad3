// Starts the general kernel for a plan.
#pragma once

#include <span>

#include "cuda/kernel_launch.hpp"
#include "cuda/launch.hpp"

namespace tessera::cuda {

WorkspaceLayout general_workspace(const Plan& plan);

void run_general(const CudaKernel& kernel, const Plan& plan, std::span<const Operands> groups,
                 const RunOptions& options);

}  // namespace tessera::cuda
