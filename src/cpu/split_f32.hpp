// f32 as three parts of bf16, whose tile registers multiply 16 times as fast as f32's vectors: of
// the 24 bits of x the first part has the leading 8, rounded to the nearest, the second the next 8
// and the third what is left, so that x = first + second + third, exactly. Of the nine products of
// parts that make x·y six are added up. The others are below 2^-24·|x·y| together, which is what
// one rounding to f32 may take; and tile registers add up 32 products of k before they round to the
// sum so far, where multiply-adds round for each (docs/f32_in_parts.md has the errors of both).
//
// That holds where no part is subnormal, which tile registers take for zero, nor any product of two
// parts that counts, and where nothing overflows. So the range of each panel's elements is known
// (PanelRange); those that parts cannot hold are packed as they are, and they, and panels whose
// products leave the range together, are multiplied by vectors (unsplit_f32.hpp).
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "core/tile_registers_rule.hpp"

namespace tessera::cpu {
namespace {

constexpr int kPartsOfF32 = 3;

// Of 16 elements, each part in the upper half of its 32 bits, the lower half zero.
struct PartsOfF32 {
  __m512i parts[kPartsOfF32];
};

inline PartsOfF32 parts_of_f32(__m512i elements) {
  const auto rounded = [](__m512i x) {
    const __m512i half = _mm512_set1_epi32(0x8000);
    return _mm512_and_si512(_mm512_add_epi32(x, half),
                            _mm512_set1_epi32(static_cast<int>(0xffff0000)));
  };
  const auto rest = [](__m512i x, __m512i part) {
    return _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(part)));
  };
  const __m512i first = rounded(elements);
  const __m512i behind_first = rest(elements, first);
  const __m512i second = rounded(behind_first);
  return {{first, second, rest(behind_first, second)}};
}

// What they are parts of.
inline __m512 whole_of(const PartsOfF32& split) {
  const __m512 behind_first =
      _mm512_add_ps(_mm512_castsi512_ps(split.parts[1]), _mm512_castsi512_ps(split.parts[2]));
  return _mm512_add_ps(_mm512_castsi512_ps(split.parts[0]), behind_first);
}

// What the elements of a panel are between, other than zeros: behind the panel.
struct PanelRange {
  std::uint32_t least = 0xff;  // biased exponents
  std::uint32_t greatest = 0;
  std::uint32_t is_whole = 0;  // elements are f32, not parts

  void widen(const PanelRange& other) {
    least = least < other.least ? least : other.least;
    greatest = greatest > other.greatest ? greatest : other.greatest;
    is_whole |= other.is_whole;
  }
};

constexpr std::uint32_t kBiasOfF32 = 127;

// The last of an element's 24 bits is 2^-23 of the first, which rounding may have taken to the next
// power of two, and bf16 is normal from 2^-126 on.
constexpr bool parts_hold(const PanelRange& range) {
  return range.least >= kBiasOfF32 - 102 && range.greatest < 2 * kBiasOfF32;
}

// A sum of tile registers that is subnormal is lost, which is 2^-25 of a product of 2^-101; and up
// to 2^26 of less than 2^102 do not overflow.
constexpr bool may_multiply_parts(const PanelRange& a, const PanelRange& b) {
  constexpr std::uint32_t kLeast = 2 * kBiasOfF32 - 101;
  constexpr std::uint32_t kGreatest = 2 * kBiasOfF32 + 100;
  return a.is_whole == 0 && b.is_whole == 0 && a.least + b.least >= kLeast &&
         a.greatest + b.greatest <= kGreatest;
}

// Collects a range from what elements become: pairs of first parts tell their exponents, third
// parts whether that was all of an element. It is not where some is below what bf16 has, or of a
// NaN that is rounded to something else.
struct RangeSoFar {
  static constexpr std::int64_t kBytes = kRangeBytesOfPanel;

  static RangeSoFar load(const unsigned char* from) {
    return {_mm512_loadu_si512(from), _mm512_loadu_si512(from + 64),
            _mm512_loadu_si512(from + 128)};
  }
  void store(unsigned char* to) const {
    _mm512_storeu_si512(to, least_less_one);
    _mm512_storeu_si512(to + 64, greatest);
    _mm512_storeu_si512(to + 128, third_parts);
  }

  __m512i least_less_one = _mm512_set1_epi16(-1);  // unsigned, so that zero is the greatest
  __m512i greatest = _mm512_setzero_si512();
  __m512i third_parts = _mm512_setzero_si512();  // all of them, or'ed

  [[gnu::always_inline]] void take(__m512i pairs, const PartsOfF32& one, const PartsOfF32& other) {
    const __m512i sizes = _mm512_and_si512(pairs, _mm512_set1_epi16(0x7fff));
    const __m512i less_one = _mm512_sub_epi16(sizes, _mm512_set1_epi16(1));
    least_less_one = _mm512_min_epu16(least_less_one, less_one);
    greatest = _mm512_max_epu16(greatest, sizes);
    constexpr int kOr = 0xfe;
    third_parts = _mm512_ternarylogic_epi32(third_parts, one.parts[2], other.parts[2], kOr);
  }
  PanelRange range() const {
    constexpr int kFractionBits = 7;  // of bf16
    alignas(64) std::uint16_t least[32];
    alignas(64) std::uint16_t most[32];
    _mm512_store_si512(least, least_less_one);
    _mm512_store_si512(most, greatest);
    PanelRange range;
    for (int i = 0; i < 32; ++i) {
      const std::uint32_t exponent = (least[i] + 1U) >> kFractionBits;  // of zeros above all others
      range.least = exponent < range.least ? exponent : range.least;
      const std::uint32_t other = most[i] >> kFractionBits;
      range.greatest = other > range.greatest ? other : range.greatest;
    }
    const bool is_all = _mm512_test_epi32_mask(third_parts, _mm512_set1_epi32(0xffff)) == 0;
    range.is_whole = is_all && parts_hold(range) ? 0 : 1;
    return range;
  }
};

}  // namespace
}  // namespace tessera::cpu
