// st.async: a store to another block of the cluster that counts its bytes in on a barrier there.
#pragma once

#include <cstdint>

#include "cuda/ptx/smem_descriptor.cuh"

namespace tessera::ptx {

// `to` and `barrier` are the calling block's own addresses of what is meant in `block`.
__device__ inline void store_to_block(std::int32_t* to, std::int32_t value, std::uint64_t* barrier,
                                      std::uint32_t block) {
  asm volatile(
      "{.reg .b32 there, counted; mapa.shared::cluster.u32 there, %0, %3;"
      " mapa.shared::cluster.u32 counted, %2, %3;"
      " st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [there], %1, [counted];}" ::"r"(
          shared_address(to)),
      "r"(value), "r"(shared_address(barrier)), "r"(block)
      : "memory");
}

}  // namespace tessera::ptx
