// prefetch: a line of global memory on its way to the L2 cache.
#pragma once

namespace tessera::ptx {

__device__ inline void prefetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

}  // namespace tessera::ptx
