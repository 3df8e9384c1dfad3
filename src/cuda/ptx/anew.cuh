// A value that the compiler takes for another one than before: what follows from it is computed
// where it is used, and not kept in registers across a loop that has none to spare.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline std::uint32_t anew(std::uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

}  // namespace tessera::ptx
