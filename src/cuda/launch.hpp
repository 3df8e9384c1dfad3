// What starting any of our kernels has in common: the schedule resolved into a partition, the
// workspace, and records of grouped products brought to the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "cuda/kernel_arguments.hpp"
#include "cuda/workspace.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cuda {

// The caller's workspace, checked, or the library's; nullptr where none is needed.
std::byte* workspace_for(const WorkspaceLayout& layout, const RunOptions& options);

// The fix-up's part of a workspace.
FixupSpace fixup_space(const WorkspaceLayout& layout, std::byte* workspace);

// The one type that all products' biases have. Throws Error(unsupported) where they differ.
ElementType bias_type_of(const Problem& problem, std::span<const Operands> groups);

// In the caller's orientation.
EpilogueArguments epilogue_of(const Problem& problem, ElementType bias_type);

// Copies host data to the device through kernel parameters: nothing on the host has to outlive the
// call, no copy engine is involved, and a captured graph keeps the values it was captured with. The
// device's memory begins at a multiple of 16 bytes and is written to whole 16 bytes.
void upload(std::byte* device, std::span<const std::byte> host, cudaStream_t stream);

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

inline cudaStream_t stream_of(const RunOptions& options) {
  return static_cast<cudaStream_t>(options.stream);
}

}  // namespace tessera::cuda
