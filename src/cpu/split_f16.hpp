// f16 as two parts of bf16, whose tile registers multiply 16 times as fast as f32's vectors: of the
// 11 bits of x the first part has the leading 8, the second what is left, so that x = first +
// second and x·y = the sum of four products, all of them exact in f32. f16's range lies well within
// bf16's, and no part is subnormal there.
//
// The first part is x less one unit in the last place of its f32, cut off. So no part of an x ≠ 0
// is zero, both have x's sign, and those of an infinite x are f32's largest finite bf16 and
// infinity: products of parts never add infinities of both signs, or make 0·∞, where x·y does not.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

namespace tessera::cpu {
namespace {

struct PartsOfF16 {
  __m512i first;
  __m512i second;
};

// Of 32 elements.
inline PartsOfF16 parts_of_f16(__m512i elements) {
  const __mmask32 nonzero = _mm512_test_epi16_mask(elements, _mm512_set1_epi16(0x7fff));
  const __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(elements));
  const __m512 high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(elements, 1));
  const auto cut = [](__m512 x) {
    const __m512i less = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(1));
    return _mm512_and_si512(less, _mm512_set1_epi32(static_cast<int>(0xffff0000)));
  };
  const __m512i first_low = cut(low);
  const __m512i first_high = cut(high);
  const auto rest = [](__m512 x, __m512i first) {
    return _mm512_castps_si512(_mm512_sub_ps(x, _mm512_castsi512_ps(first)));
  };
  const __m512i second_low = rest(low, first_low);
  const __m512i second_high = rest(high, first_high);
  // The upper halves of 16 and 16 floats.
  const auto halves = [nonzero](__m512i of_low, __m512i of_high) {
    alignas(64) static constexpr unsigned short kOdd[32] = {
        1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    return _mm512_maskz_permutex2var_epi16(nonzero, of_low, _mm512_load_si512(kOdd), of_high);
  };
  return {halves(first_low, first_high), halves(second_low, second_high)};
}

}  // namespace
}  // namespace tessera::cpu
