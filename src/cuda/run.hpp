// The CUDA backend's door. It compiles and links everywhere; without the CUDA toolkit at build
// time, or without a device, run_plan throws Error(unsupported) saying which of the two is missing.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "cuda/device_groups.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cuda {

// See tessera::run. The operands' views point to device memory; sizes and strides have been
// checked.
void run_plan(const Plan& plan, std::span<const Operands> groups, const RunOptions& options);

std::size_t workspace_bytes(const Plan& plan);

struct DeviceLine;

// The catalogue's row whose kernel also computes a gated pair in one go, for plans of whole tiles
// of groups with DeviceGroups::up: C in A's type, dense rows that begin at multiples of 16 bytes.
std::string gated_kernel_name(ElementType type);

// The same for products whose sizes stand in device memory. The rules' views fit the plan. Returns
// where the line will be that the device makes of them, until the workspace's next launch; null
// where there is no group.
const DeviceLine* run_ragged_plan(const Plan& plan, const DeviceGroups& groups,
                                  ElementType bias_type, const RunOptions& options);
std::size_t ragged_workspace_bytes(const Plan& plan, const GroupSizes& sizes);

// What the launches on the options' stream and workspace found wrong with sizes since this was last
// asked. Waits for the stream.
struct DeviceFault {
  SizeFault fault = SizeFault::none;
  std::int32_t group = 0;
};
DeviceFault take_fault(const RunOptions& options);

// Queues the zeroing of a caller's workspace on a cudaStream_t. Once is enough: every run leaves
// the workspace ready for the next, whatever its plan, as long as they run one after another.
void initialize_workspace(void* workspace, std::size_t size, void* stream);

}  // namespace tessera::cuda
