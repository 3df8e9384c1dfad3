// The general kernel's instantiations, one launch function per catalogue row, each compiled in the
// file of its type, so that they compile side by side; and how the dispatcher finds and starts one.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string_view>

#include "cuda/kernel_arguments.hpp"
#include "tessera/operand_layout.hpp"

namespace tessera::cuda {

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

cudaError_t general_bf16_128x128x32(const LaunchRequest& request);
cudaError_t general_bf16_64x64x64(const LaunchRequest& request);
cudaError_t general_f16_128x128x32(const LaunchRequest& request);
cudaError_t general_f16_64x64x64(const LaunchRequest& request);
cudaError_t general_f32_128x128x16(const LaunchRequest& request);
cudaError_t general_f64_64x64x16(const LaunchRequest& request);
cudaError_t general_i8_128x128x64(const LaunchRequest& request);
cudaError_t general_u8_128x128x64(const LaunchRequest& request);

}  // namespace tessera::cuda
