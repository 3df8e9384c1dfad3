// The last step of a gated pair: two products, in the accumulator's type, become one matrix.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/matrix_view.hpp"

namespace tessera::cpu {

// C ← gate ∘ up. Both have C's shape; their type is f32, or f64 where C's is. Parts' C must not
// overlap.
struct CombinePart {
  ConstMatrixView gate;  // row-major
  ConstMatrixView up;    // row-major
  MatrixView c;
};

// `threads`: 0 takes the machine's.
void multiply_elements(std::span<const CombinePart> parts, int threads);

}  // namespace tessera::cpu
