// Starts a plan on products whose sizes stand in device memory: a prologue kernel, then the
// product's, on one stream.
#pragma once

#include "cuda/device_groups.hpp"
#include "cuda/general_list.hpp"
#include "cuda/launch.hpp"
#include "schedule/group_line.hpp"

namespace tessera::cuda {

// The most tiles that sizes within their bounds can make; past 2^31, which no workspace has room
// for if they are cut, just that.
std::int64_t most_tiles(const GroupSizes& sizes, const LineTile& tile);

// A partition with room for every line: what its schedule asks of the workspace.
Partition roomiest_partition(const Schedule& schedule);

WorkspaceLayout sm90_ragged_workspace(const Plan& plan, const GroupSizes& sizes);
WorkspaceLayout general_ragged_workspace(const Plan& plan, const GroupSizes& sizes);

// Each returns where the line will be; null where none is needed, as for cut rows whose whole tiles
// all leave by TMA.
const DeviceLine* run_ragged_sm90(const Plan& plan, const DeviceGroups& groups,
                                  ElementType bias_type, const RunOptions& options);
const DeviceLine* run_ragged_general(const CudaKernel& kernel, const Plan& plan,
                                     const DeviceGroups& groups, ElementType bias_type,
                                     const RunOptions& options);

}  // namespace tessera::cuda
