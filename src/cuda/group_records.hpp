// The records that kernels have of groups, and the prologues that write them where sizes stand in
// device memory: one for the general kernel, one for the Hopper kernel, whose records hold tensor
// maps.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device_groups.hpp"
#include "cuda/group_columns.hpp"
#include "cuda/kernel_arguments.hpp"
#include "cuda/sm90_arguments.hpp"
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

// What the tensor maps of all groups have in common, in the kernel's orientation.
struct TaskTemplate {
  Sm90Maps maps;  // right but for addresses, extents and strides
  bool is_turned = false;
  bool a_k_contiguous = true;
  bool b_k_contiguous = true;
  bool stores_dense_rows = true;
  bool may_store_by_tma = false;
  bool multiplies = true;
  ColumnSteps column_steps;
};

// sm90/group_tasks.cu
cudaError_t start_task_prologue(const GroupPrologue& prologue, const TaskTemplate& common,
                                Sm90Task* tasks, cudaStream_t stream);

}  // namespace tessera::cuda
