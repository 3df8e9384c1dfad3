#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

template <ElementType kType>
struct Sm90Row_128x128 {
  static constexpr ElementType kInput = kType;
  static constexpr Sm90Block kBlock = kSm90Block128x128;
};

Sm90Kernel sm90_128x128(ElementType input) {
  return sm90_instance<Sm90Row_128x128>(input);
}

}  // namespace tessera::cuda
