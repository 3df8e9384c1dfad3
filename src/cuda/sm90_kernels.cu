// Lists the compiled Hopper kernels.
#include "cuda/sm90_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera::cuda {
namespace {

std::array<Sm90Kernel, 14> kernels_of(ElementType input) {
  return {
      sm90_128x256(input).with(sm90_128x256_groups(input)).with(sm90_128x256_gated(input)),
      sm90_128x224(input),
      sm90_128x192(input).with(sm90_128x192_groups(input)),
      sm90_128x160(input),
      sm90_128x128(input).with(sm90_128x128_groups(input)),
      sm90_128x128_turns(input).with(sm90_128x128_turns_groups(input)),
      sm90_128x160_turns(input).with(sm90_128x160_turns_groups(input)),
      sm90_128x96(input),
      sm90_128x64(input).with(sm90_128x64_groups(input)),
      sm90_128x32(input),
      sm90_128x16(input),
      sm90_64x192(input),
      sm90_64x64(input),
      sm90_64x32(input),
  };
}

}  // namespace

Sm90Kernel Sm90Kernel::with(const Sm90Kernel& other) const {
  Sm90Kernel both = *this;
  both.shared_bytes = std::max(shared_bytes, other.shared_bytes);
  for (int purpose = 0; purpose < kSm90Purposes; ++purpose) {
    if (other.has(static_cast<Sm90Purpose>(purpose))) {
      std::memcpy(both.functions[purpose], other.functions[purpose], sizeof both.functions[0]);
    }
  }
  return both;
}

const Sm90Kernel* find_sm90_kernel(ElementType input, const Sm90Block& block) {
  static const std::array kBf16 = kernels_of(ElementType::bf16);
  static const std::array kF16 = kernels_of(ElementType::f16);
  if (input != ElementType::bf16 && input != ElementType::f16) return nullptr;
  const auto& kernels = input == ElementType::bf16 ? kBf16 : kF16;
  const auto found = std::ranges::find(kernels, block, &Sm90Kernel::block);
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace tessera::cuda
