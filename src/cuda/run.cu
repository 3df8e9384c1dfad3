// The CUDA backend's door: finds the plan's kernel and hands over to its launcher. Next hop:
// launch_sm90.cu, then kernel_sm90.cuh.
#include "cuda/run.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalogue.hpp"
#include "core/tile_config.hpp"
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

struct GeneralKernel {
  const CudaKernel* kernel = nullptr;
  const KernelEntry* entry = nullptr;  // its row of the catalogue
};

// With no kernel where it is none of these.
GeneralKernel find_general_kernel(std::string_view name) {
  static const std::vector<GeneralKernel> all = [] {
    std::vector<GeneralKernel> made;
    for (const CudaKernel& kernel : general_kernels()) {
      made.push_back({&kernel, find_kernel(kernel.name)});
    }
    return made;
  }();
  const auto found =
      std::ranges::find(all, name, [](const GeneralKernel& one) { return one.kernel->name; });
  return found == all.end() ? GeneralKernel{} : *found;
}

// nullptr where the plan's kernel is one of the Hopper kernels. A plan may come from a text, and
// what is compiled goes by the kernel's tile alone.
const CudaKernel* general_kernel_of(const Plan& plan) {
  const auto [kernel, entry] = find_general_kernel(plan.kernel);
  if (kernel == nullptr) return nullptr;
  const GemmTypes& types = plan.problem.types;
  const bool fits =
      entry->a == types.a && entry->b == types.b && entry->tile.block_m == plan.tile.block_m &&
      entry->tile.block_n == plan.tile.block_n && entry->tile.block_k == plan.tile.block_k;
  if (fits) return kernel;
  throw Error(ErrorCode::invalid_argument, "plan", "have the types and the tile of its kernel",
              std::string(name_of(types.a)) + " and " + to_text(plan.tile) + " with " + plan.kernel,
              "plan with this version of the library");
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
  // The library's as well where the caller has one: a gated pair uses no other.
  RunOptions of_library = options;
  of_library.workspace = nullptr;
  const auto turn = take_turn(of_library);
  std::vector<std::byte*> workspaces = library_workspaces(stream);
  if (options.workspace != nullptr && options.workspace_size >= WorkspaceLayout::kCounterBytes) {
    workspaces.push_back(static_cast<std::byte*>(options.workspace));
  }
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
