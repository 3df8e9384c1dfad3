// What AVX-512 widens in registers while it multiplies: operands that lie along k as dot products
// (dots.hpp), and rows of B in place.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/ops_avx512.hpp"
#include "cpu/rearrange_avx512.hpp"

namespace tessera::cpu {
namespace {

// The chosen ones of 32 bytes of elements, and zeros.
template <class Source, class Mask>
auto load_widened(const Source* from, Mask some) {
  if constexpr (sizeof(Source) == 2) {
    return widened<Source>(_mm256_maskz_loadu_epi16(some, from));
  } else {
    return widened<Source>(_mm256_maskz_loadu_epi8(some, from));
  }
}

template <class SourceA, class SourceB>
struct DotsWidened {
  using A = SourceA;
  using B = SourceB;
  using Some = std::conditional_t<sizeof(A) == 2, __mmask16, __mmask32>;
  static_assert(sizeof(A) == sizeof(B));

  static Some first(int count, std::int64_t) { return static_cast<Some>((1u << count) - 1); }
  static auto load_a(const A* from) { return load_widened(from); }
  static auto load_a(const A* from, Some some) { return load_widened(from, some); }
  static auto load_b(const B* from) { return load_widened(from); }
  static auto load_b(const B* from, Some some) { return load_widened(from, some); }
};

// Rows of B, widened to floats.
template <class Source>
struct RowsOfHalves : OpsF32 {
  using B = Source;

  static BVec load_b(const B* from) { return load_widened(from); }
  static BVec load_b(const B* from, Mask mask) { return load_widened(from, mask); }
};

// Two rows of B at a time, widened to pairs of 16 bits; a missing row is zero.
template <class Source>
struct RowsOfBytes : OpsI16Pairs {
  using B = Source;

  static BVec load_rows(const B* from, std::int64_t stride, int rows, Mask mask = 0xffff) {
    const __m128i even = _mm_maskz_loadu_epi8(mask, from);
    const __m128i odd =
        rows < kGroup ? _mm_setzero_si128() : _mm_maskz_loadu_epi8(mask, from + stride);
    return widened<Source>(
        _mm256_set_m128i(_mm_unpackhi_epi8(even, odd), _mm_unpacklo_epi8(even, odd)));
  }
  static void load_both(BVec (&columns)[2], const B* from, std::int64_t stride, int rows,
                        Mask mask = 0xffff) {
    columns[0] = load_rows(from, stride, rows);
    columns[1] = load_rows(from + kLanes, stride, rows, mask);
  }
};

}  // namespace
}  // namespace tessera::cpu
