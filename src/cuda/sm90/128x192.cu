#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

template <ElementType kType>
struct Sm90Row_128x192 {
  static constexpr ElementType kInput = kType;
  static constexpr Sm90Block kBlock = kSm90Block128x192;
};

Sm90Kernel sm90_128x192(ElementType input) {
  return sm90_instance<Sm90Row_128x192>(input);
}

}  // namespace tessera::cuda
