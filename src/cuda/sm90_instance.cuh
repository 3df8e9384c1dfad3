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

namespace sm90_detail {

template <class Row, bool kIsGrouped, bool kIsGated>
Sm90Kernel instance() {
  constexpr Sm90Config kConfig = Sm90Variant<Row, true, true, kIsGrouped, kIsGated>::kConfig;
  Sm90Kernel kernel{.input = kConfig.input,
                    .block = kConfig.block,
                    .threads = kConfig.threads(),
                    .shared_bytes = sizeof(SharedStorage<kConfig>)};
  auto& functions = kIsGated     ? kernel.gated_functions
                    : kIsGrouped ? kernel.grouped_functions
                                 : kernel.functions;
  const auto keep = [&]<bool kA, bool kB>() {
    functions[kA][kB] =
        reinterpret_cast<const void*>(&sm90_kernel<Sm90Variant<Row, kA, kB, kIsGrouped, kIsGated>>);
  };
  keep.template operator()<false, false>();
  keep.template operator()<false, true>();
  keep.template operator()<true, false>();
  keep.template operator()<true, true>();
  return kernel;
}

// Both types are compiled in one file, for its headers take as long as one of them.
template <template <ElementType> class Row, bool kIsGrouped, bool kIsGated>
Sm90Kernel instance_of(ElementType input) {
  return input == ElementType::bf16 ? instance<Row<ElementType::bf16>, kIsGrouped, kIsGated>()
                                    : instance<Row<ElementType::f16>, kIsGrouped, kIsGated>();
}

}  // namespace sm90_detail

template <template <ElementType> class Row>
Sm90Kernel sm90_instance(ElementType input) {
  return sm90_detail::instance_of<Row, false, false>(input);
}

// The functions for groups alone, in a file of their own because they take as long to compile.
template <template <ElementType> class Row>
Sm90Kernel sm90_group_instance(ElementType input) {
  return sm90_detail::instance_of<Row, true, false>(input);
}

// Likewise for gated pairs.
template <template <ElementType> class Row>
Sm90Kernel sm90_gated_instance(ElementType input) {
  return sm90_detail::instance_of<Row, true, true>(input);
}

}  // namespace tessera::cuda
