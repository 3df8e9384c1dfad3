// The workspaces that the library keeps for callers that bring none. library_workspace, which finds
// or makes one, is workspace.hpp's; the thread has its turn on the stream (turn.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace tessera::cuda {

bool is_captured(cudaStream_t stream);

// All that work on a stream, or a graph captured on it, may have used; each has its counters. None
// is made.
std::vector<std::byte*> library_workspaces(cudaStream_t stream);

}  // namespace tessera::cuda
