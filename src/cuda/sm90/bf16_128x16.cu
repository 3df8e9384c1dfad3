#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_bf16_128x16 {
  static constexpr ElementType kInput = ElementType::bf16;
  static constexpr Sm90Block kBlock = kSm90Block128x16;
};

Sm90Kernel sm90_bf16_128x16() {
  return sm90_instance<Sm90Row_bf16_128x16>();
}

}  // namespace tessera::cuda
