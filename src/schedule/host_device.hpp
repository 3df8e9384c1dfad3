// TESSERA_HD marks a function that nvcc compiles for the host and for the device. Plain C++
// compilers see an ordinary function.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define TESSERA_HD __host__ __device__
#else
#define TESSERA_HD
#endif

namespace tessera {

// a / b and a mod b for 0 ≤ a, 0 < b. GPUs divide 64-bit integers in software, which takes several
// times as long as 32-bit ones; and the numbers of a schedule are mostly small.
struct Division {
  std::int64_t quotient;
  std::int64_t remainder;
};
TESSERA_HD inline Division divide(std::int64_t a, std::int64_t b) {
  if (a < b) return {0, a};
#ifdef __CUDA_ARCH__
  if (((a | b) >> 32) == 0) {
    const auto small_a = static_cast<std::uint32_t>(a);
    const auto small_b = static_cast<std::uint32_t>(b);
    const std::uint32_t quotient = small_a / small_b;
    return {quotient, small_a - quotient * small_b};
  }
#endif
  return {a / b, a % b};
}

}  // namespace tessera
