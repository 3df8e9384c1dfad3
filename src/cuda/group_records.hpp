// The records that kernels have of groups, and the prologues that write them where sizes stand in
// device memory: one for the general kernel, one for the Hopper kernel, whose records hold tensor
// maps.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device_groups.hpp"
#include "cuda/kernel_launch.hpp"
#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_config.hpp"
#include "schedule/group_line.hpp"

namespace tessera::cuda {

struct GroupPrologue;

// group_records.cu
cudaError_t start_group_prologue(const GroupPrologue& prologue, GroupOperands* operands,
                                 cudaStream_t stream);

// The records of a launch, in its workspace: one per group, their extents, the line, and the
// workers' first items.
template <class Record>
struct Records {
  static std::size_t bytes(std::int32_t groups, std::int32_t workers) {
    return static_cast<std::size_t>(groups) * (sizeof(Record) + sizeof(GroupExtent)) +
           sizeof(DeviceLine) + static_cast<std::size_t>(workers) * sizeof(WorkItem);
  }

  Records(std::byte* at, std::int32_t groups)
      : records(reinterpret_cast<Record*>(at)),
        extents(reinterpret_cast<GroupExtent*>(records + groups)),
        line(reinterpret_cast<DeviceLine*>(extents + groups)),
        first_items(reinterpret_cast<WorkItem*>(line + 1)) {}

  Record* records;
  GroupExtent* extents;
  DeviceLine* line;
  WorkItem* first_items;
};

// Of a worker's tile: the steps in which a block's columns are loaded, and blocks side by side.
struct TileSteps {
  std::int32_t load_step = 1;
  std::int32_t of_block = 1;
  std::int32_t blocks_across = 1;

  static TileSteps of(const Sm90Config& config, const Sm90Cluster& cluster) {
    return {config.load_step(), config.block.cols / config.load_step(), cluster.cols};
  }

  // Of a group with n columns in the kernel's orientation.
  TESSERA_HD GroupColumns columns_of(std::int64_t n) const {
    if (n <= 0) return {};
    const auto steps = static_cast<std::int32_t>((n + load_step - 1) / load_step);
    const std::int32_t across = of_block * blocks_across;
    const std::int32_t blocks = (steps + across - 1) / across * blocks_across;
    return {steps / blocks, steps % blocks};
  }
};

// What the tensor maps of all groups have in common, in the kernel's orientation.
struct TaskTemplate {
  Sm90Maps maps;  // right but for addresses, extents and strides
  bool is_turned = false;
  bool a_k_contiguous = true;
  bool b_k_contiguous = true;
  bool stores_dense_rows = true;
  bool may_store_by_tma = false;
  bool multiplies = true;
  TileSteps steps;
};

// sm90/group_tasks.cu
cudaError_t start_task_prologue(const GroupPrologue& prologue, const TaskTemplate& common,
                                Sm90Task* tasks, cudaStream_t stream);

}  // namespace tessera::cuda
