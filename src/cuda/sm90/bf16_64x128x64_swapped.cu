#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_bf16_64x128x64_swapped {
  static constexpr ElementType kInput = ElementType::bf16;
  static constexpr TileConfig kTile = kSm90Rows64;
};

Sm90Kernel sm90_bf16_64x128x64_swapped() {
  return sm90_instance<Sm90Row_bf16_64x128x64_swapped>("sm90_bf16_64x128x64_swapped");
}

}  // namespace tessera::cuda
