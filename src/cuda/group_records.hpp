// Starts the prologues of groups whose sizes stand in device memory: one for the general kernel,
// one for the Hopper kernel, whose records hold tensor maps.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device_groups.hpp"
#include "cuda/kernel_launch.hpp"
#include "cuda/sm90_arguments.hpp"
#include "schedule/group_line.hpp"

namespace tessera::cuda {

struct GroupPrologue;

// group_records.cu
cudaError_t start_group_prologue(const GroupPrologue& prologue, GroupOperands* operands,
                                 cudaStream_t stream);

// What the tensor maps of all groups have in common, in the kernel's orientation.
struct TaskTemplate {
  Sm90Maps maps;  // right but for addresses, extents and strides
  bool is_turned = false;
  bool a_k_contiguous = true;
  bool b_k_contiguous = true;
  bool stores_dense_rows = true;
  bool may_store_by_tma = false;
  bool multiplies = true;
  // Of a worker's tile: the steps in which a block's columns are loaded, and blocks side by side.
  std::int32_t load_step = 1;
  std::int32_t steps_of_block = 1;
  std::int32_t blocks_across = 1;
};

// sm90/group_tasks.cu
cudaError_t start_task_prologue(const GroupPrologue& prologue, const TaskTemplate& common,
                                Sm90Task* tasks, cudaStream_t stream);

}  // namespace tessera::cuda
