#include "cuda/launch.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/check.hpp"
#include "cuda/library_workspace.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

// What fits a kernel's parameters: 4 KB on every driver, eight times that from CUDA 12.1 on, with
// which the records of 128 products are three kernels in a row instead of 22 of 5 us each.
constexpr std::size_t kSmallChunk = 4000;
constexpr std::size_t kLargeChunk = 32000;
constexpr int kLargeSince = 12010;

template <std::size_t kBytes>
struct Chunk {
  std::uint32_t pieces;
  uint4 data[kBytes / sizeof(uint4)];
};

constexpr int kCopyingThreads = 64;

// A parameter's pieces are read one by one where a warp's lanes want different ones: many blocks
// have a few each.
template <std::size_t kBytes>
__global__ void write_chunk(uint4* to, const __grid_constant__ Chunk<kBytes> chunk) {
  const std::uint32_t piece = blockIdx.x * kCopyingThreads + threadIdx.x;
  if (piece < chunk.pieces) to[piece] = chunk.data[piece];
}

template <std::size_t kBytes>
void upload_in_chunks(std::byte* device, std::span<const std::byte> host, cudaStream_t stream) {
  for (std::size_t at = 0; at < host.size(); at += kBytes) {
    Chunk<kBytes> chunk;
    const std::size_t bytes = std::min(kBytes, host.size() - at);
    std::memcpy(chunk.data, host.data() + at, bytes);
    chunk.pieces = static_cast<std::uint32_t>((bytes + sizeof(uint4) - 1) / sizeof(uint4));
    cudaLaunchConfig_t config = {};
    config.gridDim = (chunk.pieces + kCopyingThreads - 1) / kCopyingThreads;
    config.blockDim = kCopyingThreads;
    config.stream = stream;
    check(cudaLaunchKernelEx(&config, write_chunk<kBytes>, reinterpret_cast<uint4*>(device + at),
                             chunk),
          "sending the groups' records to the device");
  }
}

}  // namespace

std::byte* workspace_for(const WorkspaceLayout& layout, const RunOptions& options) {
  if (layout.bytes == 0) return nullptr;
  if (options.workspace == nullptr) return library_workspace(stream_of(options), layout.bytes);
  if (options.workspace_size < layout.bytes) {
    throw Error(
        ErrorCode::out_of_memory, "workspace",
        "have at least " + std::to_string(layout.bytes) + " bytes for this plan",
        std::to_string(options.workspace_size) + " bytes",
        "ask workspace_bytes(plan), or ragged_workspace_bytes where sizes stand in arrays; or "
        "pass none and let the library keep one");
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

ElementType bias_type_of(const Problem& problem, std::span<const Operands> groups) {
  const ConstVectorView* first = nullptr;
  for (std::size_t g = 0; problem.epilogue.bias != BiasAxis::none && g < groups.size(); ++g) {
    const Operands& group = groups[g];
    if (group.c.rows == 0 || group.c.cols == 0) continue;
    if (first == nullptr) first = &group.bias;
    if (group.bias.type == first->type) continue;
    throw Error(
        ErrorCode::unsupported, "bias of group " + std::to_string(g),
        "be of the same type as the other groups' on a GPU, " + std::string(name_of(first->type)),
        std::string(name_of(group.bias.type)), "convert the biases to one type");
  }
  return first == nullptr ? ElementType::f32 : first->type;
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
  static const int driver = [] {
    int version = 0;
    check(cudaDriverGetVersion(&version), "asking for the driver's version");
    return version;
  }();
  if (driver >= kLargeSince && host.size() > kSmallChunk) {
    upload_in_chunks<kLargeChunk>(device, host, stream);
  } else {
    upload_in_chunks<kSmallChunk>(device, host, stream);
  }
}

}  // namespace tessera::cuda
