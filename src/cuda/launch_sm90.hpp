// Starts the Hopper kernel for a plan: operands become tasks with tensor maps.
#pragma once

#include <span>

#include "cuda/launch.hpp"

namespace tessera::cuda {

// What the launch will keep in its workspace.
WorkspaceLayout sm90_workspace(const Plan& plan);

void run_sm90(const Plan& plan, std::span<const Operands> groups, const RunOptions& options);

}  // namespace tessera::cuda
