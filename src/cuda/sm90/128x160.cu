#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

template <ElementType kType>
struct Sm90Row_128x160 {
  static constexpr ElementType kInput = kType;
  static constexpr Sm90Block kBlock = kSm90Block128x160;
};

Sm90Kernel sm90_128x160(ElementType input) {
  return sm90_instance<Sm90Row_128x160>(input);
}

}  // namespace tessera::cuda
