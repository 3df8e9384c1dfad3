#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

template <ElementType kType>
struct Sm90Row_64x32 {
  static constexpr ElementType kInput = kType;
  static constexpr Sm90Block kBlock = kSm90Block64x32;
};

Sm90Kernel sm90_64x32(ElementType input) {
  return sm90_instance<Sm90Row_64x32>(input);
}

}  // namespace tessera::cuda
