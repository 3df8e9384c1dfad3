#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_f16_64x192 {
  static constexpr ElementType kInput = ElementType::f16;
  static constexpr Sm90Block kBlock = kSm90Block64x192;
};

Sm90Kernel sm90_f16_64x192() {
  return sm90_instance<Sm90Row_f16_64x192>();
}

}  // namespace tessera::cuda
