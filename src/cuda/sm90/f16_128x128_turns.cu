#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_f16_128x128_turns {
  static constexpr ElementType kInput = ElementType::f16;
  static constexpr Sm90Block kBlock = kSm90Block128x128InTurns;
};

Sm90Kernel sm90_f16_128x128_turns() {
  return sm90_instance<Sm90Row_f16_128x128_turns>();
}

}  // namespace tessera::cuda
