// Compiles the Hopper kernel for one block shape. `Row` is a type of its own because nvcc cannot
// yet name a kernel whose template argument is a struct's value.
#pragma once

#include "cuda/kernel_sm90.cuh"
#include "cuda/sm90_kernels.hpp"

namespace tessera::cuda {

template <class Row, bool kAKContiguous, bool kBKContiguous, bool kIsGrouped = false,
          bool kIsGated = false>
struct Sm90Variant {
  static constexpr Sm90Config kConfig{Row::kInput,   Row::kBlock, kAKContiguous,
                                      kBKContiguous, kIsGrouped,  kIsGated};
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

// The functions for groups alone, in a file of their own because they take as long to compile.
template <class Row>
Sm90Kernel sm90_group_instance() {
  constexpr Sm90Config kConfig = Sm90Variant<Row, true, true, true>::kConfig;
  const auto address = [](auto* kernel) { return reinterpret_cast<const void*>(kernel); };
  return {.input = kConfig.input,
          .block = kConfig.block,
          .threads = kConfig.threads(),
          .shared_bytes = sizeof(SharedStorage<kConfig>),
          .grouped_functions = {{address(&sm90_kernel<Sm90Variant<Row, false, false, true>>),
                                 address(&sm90_kernel<Sm90Variant<Row, false, true, true>>)},
                                {address(&sm90_kernel<Sm90Variant<Row, true, false, true>>),
                                 address(&sm90_kernel<Sm90Variant<Row, true, true, true>>)}}};
}

// Likewise for gated pairs.
template <class Row>
Sm90Kernel sm90_gated_instance() {
  constexpr Sm90Config kConfig = Sm90Variant<Row, true, true, true, true>::kConfig;
  const auto address = [](auto* kernel) { return reinterpret_cast<const void*>(kernel); };
  return {.input = kConfig.input,
          .block = kConfig.block,
          .threads = kConfig.threads(),
          .shared_bytes = sizeof(SharedStorage<kConfig>),
          .gated_functions = {{address(&sm90_kernel<Sm90Variant<Row, false, false, true, true>>),
                               address(&sm90_kernel<Sm90Variant<Row, false, true, true, true>>)},
                              {address(&sm90_kernel<Sm90Variant<Row, true, false, true, true>>),
                               address(&sm90_kernel<Sm90Variant<Row, true, true, true, true>>)}}};
}

}  // namespace tessera::cuda
