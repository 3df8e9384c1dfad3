// The compiled Hopper kernels and the host's side of starting one.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string_view>

#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_config.hpp"

namespace tessera::cuda {

// A catalogue row: one tile shape and input type, compiled for both layouts of A and of B.
struct Sm90Kernel {
  std::string_view name;
  ElementType input = ElementType::bf16;
  TileConfig tile;  // in the kernel's orientation
  int threads = 0;
  int shared_bytes = 0;
  const void* functions[2][2] = {};  // [a_k_contiguous][b_k_contiguous]

  Sm90Config config(bool a_k_contiguous, bool b_k_contiguous) const {
    return {input, tile, a_k_contiguous, b_k_contiguous};
  }
};

// nullptr where no Hopper kernel has the name.
const Sm90Kernel* find_sm90_kernel(std::string_view name);

// One function for each file in sm90/.
Sm90Kernel sm90_bf16_256x256x64_pair();
Sm90Kernel sm90_bf16_256x192x64_pair();
Sm90Kernel sm90_bf16_256x128x64_pair();
Sm90Kernel sm90_bf16_128x192x64();
Sm90Kernel sm90_bf16_128x256x64();
Sm90Kernel sm90_bf16_128x128x64();
Sm90Kernel sm90_bf16_64x128x64_swapped();
Sm90Kernel sm90_bf16_32x128x64_swapped();
Sm90Kernel sm90_bf16_16x128x64_swapped();
Sm90Kernel sm90_f16_256x256x64_pair();
Sm90Kernel sm90_f16_256x192x64_pair();
Sm90Kernel sm90_f16_256x128x64_pair();
Sm90Kernel sm90_f16_128x192x64();
Sm90Kernel sm90_f16_128x256x64();
Sm90Kernel sm90_f16_128x128x64();
Sm90Kernel sm90_f16_64x128x64_swapped();
Sm90Kernel sm90_f16_32x128x64_swapped();
Sm90Kernel sm90_f16_16x128x64_swapped();

}  // namespace tessera::cuda
