// What AVX2 widens in registers while it multiplies: operands that lie along k as dot products
// (dots.hpp), and rows of B in place.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/ops_avx2.hpp"

namespace tessera::cpu {
namespace {

// Elements of a type that is widened to fill a vector twice as long as what is loaded. Fewer have
// no masked load: they come with those before them, of which nothing is left, or, without so many
// before, one by one.
template <class SourceA, class SourceB>
class DotsWidened {
  struct Some {
    int count;
    bool follows;  // a vector's elements at least
  };

  template <class Source>
  static constexpr int kElements = 16 / sizeof(Source);

  template <class Source>
  static auto load(const Source* from, Some some) {
    static_assert(sizeof(SourceA) == sizeof(SourceB));
    // Bytes of ones behind as many zeros.
    alignas(16) static constexpr std::int8_t kOnes[32] = {
        0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const int bytes = some.count * static_cast<int>(sizeof(Source));
    if (some.follows) {
      const auto* last = reinterpret_cast<const __m128i*>(from + some.count - kElements<Source>);
      const auto* ones = reinterpret_cast<const __m128i*>(kOnes + bytes);
      return widened<Source>(_mm_and_si128(_mm_loadu_si128(last), _mm_loadu_si128(ones)));
    }
    alignas(16) Source few[kElements<Source>] = {};
    for (int i = 0; i < some.count; ++i) few[i] = from[i];
    return widened<Source>(_mm_load_si128(reinterpret_cast<const __m128i*>(few)));
  }

 public:
  using A = SourceA;
  using B = SourceB;

  static Some first(int count, std::int64_t depth) { return {count, depth >= kElements<SourceA>}; }
  static auto load_a(const SourceA* from) { return load_widened(from); }
  static auto load_a(const SourceA* from, Some some) { return load(from, some); }
  static auto load_b(const SourceB* from) { return load_widened(from); }
  static auto load_b(const SourceB* from, Some some) { return load(from, some); }
};

// How many lanes a mask chooses.
inline int count_of(__m256i mask) {
  return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps((__m256)mask)));
}

// Rows of B, widened to floats. A part of a vector comes with the columns before it, which every
// row has: core/in_place_rule.hpp's least_columns_in_registers.
template <class Source>
struct RowsOfHalves : OpsF32 {
  using B = Source;

  static BVec load_b(const B* from) { return load_widened(from); }
  static BVec load_b(const B* from, Mask mask) { return load_few_widened(from, count_of(mask)); }
};

// Two rows of B at a time, widened to pairs of 16 bits; a missing row is zero. Of a part of a
// vector as above.
template <class Source>
struct RowsOfBytes : OpsI16Pairs {
  using B = Source;

  static BVec load_rows(const B* from, std::int64_t stride, int rows) {
    return pairs_of(eight(from), rows < kGroup ? _mm_setzero_si128() : eight(from + stride));
  }
  static BVec load_rows(const B* from, std::int64_t stride, int rows, Mask mask) {
    const int before = kLanes - count_of(mask);
    const auto row = [&](const B* at) {
      return _mm_srl_epi64(eight(at - before), _mm_cvtsi32_si128(8 * before));
    };
    return pairs_of(row(from), rows < kGroup ? _mm_setzero_si128() : row(from + stride));
  }
  template <class... MaskOfLast>
  static void load_both(BVec (&columns)[2], const B* from, std::int64_t stride, int rows,
                        MaskOfLast... mask) {
    columns[0] = load_rows(from, stride, rows);
    columns[1] = load_rows(from + kLanes, stride, rows, mask...);
  }

 private:
  static __m128i eight(const B* from) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  }
  static __m256i pairs_of(__m128i even, __m128i odd) {
    return widened<Source>(_mm_unpacklo_epi8(even, odd));
  }
};

}  // namespace
}  // namespace tessera::cpu
