// The general kernel's tiles for bf16.
#include "cuda/general_list.hpp"
#include "cuda/kernel_general.cuh"

namespace tessera::cuda {

cudaError_t general_bf16_128x128x32(const LaunchRequest& request) {
  constexpr GeneralConfig kConfig{128, 128, 32, 4, 2, 2, 2};
  return launch_tensor_kernel<__nv_bfloat16, __nv_bfloat16, float, kConfig>(request);
}
cudaError_t general_bf16_64x64x64(const LaunchRequest& request) {
  constexpr GeneralConfig kConfig{64, 64, 64, 4, 2, 2, 3};
  return launch_tensor_kernel<__nv_bfloat16, __nv_bfloat16, float, kConfig>(request);
}

}  // namespace tessera::cuda
