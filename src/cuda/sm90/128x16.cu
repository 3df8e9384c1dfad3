#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

template <ElementType kType>
struct Sm90Row_128x16 {
  static constexpr ElementType kInput = kType;
  static constexpr Sm90Block kBlock = kSm90Block128x16;
};

Sm90Kernel sm90_128x16(ElementType input) {
  return sm90_instance<Sm90Row_128x16>(input);
}

}  // namespace tessera::cuda
