// Turns the CUDA runtime's error codes into tessera::Error.
#pragma once

#include <cuda_runtime_api.h>

namespace tessera::cuda {

// Throws Error(device), or Error(out_of_memory) for a failed allocation, with the runtime's own
// words after `doing` ("starting sm90_…"). Clears the error where it is not sticky.
void check(cudaError_t status, const char* doing);

// Throws Error(device) where the program has not taken an earlier call's error yet. The general
// kernel's launch would report it as its own, when C is being written already.
void check_nothing_is_pending();

}  // namespace tessera::cuda
