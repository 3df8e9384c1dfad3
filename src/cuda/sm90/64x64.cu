#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

template <ElementType kType>
struct Sm90Row_64x64 {
  static constexpr ElementType kInput = kType;
  static constexpr Sm90Block kBlock = kSm90Block64x64;
};

Sm90Kernel sm90_64x64(ElementType input) {
  return sm90_instance<Sm90Row_64x64>(input);
}

}  // namespace tessera::cuda
