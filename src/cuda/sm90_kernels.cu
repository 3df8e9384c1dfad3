// Lists the compiled Hopper kernels by their catalogue names.
#include "cuda/sm90_kernels.hpp"

#include <algorithm>
#include <array>

namespace tessera::cuda {

const Sm90Kernel* find_sm90_kernel(std::string_view name) {
  static const std::array kKernels = {
      sm90_bf16_256x256x64_pair(),   sm90_bf16_256x192x64_pair(),   sm90_bf16_256x128x64_pair(),
      sm90_bf16_128x192x64(),        sm90_bf16_128x256x64(),        sm90_bf16_128x128x64(),
      sm90_bf16_64x128x64_swapped(), sm90_bf16_32x128x64_swapped(), sm90_bf16_16x128x64_swapped(),
      sm90_f16_256x256x64_pair(),    sm90_f16_256x192x64_pair(),    sm90_f16_256x128x64_pair(),
      sm90_f16_128x192x64(),         sm90_f16_128x256x64(),         sm90_f16_128x128x64(),
      sm90_f16_64x128x64_swapped(),  sm90_f16_32x128x64_swapped(),  sm90_f16_16x128x64_swapped(),
  };
  const auto found = std::ranges::find(kKernels, name, &Sm90Kernel::name);
  return found == kKernels.end() ? nullptr : &*found;
}

}  // namespace tessera::cuda
