// AVX-512's vectors for the microkernel: what an accumulator can do, and how the types that need no
// more than AVX-512 F, BW, DQ and VL multiply. AVX512-VNNI and AVX512-BF16 add theirs in their
// units.
//
// An Ops type has: A, B (packed elements), Acc, Vec, BVec, Mask, kLanes, kGroup, kOffsetA, load_b,
// broadcast, multiply_add, and the accumulator's operations. Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/convert.hpp"
#include "cpu/finish.hpp"
#include "cpu/pack.hpp"

namespace tessera::cpu {
namespace {

// Four rows of sixteen 32-bit units, `kChunk` apart, become sixteen rows of four, `stride` apart.
struct Transpose32 {
  static constexpr int kChunk = 16;

  static void four_rows(const std::uint32_t* rows, std::uint32_t* to, std::int64_t stride) {
    const __m512i r0 = _mm512_loadu_si512(rows);
    const __m512i r1 = _mm512_loadu_si512(rows + kChunk);
    const __m512i r2 = _mm512_loadu_si512(rows + 2 * kChunk);
    const __m512i r3 = _mm512_loadu_si512(rows + 3 * kChunk);
    const __m512i low01 = _mm512_unpacklo_epi32(r0, r1);
    const __m512i high01 = _mm512_unpackhi_epi32(r0, r1);
    const __m512i low23 = _mm512_unpacklo_epi32(r2, r3);
    const __m512i high23 = _mm512_unpackhi_epi32(r2, r3);
    // Lane L of columns[j] holds column 4·L + j.
    const __m512i columns[4] = {
        _mm512_unpacklo_epi64(low01, low23), _mm512_unpackhi_epi64(low01, low23),
        _mm512_unpacklo_epi64(high01, high23), _mm512_unpackhi_epi64(high01, high23)};
    for (int j = 0; j < 4; ++j) {
      store(to + j * stride, _mm512_castsi512_si128(columns[j]));
      store(to + (4 + j) * stride, _mm512_extracti32x4_epi32(columns[j], 1));
      store(to + (8 + j) * stride, _mm512_extracti32x4_epi32(columns[j], 2));
      store(to + (12 + j) * stride, _mm512_extracti32x4_epi32(columns[j], 3));
    }
  }

 private:
  static void store(std::uint32_t* to, __m128i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
  }
};

struct AccumulateF32 {
  using Acc = float;
  using Vec = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;

  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec set(Acc value) { return _mm512_set1_ps(value); }
  static Vec load(const Acc* from) { return _mm512_loadu_ps(from); }
  static Vec load(const Acc* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
  static void store(Acc* to, Vec value) { _mm512_storeu_ps(to, value); }
  static void store(Acc* to, Vec value, Mask mask) { _mm512_mask_storeu_ps(to, mask, value); }
  static Vec multiply(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
  // value + factor·c
  static Vec scale_add(Vec value, Vec factor, Vec c) { return _mm512_fmadd_ps(factor, c, value); }
};

struct AccumulateF64 {
  using Acc = double;
  using Vec = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;

  static Vec zero() { return _mm512_setzero_pd(); }
  static Vec set(Acc value) { return _mm512_set1_pd(value); }
  static Vec load(const Acc* from) { return _mm512_loadu_pd(from); }
  static Vec load(const Acc* from, Mask mask) { return _mm512_maskz_loadu_pd(mask, from); }
  static void store(Acc* to, Vec value) { _mm512_storeu_pd(to, value); }
  static void store(Acc* to, Vec value, Mask mask) { _mm512_mask_storeu_pd(to, mask, value); }
  static Vec multiply(Vec a, Vec b) { return _mm512_mul_pd(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm512_sub_pd(a, b); }
  static Vec scale_add(Vec value, Vec factor, Vec c) { return _mm512_fmadd_pd(factor, c, value); }
};

struct AccumulateI32 {
  using Acc = std::int32_t;
  using Vec = __m512i;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;

  static Vec zero() { return _mm512_setzero_si512(); }
  static Vec set(Acc value) { return _mm512_set1_epi32(value); }
  static Vec load(const Acc* from) { return _mm512_loadu_si512(from); }
  static Vec load(const Acc* from, Mask mask) { return _mm512_maskz_loadu_epi32(mask, from); }
  static void store(Acc* to, Vec value) { _mm512_storeu_si512(to, value); }
  static void store(Acc* to, Vec value, Mask mask) { _mm512_mask_storeu_epi32(to, mask, value); }
  static Vec multiply(Vec a, Vec b) { return _mm512_mullo_epi32(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm512_sub_epi32(a, b); }
  static Vec scale_add(Vec value, Vec factor, Vec c) {
    return _mm512_add_epi32(value, _mm512_mullo_epi32(factor, c));
  }
};

template <class Accumulate>
struct OpsBase : Accumulate {
  using Transpose = Transpose32;
  static constexpr bool kOffsetA = false;
  static typename Accumulate::Mask mask(int columns) {
    return static_cast<typename Accumulate::Mask>((1u << columns) - 1);
  }
  static typename Accumulate::Acc scalar(double value) {
    return scalar_of<typename Accumulate::Acc>(value);
  }
  static void prefetch(const void* to) { __builtin_prefetch(to, 1, 3); }
};

struct OpsF32 : OpsBase<AccumulateF32> {
  using A = float;
  using B = float;
  using BVec = __m512;
  static constexpr int kGroup = 1;

  static BVec load_b(const B* from) { return _mm512_loadu_ps(from); }
  static BVec load_b(const B* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
  static __m512 broadcast(const A* from) { return _mm512_set1_ps(*from); }
  static Vec multiply_add(Vec sum, __m512 a, BVec b) { return _mm512_fmadd_ps(a, b, sum); }
};

struct OpsF64 : OpsBase<AccumulateF64> {
  using A = double;
  using B = double;
  using BVec = __m512d;
  static constexpr int kGroup = 1;

  static BVec load_b(const B* from) { return _mm512_loadu_pd(from); }
  static BVec load_b(const B* from, Mask mask) { return _mm512_maskz_loadu_pd(mask, from); }
  static __m512d broadcast(const A* from) { return _mm512_set1_pd(*from); }
  static Vec multiply_add(Vec sum, __m512d a, BVec b) { return _mm512_fmadd_pd(a, b, sum); }
};

// 32 bits at `from`, whatever is packed there.
inline std::int32_t word_at(const void* from) {
  std::int32_t word;
  __builtin_memcpy(&word, from, sizeof(word));
  return word;
}

// 8-bit integers widened to 16 bits while packing: a pair's products and their sum fit 32 bits.
struct OpsI16Pairs : OpsBase<AccumulateI32> {
  using A = std::int16_t;
  using B = std::int16_t;
  using BVec = __m512i;
  static constexpr int kGroup = 2;

  static BVec load_b(const B* from) { return _mm512_loadu_si512(from); }
  static __m512i broadcast(const A* from) { return _mm512_set1_epi32(word_at(from)); }
  static Vec multiply_add(Vec sum, __m512i a, BVec b) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
  }
};

}  // namespace
}  // namespace tessera::cpu
