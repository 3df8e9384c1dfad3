// The general kernel's tiles for 8-bit integers.
#include "cuda/general_list.hpp"
#include "cuda/kernel_general.cuh"

namespace tessera::cuda {

cudaError_t general_i8_128x128x64(const LaunchRequest& request) {
  constexpr GeneralConfig kConfig{128, 128, 64, 4, 2, 4};
  return launch_tensor_kernel<std::int8_t, std::int8_t, int, kConfig>(request);
}
cudaError_t general_u8_128x128x64(const LaunchRequest& request) {
  constexpr GeneralConfig kConfig{128, 128, 64, 4, 2, 4};
  return launch_tensor_kernel<std::uint8_t, std::int8_t, int, kConfig>(request);
}

}  // namespace tessera::cuda
