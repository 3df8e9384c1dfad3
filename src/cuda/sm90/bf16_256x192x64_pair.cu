#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

struct Sm90Row_bf16_256x192x64_pair {
  static constexpr ElementType kInput = ElementType::bf16;
  static constexpr TileConfig kTile = kSm90Pair256x192;
};

Sm90Kernel sm90_bf16_256x192x64_pair() {
  return sm90_instance<Sm90Row_bf16_256x192x64_pair>("sm90_bf16_256x192x64_pair");
}

}  // namespace tessera::cuda
