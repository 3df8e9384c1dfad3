// The general kernel's instantiations, one launch function per catalogue row. Each is compiled in
// the file of its type, so that they compile side by side.
#pragma once

#include "cuda/kernel_launch.hpp"

namespace tessera::cuda {

cudaError_t general_bf16_128x128x32(const LaunchRequest& request);
cudaError_t general_bf16_64x64x64(const LaunchRequest& request);
cudaError_t general_f16_128x128x32(const LaunchRequest& request);
cudaError_t general_f16_64x64x64(const LaunchRequest& request);
cudaError_t general_f32_128x128x16(const LaunchRequest& request);
cudaError_t general_f64_64x64x16(const LaunchRequest& request);
cudaError_t general_i8_128x128x64(const LaunchRequest& request);
cudaError_t general_u8_128x128x64(const LaunchRequest& request);

}  // namespace tessera::cuda
