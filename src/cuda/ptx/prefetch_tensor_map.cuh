// prefetch.tensormap: brings a tensor map into the cache of the copy engine before its first use.
#pragma once

namespace tessera::ptx {

__device__ inline void prefetch_tensor_map(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

}  // namespace tessera::ptx
