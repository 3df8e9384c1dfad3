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

std::array<Sm90Kernel, 13> kernels_of(ElementType input) {
  return {
      with_groups(sm90_128x256(input), sm90_128x256_groups(input), sm90_128x256_gated(input)),
      sm90_128x224(input),
      with_groups(sm90_128x192(input), sm90_128x192_groups(input)),
      sm90_128x160(input),
      with_groups(sm90_128x128(input), sm90_128x128_groups(input)),
      sm90_128x128_turns(input),
      sm90_128x96(input),
      with_groups(sm90_128x64(input), sm90_128x64_groups(input)),
      sm90_128x32(input),
      sm90_128x16(input),
      sm90_64x192(input),
      sm90_64x64(input),
      sm90_64x32(input),
  };
}

}  // namespace

const Sm90Kernel* find_sm90_kernel(ElementType input, const Sm90Block& block) {
  static const std::array kBf16 = kernels_of(ElementType::bf16);
  static const std::array kF16 = kernels_of(ElementType::f16);
  if (input != ElementType::bf16 && input != ElementType::f16) return nullptr;
  const auto& kernels = input == ElementType::bf16 ? kBf16 : kF16;
  const auto found = std::ranges::find(kernels, block, &Sm90Kernel::block);
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace tessera::cuda
