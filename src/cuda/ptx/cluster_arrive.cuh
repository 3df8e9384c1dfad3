// Arrival on a barrier of another block of the cluster. It orders nothing: it overtakes a load from
// shared memory that is still under way.
#pragma once

#include <cstdint>

#include "cuda/ptx/smem_descriptor.cuh"

namespace tessera::ptx {

// CCCL offers this with release at cluster scope only, for which the compiler flushes all of the
// thread's writes to device memory first (MEMBAR.GPU, most of a microsecond). Here nothing was
// written: the arrival says that wgmma has read a stage, which waiting for the wgmma established.
__device__ inline void arrive_at_block(std::uint64_t* barrier, std::uint32_t block) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
      " mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(shared_address(barrier)),
      "r"(block)
      : "memory");
}

// At the first block's barrier, once `value` has come from shared memory, so that the first block
// may send the next one there: the address depends on it. `value` must not be negative.
__device__ inline void arrive_at_first_block_after(std::int32_t value, std::uint64_t* barrier) {
  arrive_at_block(barrier, static_cast<std::uint32_t>(value >> 31));
}

}  // namespace tessera::ptx
