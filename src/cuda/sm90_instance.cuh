// Compiles the Hopper kernel for one block shape. `Row` is a type of its own because nvcc cannot
// yet name a kernel whose template argument is a struct's value.
#pragma once

#include "cuda/kernel_sm90.cuh"
#include "cuda/sm90_kernels.hpp"

namespace tessera::cuda {

template <class Row, bool kAKContiguous, bool kBKContiguous, Sm90Purpose kPurpose>
struct Sm90Variant {
  static constexpr bool kIsGated = kPurpose == Sm90Purpose::gated_pairs;
  static constexpr bool kFinishes = kPurpose == Sm90Purpose::finishing;
  static constexpr Sm90Config kConfig{.input = Row::kInput,
                                      .block = Row::kBlock,
                                      .a_k_contiguous = kAKContiguous,
                                      .b_k_contiguous = kBKContiguous,
                                      .is_grouped = kPurpose == Sm90Purpose::groups || kIsGated,
                                      .is_gated = kIsGated,
                                      .is_plain = kPurpose == Sm90Purpose::plain || kFinishes,
                                      .finishes = kPurpose == Sm90Purpose::any || kFinishes};
};

namespace sm90_detail {

template <class Row, Sm90Purpose kPurpose>
Sm90Kernel instance() {
  constexpr Sm90Config kConfig = Sm90Variant<Row, true, true, kPurpose>::kConfig;
  Sm90Kernel kernel{.input = kConfig.input,
                    .block = kConfig.block,
                    .threads = kConfig.threads(),
                    .shared_bytes = sizeof(SharedStorage<kConfig>)};
  const auto keep = [&]<bool kA, bool kB>() {
    kernel.functions[static_cast<int>(kPurpose)][kA][kB] =
        reinterpret_cast<const void*>(&sm90_kernel<Sm90Variant<Row, kA, kB, kPurpose>>);
  };
  keep.template operator()<false, false>();
  keep.template operator()<false, true>();
  keep.template operator()<true, false>();
  keep.template operator()<true, true>();
  return kernel;
}

// Both types are compiled in one file, for its headers take as long as one of them.
template <template <ElementType> class Row, Sm90Purpose kPurpose>
Sm90Kernel instance_of(ElementType input) {
  return input == ElementType::bf16 ? instance<Row<ElementType::bf16>, kPurpose>()
                                    : instance<Row<ElementType::f16>, kPurpose>();
}

}  // namespace sm90_detail

// What a block for layers of experts has for single products.
template <template <ElementType> class Row>
Sm90Kernel sm90_any_instance(ElementType input) {
  return sm90_detail::instance_of<Row, Sm90Purpose::any>(input);
}

template <template <ElementType> class Row>
Sm90Kernel sm90_instance(ElementType input) {
  return sm90_any_instance<Row>(input)
      .with(sm90_detail::instance_of<Row, Sm90Purpose::plain>(input))
      .with(sm90_detail::instance_of<Row, Sm90Purpose::finishing>(input));
}

// The functions for groups alone, in a file of their own because they take as long to compile.
template <template <ElementType> class Row>
Sm90Kernel sm90_group_instance(ElementType input) {
  return sm90_detail::instance_of<Row, Sm90Purpose::groups>(input);
}

// Likewise for gated pairs.
template <template <ElementType> class Row>
Sm90Kernel sm90_gated_instance(ElementType input) {
  return sm90_detail::instance_of<Row, Sm90Purpose::gated_pairs>(input);
}

}  // namespace tessera::cuda
