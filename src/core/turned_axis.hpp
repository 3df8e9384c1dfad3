// A bias along the other side of C, where a product is computed as its transpose.
#pragma once

#include "tessera/problem.hpp"

namespace tessera {

[[gnu::always_inline]] constexpr BiasAxis turned(BiasAxis axis, bool is_turned) {
  if (!is_turned || axis == BiasAxis::none) return axis;
  return axis == BiasAxis::row ? BiasAxis::column : BiasAxis::row;
}

}  // namespace tessera
