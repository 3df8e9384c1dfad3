// elect: picks one lane of a converged warp, in a form from which the compiler knows that a single
// thread follows.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline bool elect_one() {
  std::uint32_t elected;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(elected));
  return elected != 0;
}

}  // namespace tessera::ptx
