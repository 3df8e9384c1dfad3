// AVX-512's vectors for the microkernel: what an accumulator can do, and how the types that need no
// more than AVX-512 F, BW, DQ and VL multiply. AVX512-VNNI and AVX512-BF16 add theirs in their
// units.
//
// An Ops type has: A, B (packed elements), Acc, Vec, BVec, Mask, kLanes, kGroup, kOffsetA, load_b,
// broadcast, multiply_add, and the accumulator's operations. Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/finish.hpp"
#include "cpu/lanes_avx512.hpp"
#include "cpu/pack.hpp"
#include "cpu/rearrange_avx512.hpp"

namespace tessera::cpu {
namespace {

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
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
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
  static Vec add(Vec a, Vec b) { return _mm512_add_pd(a, b); }
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
  static Vec add(Vec a, Vec b) { return _mm512_add_epi32(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm512_sub_epi32(a, b); }
  static Vec scale_add(Vec value, Vec factor, Vec c) {
    return _mm512_add_epi32(value, _mm512_mullo_epi32(factor, c));
  }
};

template <class Accumulate>
struct OpsBase : Accumulate {
  using Transpose = TransposeRows;
  static constexpr bool kOffsetA = false;
  static typename Accumulate::Mask mask(int columns) {
    return static_cast<typename Accumulate::Mask>((1u << columns) - 1);
  }
  static typename Accumulate::Acc scalar(double value) {
    return scalar_of<typename Accumulate::Acc>(value);
  }
  static void prefetch(const void* to) { __builtin_prefetch(to, 1, 3); }
  static typename Accumulate::Vec add_lanes(
      const typename Accumulate::Vec (&sums)[Accumulate::kLanes]) {
    return cpu::add_lanes<Accumulate>(sums);
  }
};

// How dot products (dots.hpp) read along k: `first` tells of the last few of so many elements.
struct DotsF32 {
  static __mmask16 first(int count, std::int64_t) {
    return static_cast<__mmask16>((1u << count) - 1);
  }
  static __m512 load_a(const float* from) { return _mm512_loadu_ps(from); }
  static __m512 load_a(const float* from, __mmask16 some) {
    return _mm512_maskz_loadu_ps(some, from);
  }
  static __m512 load_b(const float* from) { return load_a(from); }
  static __m512 load_b(const float* from, __mmask16 some) { return load_a(from, some); }
};

struct DotsF64 {
  static __mmask8 first(int count, std::int64_t) {
    return static_cast<__mmask8>((1u << count) - 1);
  }
  static __m512d load_a(const double* from) { return _mm512_loadu_pd(from); }
  static __m512d load_a(const double* from, __mmask8 some) {
    return _mm512_maskz_loadu_pd(some, from);
  }
  static __m512d load_b(const double* from) { return load_a(from); }
  static __m512d load_b(const double* from, __mmask8 some) { return load_a(from, some); }
};

struct OpsF32 : OpsBase<AccumulateF32> {
  using Dots = DotsF32;
  using A = float;
  using B = float;
  using BVec = __m512;
  static constexpr int kGroup = 1;

  static BVec load_b(const B* from) { return _mm512_loadu_ps(from); }
  static BVec load_b(const B* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
  static __m512 broadcast(const A* from) { return _mm512_set1_ps(*from); }
  static Vec multiply_add(Vec sum, __m512 a, BVec b) { return _mm512_fmadd_ps(a, b, sum); }
  // The same operations where a compiler must not move loads ahead nor choose another sum to
  // overwrite: it would run out of registers (passing.hpp). Of a row of A its element `Step`.
  static BVec load_now(const B* from) {
    BVec value;
    asm volatile("vmovups %1, %0" : "=v"(value) : "m"(*reinterpret_cast<const __m512_u*>(from)));
    return value;
  }
  template <int Step>
  static __m512 broadcast_now(const A* row) {
    __m512 value;
    asm volatile("vbroadcastss %1, %0" : "=v"(value) : "m"(row[Step]));
    return value;
  }
  // Of the row that lies `stride` bytes behind, whose address is never in a register. The compiler
  // does not know that it is read: nobody writes A meanwhile.
  template <int Step>
  static __m512 broadcast_below(const A* row, std::int64_t stride) {
    __m512 value;
    asm volatile("vbroadcastss %c3(%1,%2), %0"
                 : "=v"(value)
                 : "r"(row), "r"(stride), "i"(Step * static_cast<int>(sizeof(A))));
    return value;
  }
  static Vec multiply_add_to(Vec sum, __m512 a, BVec b) {
    asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(b), "v"(a));
    return sum;
  }
  // Of an element of A, which the multiply-add loads itself.
  static Vec multiply_add_element(Vec sum, const A* a, BVec b) {
    asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(b), "m"(*a));
    return sum;
  }
};

struct OpsF64 : OpsBase<AccumulateF64> {
  using Dots = DotsF64;
  using A = double;
  using B = double;
  using BVec = __m512d;
  static constexpr int kGroup = 1;

  static BVec load_b(const B* from) { return _mm512_loadu_pd(from); }
  static BVec load_b(const B* from, Mask mask) { return _mm512_maskz_loadu_pd(mask, from); }
  static __m512d broadcast(const A* from) { return _mm512_set1_pd(*from); }
  static Vec multiply_add(Vec sum, __m512d a, BVec b) { return _mm512_fmadd_pd(a, b, sum); }
  // The same operations where a compiler must not move loads ahead nor choose another sum to
  // overwrite: it would run out of registers (passing.hpp). Of a row of A its element `Step`.
  static BVec load_now(const B* from) {
    BVec value;
    asm volatile("vmovupd %1, %0" : "=v"(value) : "m"(*reinterpret_cast<const __m512d_u*>(from)));
    return value;
  }
  template <int Step>
  static __m512d broadcast_now(const A* row) {
    __m512d value;
    asm volatile("vbroadcastsd %1, %0" : "=v"(value) : "m"(row[Step]));
    return value;
  }
  // Of the row that lies `stride` bytes behind, whose address is never in a register. The compiler
  // does not know that it is read: nobody writes A meanwhile.
  template <int Step>
  static __m512d broadcast_below(const A* row, std::int64_t stride) {
    __m512d value;
    asm volatile("vbroadcastsd %c3(%1,%2), %0"
                 : "=v"(value)
                 : "r"(row), "r"(stride), "i"(Step * static_cast<int>(sizeof(A))));
    return value;
  }
  static Vec multiply_add_to(Vec sum, __m512d a, BVec b) {
    asm("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(b), "v"(a));
    return sum;
  }
  // Of an element of A, which the multiply-add loads itself.
  static Vec multiply_add_element(Vec sum, const A* a, BVec b) {
    asm("vfmadd231pd %2%{1to8%}, %1, %0" : "+v"(sum) : "v"(b), "m"(*a));
    return sum;
  }
};

// 32 bits at `from`, whatever is packed there.
inline std::int32_t word_at(const void* from) {
  std::int32_t word;
  __builtin_memcpy(&word, from, sizeof(word));
  return word;
}

// The last `count` elements of a row, fewer than a word, and zeros; the row has a word before them.
template <class Element>
std::int32_t last_word(const Element* from, int count) {
  const int missing = static_cast<int>(sizeof(std::int32_t) / sizeof(Element)) - count;
  const auto word = static_cast<std::uint32_t>(word_at(from - missing));
  return static_cast<std::int32_t>(word >> (8 * static_cast<int>(sizeof(Element)) * missing));
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
    // Around the intrinsics GCC 12 moves sums through the stack.
    __m512i products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+v"(sum), "=&v"(products) : "v"(a), "v"(b));
    return sum;
  }
};

}  // namespace
}  // namespace tessera::cpu
