#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_f16_128x192_groups {
  static constexpr ElementType kInput = ElementType::f16;
  static constexpr Sm90Block kBlock = kSm90Block128x192;
};

Sm90Kernel sm90_f16_128x192_groups() {
  return sm90_group_instance<Sm90Row_f16_128x192_groups>();
}

}  // namespace tessera::cuda
