// What the plain kernels of Hopper compute (docs/kernel_sm90.md): one product, C = alpha·A·B in the
// inputs' type, which leaves by TMA.
#pragma once

#include <cstdint>

#include "tessera/element_type.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// C = alpha·A·B and nothing else.
inline bool is_scaled_product(const Problem& problem) {
  return problem.beta == 0 && problem.epilogue == Epilogue{};
}

// Whether TMA writes lines of so many elements: it clips what it writes to whole 16 bytes of a
// line, not to elements (seen on an H200).
inline bool tma_writes_lines_of(std::int64_t elements, ElementType type) {
  return elements * size_of(type) % 16 == 0;
}

// Whether a plain kernel computes it, where C lies as the problem says.
bool suits_plain_kernel(const Problem& problem);

}  // namespace tessera
