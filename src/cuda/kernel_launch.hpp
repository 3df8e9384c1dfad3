// What every CUDA kernel of ours is given, and how the dispatcher finds and starts one. run.cu
// fills KernelArguments from a Plan and Operands; the kernels' own files define the launch
// functions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"
#include "tessera/problem.hpp"

namespace tessera::cuda {

// The views of one group, flattened. Strides are in elements.
struct GroupOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_row_stride = 0;
  std::int64_t a_col_stride = 0;
  std::int64_t b_row_stride = 0;
  std::int64_t b_col_stride = 0;
  std::int64_t c_row_stride = 0;
  std::int64_t c_col_stride = 0;
  std::int64_t bias_stride = 0;
};

inline GroupOperands flatten(const Operands& operands) {
  const ConstMatrixView& a = operands.a;
  const ConstMatrixView& b = operands.b;
  const MatrixView& c = operands.c;
  const ConstVectorView& bias = operands.bias;
  return {.a = a.data,
          .b = b.data,
          .c = c.data,
          .bias = bias.data,
          .m = c.rows,
          .n = c.cols,
          .k = a.cols,
          .a_row_stride = a.row_stride,
          .a_col_stride = a.col_stride,
          .b_row_stride = b.row_stride,
          .b_col_stride = b.col_stride,
          .c_row_stride = c.row_stride,
          .c_col_stride = c.col_stride,
          .bias_stride = bias.stride};
}

struct EpilogueArguments {
  double alpha = 1;
  double beta = 0;
  BiasAxis bias = BiasAxis::none;
  Activation activation = Activation::none;
  ElementType bias_type = ElementType::f32;
  ElementType c_type = ElementType::f32;
};

// The workspace, as fixup.cuh uses it: slots of block_m·block_n accumulators, and zeroed counters.
struct FixupSpace {
  void* slots = nullptr;
  std::uint32_t* counters = nullptr;
  std::int64_t counters_per_level = 0;
};

// Passed by value, as a __grid_constant__ parameter: a call with few groups copies nothing to the
// device beforehand.
struct KernelArguments {
  static constexpr int kInlineGroups = 16;

  Partition partition;
  std::int32_t group_count = 0;
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;
  EpilogueArguments epilogue;
  FixupSpace fixup;
  // Device memory, for more groups than fit here; null where the inline arrays hold them all.
  const GroupExtent* extents = nullptr;
  const GroupOperands* operands = nullptr;
  GroupExtent inline_extents[kInlineGroups];
  GroupOperands inline_operands[kInlineGroups];

  TESSERA_HD IterationSpace space() const {
    return {extents != nullptr ? extents : inline_extents, group_count, tiles, iterations};
  }
  TESSERA_HD const GroupOperands& group(std::int32_t index) const {
    return operands != nullptr ? operands[index] : inline_operands[index];
  }
};

struct LaunchRequest {
  KernelArguments arguments;
  OperandLayout a, b, c;  // what holds for all groups
  cudaStream_t stream = nullptr;
};

// A compiled kernel: the catalogue's name and the function that starts it, one block per worker of
// the partition.
struct CudaKernel {
  std::string_view name;
  cudaError_t (*launch)(const LaunchRequest& request);
};

// The kernels with ordinary loads (kernel_general.cuh), for any GPU from sm_80 on.
std::span<const CudaKernel> general_kernels();

}  // namespace tessera::cuda
