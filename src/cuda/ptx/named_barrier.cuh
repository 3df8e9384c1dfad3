// Barriers over part of a block.
#pragma once

#include <cstdint>

namespace tessera::ptx {

template <int kThreads>
__device__ inline void barrier_wait(int barrier) {
  asm volatile("barrier.cta.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}

// Counts the calling warp in without waiting for the others.
template <int kThreads>
__device__ inline void barrier_arrive(int barrier) {
  asm volatile("barrier.cta.arrive %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}

// Waits, and tells every thread whether any of them passed true.
template <int kThreads>
__device__ inline bool barrier_any(int barrier, bool mine) {
  std::uint32_t any;
  asm volatile(
      "{.reg .pred p, q; setp.ne.u32 p, %1, 0; barrier.cta.red.or.pred q, %2, %3, p; "
      "selp.u32 %0, 1, 0, q;}"
      : "=r"(any)
      : "r"(static_cast<std::uint32_t>(mine)), "r"(barrier), "n"(kThreads)
      : "memory");
  return any != 0;
}

}  // namespace tessera::ptx
