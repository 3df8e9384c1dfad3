#include "cuda/sm90_instance.cuh"

namespace tessera::cuda {

template <ElementType kType>
struct Sm90Row_128x160_turns {
  static constexpr ElementType kInput = kType;
  static constexpr Sm90Block kBlock = kSm90Block128x160InTurns;
};

Sm90Kernel sm90_128x160_turns(ElementType input) {
  return sm90_any_instance<Sm90Row_128x160_turns>(input);
}

}  // namespace tessera::cuda
