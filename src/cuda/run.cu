// The CUDA backend's door: finds the plan's kernel and hands over to its launcher. Next hop:
// launch_sm90.cu, then kernel_sm90.cuh.
#include "cuda/run.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/launch_general.hpp"
#include "cuda/launch_ragged.hpp"
#include "cuda/launch_sm90.hpp"
#include "cuda/library_workspace.hpp"
#include "cuda/profiler_range.hpp"
#include "cuda/turn.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

// nullptr where the plan's kernel is one of the Hopper kernels.
const CudaKernel* general_kernel_of(const Plan& plan) {
  const auto found = std::ranges::find(general_kernels(), plan.kernel, &CudaKernel::name);
  return found == general_kernels().end() ? nullptr : &*found;
}

// Where faults on the options' stream are kept.
std::vector<std::byte*> workspaces_of(const RunOptions& options) {
  if (options.workspace == nullptr) return library_workspaces(stream_of(options));
  if (options.workspace_size < WorkspaceLayout::kCounterBytes) return {};
  return {static_cast<std::byte*>(options.workspace)};
}

}  // namespace

void run_plan(const Plan& plan, std::span<const Operands> groups, const RunOptions& options) {
  const ProfilerRange range(plan.kernel.c_str());
  const auto turn = take_turn(options);
  if (const CudaKernel* const general = general_kernel_of(plan)) {
    run_general(*general, plan, groups, options);
  } else {
    run_sm90(plan, groups, options);
  }
}

std::size_t workspace_bytes(const Plan& plan) {
  return general_kernel_of(plan) != nullptr ? general_workspace(plan).bytes
                                            : sm90_workspace(plan).bytes;
}

const DeviceLine* run_ragged_plan(const Plan& plan, const DeviceGroups& groups,
                                  ElementType bias_type, const RunOptions& options) {
  if (groups.sizes.groups == 0) return nullptr;
  const ProfilerRange range(plan.kernel.c_str());
  const auto turn = take_turn(options);
  if (const CudaKernel* const general = general_kernel_of(plan)) {
    return run_ragged_general(*general, plan, groups, bias_type, options);
  }
  return run_ragged_sm90(plan, groups, bias_type, options);
}

std::size_t ragged_workspace_bytes(const Plan& plan, const GroupSizes& sizes) {
  return general_kernel_of(plan) != nullptr ? general_ragged_workspace(plan, sizes).bytes
                                            : sm90_ragged_workspace(plan, sizes).bytes;
}

std::string gated_kernel_name(ElementType type) {
  return "sm90_" + std::string(name_of(type)) + "_256x128x64_swapped_1x2";
}

DeviceFault take_fault(const RunOptions& options) {
  const cudaStream_t stream = stream_of(options);
  if (is_captured(stream)) {
    throw Error(ErrorCode::unsupported, "options.stream",
                "not be captured while sizes are asked for", "a stream that is",
                "ask after the graph has run");
  }
  const auto turn = take_turn(options);
  const std::vector<std::byte*> workspaces = workspaces_of(options);
  std::vector<FoundFault> found(workspaces.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    check(cudaMemcpyAsync(&found[i], workspaces[i] + WorkspaceLayout::kFaultOffset,
                          sizeof(FoundFault), cudaMemcpyDeviceToHost, stream),
          "asking what sizes were wrong");
  }
  check(cudaStreamSynchronize(stream), "waiting for the stream");
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].fault == SizeFault::none) continue;
    check(cudaMemsetAsync(workspaces[i] + WorkspaceLayout::kFaultOffset, 0, sizeof(FoundFault),
                          stream),
          "forgetting what sizes were wrong");
    return {found[i].fault, found[i].group};
  }
  return {};
}

void initialize_workspace(void* workspace, std::size_t size, void* stream) {
  check(cudaMemsetAsync(workspace, 0, std::min(size, WorkspaceLayout::kCounterBytes),
                        static_cast<cudaStream_t>(stream)),
        "zeroing the workspace's counters");
}

}  // namespace tessera::cuda
