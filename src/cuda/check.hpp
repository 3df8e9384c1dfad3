// Turns the CUDA runtime's error codes into tessera::Error.
#pragma once

#include <cuda_runtime_api.h>

namespace tessera::cuda {

// Throws Error(device), or Error(out_of_memory) for a failed allocation, with the runtime's own
// words after `doing` ("starting sm90_…"). Clears the error where it is not sticky.
void check(cudaError_t status, const char* doing);

}  // namespace tessera::cuda
