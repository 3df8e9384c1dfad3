// A counter in device memory at which workers of different SMs arrive.
#pragma once

#include <cstdint>

namespace tessera::ptx {

// Adds to it and returns what the counter was. Everything that the callers before had seen or
// written is seen by this one from now on. (CCCL's atomic_ref says the same, but brings a header
// that takes nearly four of the nine seconds that a kernel's file takes to read.)
__device__ inline std::uint32_t arrive_at_counter(std::uint32_t* counter, std::uint32_t add = 1) {
  std::uint32_t before;
  asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(add)
               : "memory");
  return before;
}

// As it is now, and with it all that those had written who brought it there.
__device__ inline std::uint32_t look_at_counter(const std::uint32_t* counter) {
  std::uint32_t now;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
  return now;
}

// For the next launch, which the end of this one orders after it.
__device__ inline void reset_counter(std::uint32_t* counter) {
  asm volatile("st.relaxed.gpu.u32 [%0], 0;" ::"l"(counter) : "memory");
}

}  // namespace tessera::ptx
