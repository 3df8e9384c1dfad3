// Lists the compiled Hopper kernels.
#include "cuda/sm90_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera::cuda {
namespace {

Sm90Kernel with_groups(Sm90Kernel kernel, const Sm90Kernel& groups, const Sm90Kernel& gated = {}) {
  std::memcpy(kernel.grouped_functions, groups.grouped_functions, sizeof groups.grouped_functions);
  std::memcpy(kernel.gated_functions, gated.gated_functions, sizeof gated.gated_functions);
  return kernel;
}

}  // namespace

const Sm90Kernel* find_sm90_kernel(ElementType input, const Sm90Block& block) {
  static const std::array kKernels = {
      with_groups(sm90_bf16_128x256(), sm90_bf16_128x256_groups(), sm90_bf16_128x256_gated()),
      sm90_bf16_128x224(),
      with_groups(sm90_bf16_128x192(), sm90_bf16_128x192_groups()),
      sm90_bf16_128x160(),
      with_groups(sm90_bf16_128x128(), sm90_bf16_128x128_groups()),
      sm90_bf16_128x128_turns(),
      sm90_bf16_128x96(),
      with_groups(sm90_bf16_128x64(), sm90_bf16_128x64_groups()),
      sm90_bf16_128x32(),
      sm90_bf16_128x16(),
      sm90_bf16_64x192(),
      sm90_bf16_64x64(),
      sm90_bf16_64x32(),
      with_groups(sm90_f16_128x256(), sm90_f16_128x256_groups(), sm90_f16_128x256_gated()),
      sm90_f16_128x224(),
      with_groups(sm90_f16_128x192(), sm90_f16_128x192_groups()),
      sm90_f16_128x160(),
      with_groups(sm90_f16_128x128(), sm90_f16_128x128_groups()),
      sm90_f16_128x128_turns(),
      sm90_f16_128x96(),
      with_groups(sm90_f16_128x64(), sm90_f16_128x64_groups()),
      sm90_f16_128x32(),
      sm90_f16_128x16(),
      sm90_f16_64x192(),
      sm90_f16_64x64(),
      sm90_f16_64x32(),
  };
  const auto found = std::ranges::find_if(kKernels, [&](const Sm90Kernel& kernel) {
    return kernel.input == input && kernel.block == block;
  });
  return found == kKernels.end() ? nullptr : &*found;
}

}  // namespace tessera::cuda
