// Random operands that do not depend on the number of threads: the same seed gives the same matrix.
#pragma once

#include <cstdint>

#include "cli/matrix.hpp"

namespace tessera::cli {

// Independent normal elements with deviation 1. Integers are rounded from normals of deviation 32,
// around 0 for i8 and around 128 for u8, and clipped to [-127, 127] and [0, 255].
void fill_random(Matrix& matrix, std::uint64_t seed);

}  // namespace tessera::cli
