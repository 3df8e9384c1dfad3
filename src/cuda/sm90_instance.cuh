// Compiles the Hopper kernel for one block shape. `Row` is a type of its own because nvcc cannot
// yet name a kernel whose template argument is a struct's value.
#pragma once

#include "cuda/kernel_sm90.cuh"
#include "cuda/sm90_kernels.hpp"

namespace tessera::cuda {

template <class Row, bool kAKContiguous, bool kBKContiguous>
struct Sm90Variant {
  static constexpr Sm90Config kConfig{Row::kInput, Row::kBlock, kAKContiguous, kBKContiguous};
};

template <class Row>
Sm90Kernel sm90_instance() {
  constexpr Sm90Config kConfig = Sm90Variant<Row, true, true>::kConfig;
  const auto address = [](auto* kernel) { return reinterpret_cast<const void*>(kernel); };
  return {.input = kConfig.input,
          .block = kConfig.block,
          .threads = kConfig.threads(),
          .shared_bytes = sizeof(SharedStorage<kConfig>),
          .functions = {{address(&sm90_kernel<Sm90Variant<Row, false, false>>),
                         address(&sm90_kernel<Sm90Variant<Row, false, true>>)},
                        {address(&sm90_kernel<Sm90Variant<Row, true, false>>),
                         address(&sm90_kernel<Sm90Variant<Row, true, true>>)}}};
}

}  // namespace tessera::cuda
