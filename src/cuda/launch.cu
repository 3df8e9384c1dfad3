#include "cuda/launch.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/check.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

// Within the 4 KB of kernel parameters that every GPU and driver takes.
struct Chunk {
  static constexpr std::size_t kBytes = 4000;
  std::uint32_t bytes;
  alignas(16) std::byte data[kBytes];
};

__global__ void write_chunk(std::byte* to, const __grid_constant__ Chunk chunk) {
  for (std::uint32_t i = threadIdx.x * 4; i < chunk.bytes; i += blockDim.x * 4) {
    *reinterpret_cast<std::uint32_t*>(to + i) =
        *reinterpret_cast<const std::uint32_t*>(chunk.data + i);
  }
}

}  // namespace

std::byte* workspace_for(const WorkspaceLayout& layout, const RunOptions& options) {
  if (layout.bytes == 0) return nullptr;
  if (options.workspace == nullptr) return library_workspace(stream_of(options), layout.bytes);
  if (options.workspace_size < layout.bytes) {
    throw Error(ErrorCode::out_of_memory, "workspace",
                "have at least " + std::to_string(layout.bytes) + " bytes for this plan",
                std::to_string(options.workspace_size) + " bytes",
                "ask workspace_bytes(plan), or pass none and let the library keep one");
  }
  constexpr std::uintptr_t kAlignment = 256;  // that of cudaMalloc
  if (reinterpret_cast<std::uintptr_t>(options.workspace) % kAlignment != 0) {
    throw Error(ErrorCode::invalid_argument, "workspace", "be aligned to 256 bytes",
                "a pointer that is not", "take it from cudaMalloc");
  }
  return static_cast<std::byte*>(options.workspace);
}

FixupSpace fixup_space(const WorkspaceLayout& layout, std::byte* workspace) {
  return {.slots = workspace + layout.slots_offset,
          .counters = reinterpret_cast<std::uint32_t*>(workspace),
          .counters_per_level = layout.counters_per_level};
}

EpilogueArguments epilogue_of(const Problem& problem, ElementType bias_type) {
  return {.alpha = problem.alpha,
          .beta = problem.beta,
          .bias = problem.epilogue.bias,
          .activation = problem.epilogue.activation,
          .bias_type = bias_type,
          .c_type = problem.types.c};
}

void upload(std::byte* device, std::span<const std::byte> host, cudaStream_t stream) {
  for (std::size_t at = 0; at < host.size(); at += Chunk::kBytes) {
    Chunk chunk;
    const std::size_t bytes = std::min(Chunk::kBytes, host.size() - at);
    std::memcpy(chunk.data, host.data() + at, bytes);
    chunk.bytes = static_cast<std::uint32_t>(bytes);
    write_chunk<<<1, 256, 0, stream>>>(device + at, chunk);
    check(cudaGetLastError(), "sending the groups' records to the device");
  }
}

}  // namespace tessera::cuda
