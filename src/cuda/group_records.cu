#include "cuda/group_records.hpp"

#include "cuda/group_prologue.cuh"

namespace tessera::cuda {
namespace {

// Registers for one block on a processor: left to choose, ptxas makes room for three, and spills.
__global__ void __launch_bounds__(kPrologueThreads, 1)
    group_prologue(const __grid_constant__ GroupPrologue prologue, GroupOperands* operands) {
  const DeviceGroups& groups = prologue.groups;
  if (blockIdx.x == 0) {
    make_line<false>(prologue, [&](std::int32_t group) { return groups.fault(group); });
    return;
  }
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x - 1) * kPrologueThreads;
  for (std::int64_t group =
           static_cast<std::int64_t>(blockIdx.x - 1) * kPrologueThreads + threadIdx.x;
       group < groups.sizes.groups; group += step) {
    operands[group] = groups.operands(group);
  }
}

}  // namespace

cudaError_t start_group_prologue(const GroupPrologue& prologue, GroupOperands* operands,
                                 cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = prologue_blocks(prologue.groups.sizes.groups, kPrologueThreads);
  config.blockDim = kPrologueThreads;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, group_prologue, prologue, operands);
}

}  // namespace tessera::cuda
