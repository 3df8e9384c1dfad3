// Adds up the lanes of as many vectors as a vector has lanes: each step folds the halves of two
// vectors into one, so that all of them together take 45 instructions where one alone takes 8.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

namespace tessera::cpu {
namespace {

// `Blocks` of 128 bits, two of each.
template <int Blocks, class Vec>
[[gnu::always_inline]] inline Vec shuffle_blocks(Vec a, Vec b) {
  return (Vec)_mm512_shuffle_f32x4((__m512)a, (__m512)b, Blocks);
}

// Lane i is the sum of vector i's lanes, in the order of _mm512_reduce_add: halves are added first,
// then quarters and so on. `Accumulate`: ops_avx512.hpp's.
template <class Accumulate, class Vec = typename Accumulate::Vec>
[[gnu::always_inline]] inline Vec add_lanes(const Vec (&sums)[Accumulate::kLanes]) {
  const auto halves = [](Vec a, Vec b) __attribute__((always_inline)) {
    return Accumulate::add(shuffle_blocks<0x44>(a, b), shuffle_blocks<0xee>(a, b));
  };
  const auto quarters = [](Vec a, Vec b) __attribute__((always_inline)) {
    return Accumulate::add(shuffle_blocks<0x88>(a, b), shuffle_blocks<0xdd>(a, b));
  };
  const auto eighths = [](Vec a, Vec b) __attribute__((always_inline)) {
    return Accumulate::add((Vec)_mm512_unpacklo_pd((__m512d)a, (__m512d)b),
                           (Vec)_mm512_unpackhi_pd((__m512d)a, (__m512d)b));
  };
  // Each block of 128 bits has lanes of so many vectors.
  constexpr int kInBlock = Accumulate::kLanes / 4;
  Vec quarter[kInBlock];
#pragma GCC unroll 4
  for (int i = 0; i < kInBlock; ++i) {
    quarter[i] = quarters(halves(sums[i], sums[kInBlock + i]),
                          halves(sums[2 * kInBlock + i], sums[3 * kInBlock + i]));
  }
  const Vec first = eighths(quarter[0], quarter[1]);
  if constexpr (kInBlock == 2) {
    return first;
  } else {
    const auto a = (__m512)first;
    const auto b = (__m512)eighths(quarter[2], quarter[3]);
    return Accumulate::add((Vec)_mm512_shuffle_ps(a, b, 0x88), (Vec)_mm512_shuffle_ps(a, b, 0xdd));
  }
}

}  // namespace
}  // namespace tessera::cpu
