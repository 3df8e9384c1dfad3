// The general kernel's tiles for f32 and f64: ordinary multiply-adds.
#include "cuda/general_list.hpp"
#include "cuda/kernel_general.cuh"

namespace tessera::cuda {

cudaError_t general_f32_128x128x16(const LaunchRequest& request) {
  constexpr GeneralConfig kConfig{128, 128, 16, 3, 2, 4};
  return launch_plain_kernel<float, kConfig>(request);
}
cudaError_t general_f64_64x64x16(const LaunchRequest& request) {
  constexpr GeneralConfig kConfig{64, 64, 16, 3, 2, 4};
  return launch_plain_kernel<double, kConfig>(request);
}

}  // namespace tessera::cuda
