// Names of the general kernel's instantiations, as the catalogue has them.
#include "cuda/general_list.hpp"

#include <array>

namespace tessera::cuda {

std::span<const CudaKernel> general_kernels() {
  static constexpr std::array kKernels = {
      CudaKernel{"sm80_general_bf16_128x128x32", general_bf16_128x128x32},
      CudaKernel{"sm80_general_bf16_64x64x64", general_bf16_64x64x64},
      CudaKernel{"sm80_general_f16_128x128x32", general_f16_128x128x32},
      CudaKernel{"sm80_general_f16_64x64x64", general_f16_64x64x64},
      CudaKernel{"sm80_general_f32_128x128x16", general_f32_128x128x16},
      CudaKernel{"sm80_general_f64_64x64x16", general_f64_64x64x16},
      CudaKernel{"sm80_general_i8_128x128x64", general_i8_128x128x64},
      CudaKernel{"sm80_general_u8_128x128x64", general_u8_128x128x64},
  };
  return kKernels;
}

}  // namespace tessera::cuda
