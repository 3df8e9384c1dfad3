#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_bf16_128x192x64 {
  static constexpr ElementType kInput = ElementType::bf16;
  static constexpr TileConfig kTile = kSm90Tile128x192;
};

Sm90Kernel sm90_bf16_128x192x64() {
  return sm90_instance<Sm90Row_bf16_128x192x64>("sm90_bf16_128x192x64");
}

}  // namespace tessera::cuda
