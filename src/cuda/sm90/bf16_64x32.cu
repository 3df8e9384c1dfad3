#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_bf16_64x32 {
  static constexpr ElementType kInput = ElementType::bf16;
  static constexpr Sm90Block kBlock = kSm90Block64x32;
};

Sm90Kernel sm90_bf16_64x32() {
  return sm90_instance<Sm90Row_bf16_64x32>();
}

}  // namespace tessera::cuda
