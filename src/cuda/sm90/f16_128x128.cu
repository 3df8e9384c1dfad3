#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_f16_128x128 {
  static constexpr ElementType kInput = ElementType::f16;
  static constexpr Sm90Block kBlock = kSm90Block128x128;
};

Sm90Kernel sm90_f16_128x128() {
  return sm90_instance<Sm90Row_f16_128x128>();
}

}  // namespace tessera::cuda
