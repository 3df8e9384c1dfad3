// The compiled Hopper kernels and the host's side of starting one.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string_view>

#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_config.hpp"

namespace tessera::cuda {

// One block shape and input type, compiled for both layouts of A and of B, and for some purposes.
struct Sm90Kernel {
  ElementType input = ElementType::bf16;
  Sm90Block block;
  int threads = 0;
  int shared_bytes = 0;
  // [purpose][a_k_contiguous][b_k_contiguous]; null where a purpose has none.
  const void* functions[kSm90Purposes][2][2] = {};

  // With another purpose's functions, too.
  Sm90Kernel with(const Sm90Kernel& other) const;
  bool has(Sm90Purpose purpose) const {
    return functions[static_cast<int>(purpose)][0][0] != nullptr;
  }
  Sm90Config config(bool a_k_contiguous, bool b_k_contiguous) const {
    return {input, block, a_k_contiguous, b_k_contiguous};
  }
};

// nullptr where none is compiled.
const Sm90Kernel* find_sm90_kernel(ElementType input, const Sm90Block& block);

// One function for each file of sm90/; the input is bf16 or f16.
Sm90Kernel sm90_128x256(ElementType input);
Sm90Kernel sm90_128x224(ElementType input);
Sm90Kernel sm90_128x192(ElementType input);
Sm90Kernel sm90_128x160(ElementType input);
Sm90Kernel sm90_128x128(ElementType input);
Sm90Kernel sm90_128x128_turns(ElementType input);
Sm90Kernel sm90_128x160_turns(ElementType input);
Sm90Kernel sm90_128x96(ElementType input);
Sm90Kernel sm90_128x64(ElementType input);
Sm90Kernel sm90_128x32(ElementType input);
Sm90Kernel sm90_128x16(ElementType input);
Sm90Kernel sm90_64x192(ElementType input);
Sm90Kernel sm90_64x64(ElementType input);
Sm90Kernel sm90_64x32(ElementType input);

// The functions for groups alone, of the blocks that have them.
Sm90Kernel sm90_128x256_groups(ElementType input);
Sm90Kernel sm90_128x192_groups(ElementType input);
Sm90Kernel sm90_128x128_groups(ElementType input);
Sm90Kernel sm90_128x128_turns_groups(ElementType input);
Sm90Kernel sm90_128x160_turns_groups(ElementType input);
Sm90Kernel sm90_128x64_groups(ElementType input);
Sm90Kernel sm90_128x256_gated(ElementType input);

}  // namespace tessera::cuda
