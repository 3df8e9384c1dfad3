// Starts the general kernel for a plan.
#pragma once

#include <span>

#include "cuda/general_list.hpp"
#include "cuda/launch.hpp"

namespace tessera::cuda {

// `group_bytes` are records of groups in device memory.
WorkspaceLayout general_layout(const Plan& plan, const Partition& partition, std::int64_t tiles,
                               std::size_t group_bytes);

WorkspaceLayout general_workspace(const Plan& plan);

void run_general(const CudaKernel& kernel, const Plan& plan, std::span<const Operands> groups,
                 const RunOptions& options);

}  // namespace tessera::cuda
