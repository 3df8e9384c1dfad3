#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_f16_16x128x64_swapped {
  static constexpr ElementType kInput = ElementType::f16;
  static constexpr TileConfig kTile = kSm90Rows16;
};

Sm90Kernel sm90_f16_16x128x64_swapped() {
  return sm90_instance<Sm90Row_f16_16x128x64_swapped>("sm90_f16_16x128x64_swapped");
}

}  // namespace tessera::cuda
