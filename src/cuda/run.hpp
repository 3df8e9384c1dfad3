// The CUDA backend's door. It compiles and links everywhere; without the CUDA toolkit at build
// time, or without a device, run_plan throws Error(unsupported) saying which of the two is missing.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/tessera.hpp"

namespace tessera::cuda {

// See tessera::run. The operands' views point to device memory; sizes and strides have been
// checked.
void run_plan(const Plan& plan, std::span<const Operands> groups, const RunOptions& options);

std::size_t workspace_bytes(const Plan& plan);

// Queues the zeroing of a caller's workspace on a cudaStream_t. Once is enough: every run leaves
// the workspace ready for the next, whatever its plan, as long as they run one after another.
void initialize_workspace(void* workspace, std::size_t size, void* stream);

}  // namespace tessera::cuda
