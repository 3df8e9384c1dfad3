// threadIdx.x, read anew: the compiler keeps a value it has seen before in a register, even across
// a main loop that has none to spare.
#pragma once

namespace tessera::ptx {

__device__ inline int thread_in_block() {
  int index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
}

}  // namespace tessera::ptx
