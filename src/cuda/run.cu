// The CUDA backend's door: finds the plan's kernel and hands over to its launcher. Next hop:
// launch_sm90.cu, then kernel_sm90.cuh.
#include "cuda/run.hpp"

#include <algorithm>
#include <string>

#include "cuda/check.hpp"
#include "cuda/launch_general.hpp"
#include "cuda/launch_sm90.hpp"
#include "cuda/profiler_range.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

// nullptr where the plan's kernel is one of the Hopper kernels.
const CudaKernel* general_kernel_of(const Plan& plan) {
  const auto found = std::ranges::find(general_kernels(), plan.kernel, &CudaKernel::name);
  return found == general_kernels().end() ? nullptr : &*found;
}

}  // namespace

void run_plan(const Plan& plan, std::span<const Operands> groups, const RunOptions& options) {
  const ProfilerRange range(plan.kernel.c_str());
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

void initialize_workspace(void* workspace, std::size_t size, void* stream) {
  check(cudaMemsetAsync(workspace, 0, std::min(size, WorkspaceLayout::kCounterBytes),
                        static_cast<cudaStream_t>(stream)),
        "zeroing the workspace's counters");
}

}  // namespace tessera::cuda
