// The special registers that a trace reads.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline std::uint64_t global_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ inline std::int64_t cycles_of_sm() {
  std::int64_t now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}

__device__ inline std::int32_t sm_number() {
  std::int32_t number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

}  // namespace tessera::ptx
