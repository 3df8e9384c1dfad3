// AVX2's vectors for the microkernel; see ops_avx512.hpp for what an Ops type has. Masks are
// vectors.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/convert.hpp"
#include "cpu/finish.hpp"
#include "cpu/pack.hpp"

namespace tessera::cpu {
namespace {

// kRows rows of kChunk units, `row_bytes` apart, become kChunk rows of kRows units, `stride` apart.
// The bits of `flip` are inverted on the way (32-bit units only).
struct TransposeRows {
  template <class Word>
  static constexpr int kRows = sizeof(Word) == 4 ? 4 : 2;
  template <class Word>
  static constexpr int kChunk = 32 / sizeof(Word);

  static void rows_to_columns(const std::uint32_t* rows, std::int64_t row_bytes, std::uint32_t* to,
                              std::int64_t stride, std::uint32_t flip) {
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(flip));
    const __m256i r0 = _mm256_xor_si256(row(rows, 0), mask);
    const __m256i r1 = _mm256_xor_si256(row(rows, row_bytes), mask);
    const __m256i r2 = _mm256_xor_si256(row(rows, 2 * row_bytes), mask);
    const __m256i r3 = _mm256_xor_si256(row(rows, 3 * row_bytes), mask);
    const __m256i low01 = _mm256_unpacklo_epi32(r0, r1);
    const __m256i high01 = _mm256_unpackhi_epi32(r0, r1);
    const __m256i low23 = _mm256_unpacklo_epi32(r2, r3);
    const __m256i high23 = _mm256_unpackhi_epi32(r2, r3);
    // Lane L of the j-th holds column 4·L + j.
    store_lanes(to, 4 * stride, _mm256_unpacklo_epi64(low01, low23));
    store_lanes(to + stride, 4 * stride, _mm256_unpackhi_epi64(low01, low23));
    store_lanes(to + 2 * stride, 4 * stride, _mm256_unpacklo_epi64(high01, high23));
    store_lanes(to + 3 * stride, 4 * stride, _mm256_unpackhi_epi64(high01, high23));
  }

  static void rows_to_columns(const std::uint64_t* rows, std::int64_t row_bytes, std::uint64_t* to,
                              std::int64_t stride, std::uint32_t) {
    const __m256i r0 = row(rows, 0);
    const __m256i r1 = row(rows, row_bytes);
    store_lanes(to, 2 * stride, _mm256_unpacklo_epi64(r0, r1));
    store_lanes(to + stride, 2 * stride, _mm256_unpackhi_epi64(r0, r1));
  }

 private:
  static __m256i row(const void* rows, std::int64_t offset) {
    return _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(static_cast<const char*>(rows) + offset));
  }
  template <class Word>
  static void store_lanes(Word* to, std::int64_t stride, __m256i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(value));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + stride), _mm256_extracti128_si256(value, 1));
  }
};

struct AccumulateF32 {
  using Acc = float;
  using Vec = __m256;
  using Mask = __m256i;
  static constexpr int kLanes = 8;

  static Mask mask(int columns) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(columns),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec set(Acc value) { return _mm256_set1_ps(value); }
  static Vec load(const Acc* from) { return _mm256_loadu_ps(from); }
  static Vec load(const Acc* from, Mask mask) { return _mm256_maskload_ps(from, mask); }
  static void store(Acc* to, Vec value) { _mm256_storeu_ps(to, value); }
  static void store(Acc* to, Vec value, Mask mask) { _mm256_maskstore_ps(to, mask, value); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  static Vec scale_add(Vec value, Vec factor, Vec c) { return _mm256_fmadd_ps(factor, c, value); }
};

struct AccumulateF64 {
  using Acc = double;
  using Vec = __m256d;
  using Mask = __m256i;
  static constexpr int kLanes = 4;

  static Mask mask(int columns) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(columns), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static Vec zero() { return _mm256_setzero_pd(); }
  static Vec set(Acc value) { return _mm256_set1_pd(value); }
  static Vec load(const Acc* from) { return _mm256_loadu_pd(from); }
  static Vec load(const Acc* from, Mask mask) { return _mm256_maskload_pd(from, mask); }
  static void store(Acc* to, Vec value) { _mm256_storeu_pd(to, value); }
  static void store(Acc* to, Vec value, Mask mask) { _mm256_maskstore_pd(to, mask, value); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mul_pd(a, b); }
  static Vec scale_add(Vec value, Vec factor, Vec c) { return _mm256_fmadd_pd(factor, c, value); }
};

struct AccumulateI32 {
  using Acc = std::int32_t;
  using Vec = __m256i;
  using Mask = __m256i;
  static constexpr int kLanes = 8;

  static Mask mask(int columns) { return AccumulateF32::mask(columns); }
  static Vec zero() { return _mm256_setzero_si256(); }
  static Vec set(Acc value) { return _mm256_set1_epi32(value); }
  static Vec load(const Acc* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Vec load(const Acc* from, Mask mask) { return _mm256_maskload_epi32(from, mask); }
  static void store(Acc* to, Vec value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
  }
  static void store(Acc* to, Vec value, Mask mask) { _mm256_maskstore_epi32(to, mask, value); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mullo_epi32(a, b); }
  static Vec scale_add(Vec value, Vec factor, Vec c) {
    return _mm256_add_epi32(value, _mm256_mullo_epi32(factor, c));
  }
};

template <class Accumulate>
struct OpsBase : Accumulate {
  using Transpose = TransposeRows;
  static constexpr bool kOffsetA = false;
  static typename Accumulate::Acc scalar(double value) {
    return scalar_of<typename Accumulate::Acc>(value);
  }
  static void prefetch(const void* to) { __builtin_prefetch(to, 1, 3); }
};

struct OpsF32 : OpsBase<AccumulateF32> {
  using A = float;
  using B = float;
  using BVec = __m256;
  static constexpr int kGroup = 1;

  static BVec load_b(const B* from) { return _mm256_loadu_ps(from); }
  static BVec load_b(const B* from, Mask mask) { return _mm256_maskload_ps(from, mask); }
  static __m256 broadcast(const A* from) { return _mm256_set1_ps(*from); }
  // Around the intrinsic GCC 12 moves sums between registers, and with all of them in use through
  // memory: 256³ 64 GFLOP/s, and 91 with each sum tied to one (Zen 3, 2026-11).
  static Vec multiply_add(Vec sum, __m256 a, BVec b) {
    asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return sum;
  }
};

struct OpsF64 : OpsBase<AccumulateF64> {
  using A = double;
  using B = double;
  using BVec = __m256d;
  static constexpr int kGroup = 1;

  static BVec load_b(const B* from) { return _mm256_loadu_pd(from); }
  static BVec load_b(const B* from, Mask mask) { return _mm256_maskload_pd(from, mask); }
  static __m256d broadcast(const A* from) { return _mm256_set1_pd(*from); }
  static Vec multiply_add(Vec sum, __m256d a, BVec b) {
    asm("vfmadd231pd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return sum;
  }
};

// 8-bit integers widened to 16 bits while packing: a pair's products and their sum fit 32 bits.
struct OpsI16Pairs : OpsBase<AccumulateI32> {
  using A = std::int16_t;
  using B = std::int16_t;
  using BVec = __m256i;
  static constexpr int kGroup = 2;

  static BVec load_b(const B* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static __m256i broadcast(const A* from) {
    std::int32_t pair;
    __builtin_memcpy(&pair, from, sizeof(pair));
    return _mm256_set1_epi32(pair);
  }
  static Vec multiply_add(Vec sum, __m256i a, BVec b) {
    __m256i products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(products) : "x"(a), "x"(b));
    return sum;
  }
};

}  // namespace
}  // namespace tessera::cpu
