// How AVX-512 brings elements into the order that a multiply-add takes them in: widened,
// interleaved in pairs and quads of rows, or transposed (pack.hpp).
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>

#include "cpu/convert.hpp"

namespace tessera::cpu {
namespace {

// 32 bytes of elements as twice as many: floats, or integers of 16 bits.
template <class Source>
auto widened(__m256i elements) {
  if constexpr (std::is_same_v<Source, bf16>) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(elements), 16));
  } else if constexpr (std::is_same_v<Source, f16>) {
    return _mm512_cvtph_ps(elements);
  } else if constexpr (std::is_same_v<Source, std::uint8_t>) {
    return _mm512_cvtepu8_epi16(elements);
  } else {
    return _mm512_cvtepi8_epi16(elements);
  }
}

template <class Source>
auto load_widened(const Source* from) {
  return widened<Source>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

// Where row `r` of so many rows is read, none of it where there is no such row. A load that takes
// nothing does not fault, but from a page that is not there it takes 100 ns: Zen 4, one thread,
// 2026-11, bf16 4×1296×3 whose B ends before such a page 4.4 µs, and 0.9.
template <class Element>
const Element* row_or_first(const Element* rows, std::int64_t stride, int r, int count) {
  return rows + (r < count ? r * stride : 0);
}

// Units of 32 bits of 32 columns, in the columns' order.
struct TwoVectors {
  __m512i first;
  __m512i second;
};

// From two rows of 16-bit elements.
[[gnu::always_inline]] inline TwoVectors pairs_of_rows(__m512i even, __m512i odd) {
  const __m512i first = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40,
                                         8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
  return {_mm512_permutex2var_epi16(even, first, odd),
          _mm512_permutex2var_epi16(even, second, odd)};
}

// From four rows of bytes: rows 0 and 2 side by side, and 1 and 3.
[[gnu::always_inline]] inline TwoVectors quads_of_rows(__m512i even, __m512i odd) {
  // The first half has rows 0 and 1 side by side and the second rows 2 and 3, of eight columns
  // from 0 and eight from 16; and from 8 and 24.
  const __m512i low = _mm512_unpacklo_epi8(even, odd);
  const __m512i high = _mm512_unpackhi_epi8(even, odd);
  const __m512i halves =
      _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                       21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i quads_low = _mm512_permutexvar_epi16(halves, low);
  const __m512i quads_high = _mm512_permutexvar_epi16(halves, high);
  return {_mm512_shuffle_i64x2(quads_low, quads_high, 0x44),
          _mm512_shuffle_i64x2(quads_low, quads_high, 0xee)};
}

[[gnu::always_inline]] inline __m512i side_by_side(__m256i first, __m256i second) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

// kRows rows of kChunk units, `row_bytes` apart, become kChunk rows of kRows units, `stride` apart.
// The bits of `flip` are inverted on the way (32-bit units only).
struct TransposeRows {
  template <class Word>
  static constexpr int kRows = sizeof(Word) == 4 ? 4 : 2;
  template <class Word>
  static constexpr int kChunk = 64 / sizeof(Word);

  // A mask of so many lanes, none and all included.
  static __mmask16 first_of(int count) {
    return static_cast<__mmask16>(count <= 0 ? 0 : count >= 16 ? 0xffff : (1u << count) - 1);
  }

  // kChunk units of elements that lie one after another and are widened.
  template <class Source>
  static void widen(const Source* from, std::uint32_t* to) {
    _mm512_storeu_si512(to, (__m512i)load_widened(from));
  }

  // `Width` units: the first `width` elements of a row, one in each, and zeros.
  template <class Source, int Width>
  static void widen_row(const Source* row, int width, std::uint32_t* to) {
    constexpr int kUnits = kChunk<std::uint32_t>;
    for (int i = 0; i < Width; i += kUnits) {
      const __m256i elements = _mm256_maskz_loadu_epi16(first_of(width - i), row + i);
      _mm512_mask_storeu_epi32(to + i, first_of(Width - i), (__m512i)widened<Source>(elements));
    }
  }

  // The same of units that stay as they are.
  template <class Word, int Width>
  static void copy_row(const Word* row, int width, Word* to) {
    constexpr int kWords = sizeof(Word) / 4;
    for (int at = 0; at < Width * kWords; at += 16) {
      const auto* from = reinterpret_cast<const int*>(row) + at;
      const __m512i units = _mm512_maskz_loadu_epi32(first_of(width * kWords - at), from);
      _mm512_mask_storeu_epi32(reinterpret_cast<int*>(to) + at, first_of(Width * kWords - at),
                               units);
    }
  }

  static void rows_to_columns(const std::uint32_t* rows, std::int64_t row_bytes, std::uint32_t* to,
                              std::int64_t stride, std::uint32_t flip) {
    const __m512i mask = _mm512_set1_epi32(static_cast<int>(flip));
    __m512i columns[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      columns[r] = _mm512_xor_si512(row(rows, r * row_bytes), mask);
    }
    transpose_lanes(columns);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) store_lanes(to + j * stride, 4 * stride, columns[j]);
  }

  static void rows_to_columns(const std::uint64_t* rows, std::int64_t row_bytes, std::uint64_t* to,
                              std::int64_t stride, std::uint32_t) {
    const __m512i r0 = row(rows, 0);
    const __m512i r1 = row(rows, row_bytes);
    store_lanes(to, 2 * stride, _mm512_unpacklo_epi64(r0, r1));
    store_lanes(to + stride, 2 * stride, _mm512_unpackhi_epi64(r0, r1));
  }

  // The same of as many rows as make a vector, a few units of each: kTallChunk rows of kTallRows
  // units, stored whole. `row_at(r)` is where row r starts. Zen 5, one thread, 2026-11, ps/byte by
  // four rows and so, f32: 784×64 17 and 11, 1024×1024 24 and 20, from memory 4000×4000 85 and 59,
  // 4096×4096 86 and 73.
  template <class Word>
  static constexpr int kTallRows = 64 / sizeof(Word);
  template <class Word>
  static constexpr int kTallChunk = 16 / sizeof(Word);

  template <class RowAt>
  [[gnu::always_inline]] static void tall_to_columns(const RowAt& row_at, std::uint32_t* to,
                                                     std::int64_t stride, std::uint32_t flip) {
    const __m512i mask = _mm512_set1_epi32(static_cast<int>(flip));
    __m512i rows[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      rows[r] = _mm512_xor_si512(
          every_so_many(row_at(r), row_at(4 + r), row_at(8 + r), row_at(12 + r)), mask);
    }
    transpose_lanes(rows);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) _mm512_storeu_si512(to + j * stride, rows[j]);
  }

  template <class RowAt>
  [[gnu::always_inline]] static void tall_to_columns(const RowAt& row_at, std::uint64_t* to,
                                                     std::int64_t stride, std::uint32_t) {
    const __m512i even = every_so_many(row_at(0), row_at(2), row_at(4), row_at(6));
    const __m512i odd = every_so_many(row_at(1), row_at(3), row_at(5), row_at(7));
    _mm512_storeu_si512(to, _mm512_unpacklo_epi64(even, odd));
    _mm512_storeu_si512(to + stride, _mm512_unpackhi_epi64(even, odd));
  }

  // The same of a whole line of each row. Where rows lie whole pages apart the nearest cache has
  // room for a line of eight (Zen 4) or twelve of them, and a few units at a time ask the second
  // level for every line four times: ps/byte from there, Zen 4, one thread, 2026-11, a few units
  // and whole lines at a time: f32, rows 8192 bytes apart 52 and 32, starting off lines 72 and 58;
  // 8000 bytes apart 20 and 18, 24 and 23.
  template <class Word>
  static constexpr int kTallLine = 64 / sizeof(Word);

  template <class RowAt>
  [[gnu::always_inline]] static void lines_to_columns(const RowAt& row_at, std::uint32_t* to,
                                                      std::int64_t stride, std::uint32_t flip) {
    const __m512i mask = _mm512_set1_epi32(static_cast<int>(flip));
    __m512i rows[4][4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        rows[q][r] = _mm512_xor_si512(row(row_at(4 * q + r), 0), mask);
      }
      transpose_lanes(rows[q]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      store_lanes_of_four(to + j * stride, 4 * stride, rows[0][j], rows[1][j], rows[2][j],
                          rows[3][j]);
    }
  }

  template <class RowAt>
  [[gnu::always_inline]] static void lines_to_columns(const RowAt& row_at, std::uint64_t* to,
                                                      std::int64_t stride, std::uint32_t) {
    __m512i rows[8];
    __m512i pairs[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) rows[r] = row(row_at(r), 0);
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2) {
      pairs[r] = _mm512_unpacklo_epi64(rows[r], rows[r + 1]);
      pairs[r + 1] = _mm512_unpackhi_epi64(rows[r], rows[r + 1]);
    }
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      store_lanes_of_four(to + j * stride, 2 * stride, pairs[j], pairs[2 + j], pairs[4 + j],
                          pairs[6 + j]);
    }
  }

  // Columns of a few rows, `row_bytes` apart, become units: element i of each row, side by side.
  template <class Source, int Group, int Columns>
  static void rows_to_units(const void* rows, std::int64_t row_bytes, std::uint32_t* to,
                            std::uint32_t flip) {
    static_assert(sizeof(Source) * Group == 4 && Group > 1);
    if constexpr (Columns % 32 == 0) {
      const __m512i mask = _mm512_set1_epi32(static_cast<int>(flip));
      const auto* from = static_cast<const char*>(rows);
      for (int first = 0; first < Columns; first += 32, from += 32 * sizeof(Source)) {
        const TwoVectors units = units_of_rows<Group>(from, row_bytes);
        _mm512_storeu_si512(to + first, _mm512_xor_si512(units.first, mask));
        _mm512_storeu_si512(to + first + 16, _mm512_xor_si512(units.second, mask));
      }
    } else {
      rows_to_units_at_edge<Source, Group, Columns>(rows, row_bytes, Columns, Group, to, flip);
    }
  }

  // The same of fewer columns or rows, also where a row's elements are units by themselves: what is
  // missing of a unit, and of the units, is zero.
  template <class Source, int Group, int Columns>
  static void rows_to_units_at_edge(const void* rows, std::int64_t row_bytes, int columns,
                                    int count, std::uint32_t* to, std::uint32_t flip) {
    constexpr auto kBits = 8 * static_cast<unsigned>(sizeof(Source));
    const auto bits = static_cast<std::uint32_t>((std::uint64_t{1} << (kBits * count)) - 1);
    const __m512i flips = _mm512_set1_epi32(static_cast<int>(flip & bits));
    for (int first = 0; first < Columns; first += 16) {
      const auto* from = static_cast<const char*>(rows) + first * static_cast<int>(sizeof(Source));
      const __mmask16 mask = first_of(columns - first);
      __m512i units = _mm512_maskz_mov_epi32(mask, flips);
      for (int g = 0; g < count; ++g, from += row_bytes) {
        __m512i elements;
        if constexpr (Group == 1) {
          elements = _mm512_maskz_loadu_epi32(mask, from);
        } else if constexpr (Group == 2) {
          elements = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
        } else {
          elements = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, from));
        }
        const __m128i places = _mm_cvtsi32_si128(static_cast<int>(kBits) * g);
        units = _mm512_xor_si512(units, _mm512_sll_epi32(elements, places));
      }
      _mm512_mask_storeu_epi32(to + first, first_of(Columns - first), units);
    }
  }

 private:
  // B that lies in L2: bf16 6 ps/byte on a Zen 5; i8 on a Zen 4 27, its columns' sums included, and
  // 37 by way of rows_to_units_at_edge (2026-11).
  template <int Group>
  static TwoVectors units_of_rows(const char* rows, std::int64_t row_bytes) {
    if constexpr (Group == 2) {
      return pairs_of_rows(row(rows, 0), row(rows, row_bytes));
    } else {
      return quads_of_rows(side_by_side(half_row(rows, 0), half_row(rows, 2 * row_bytes)),
                           side_by_side(half_row(rows, row_bytes), half_row(rows, 3 * row_bytes)));
    }
  }

  // 16 bytes of each of four rows. Merged while they are loaded, they need no shuffle.
  [[gnu::always_inline]] static __m512i every_so_many(const void* first, const void* second,
                                                      const void* third, const void* fourth) {
    __m512i rows = _mm512_castsi128_si512(sixteen_bytes(first));
    rows = _mm512_mask_broadcast_i32x4(rows, 0x00f0, sixteen_bytes(second));
    rows = _mm512_mask_broadcast_i32x4(rows, 0x0f00, sixteen_bytes(third));
    return _mm512_mask_broadcast_i32x4(rows, 0xf000, sixteen_bytes(fourth));
  }
  // Four rows of 32-bit units become columns: lane L of the j-th holds column 4·L + j.
  [[gnu::always_inline]] static void transpose_lanes(__m512i (&rows)[4]) {
    const __m512i low01 = _mm512_unpacklo_epi32(rows[0], rows[1]);
    const __m512i high01 = _mm512_unpackhi_epi32(rows[0], rows[1]);
    const __m512i low23 = _mm512_unpacklo_epi32(rows[2], rows[3]);
    const __m512i high23 = _mm512_unpackhi_epi32(rows[2], rows[3]);
    rows[0] = _mm512_unpacklo_epi64(low01, low23);
    rows[1] = _mm512_unpackhi_epi64(low01, low23);
    rows[2] = _mm512_unpacklo_epi64(high01, high23);
    rows[3] = _mm512_unpackhi_epi64(high01, high23);
  }
  // Lane L of each, side by side: four vectors, `stride` units apart.
  template <class Word>
  [[gnu::always_inline]] static void store_lanes_of_four(Word* to, std::int64_t stride,
                                                         __m512i first, __m512i second,
                                                         __m512i third, __m512i fourth) {
    const __m512i even = _mm512_shuffle_i32x4(first, second, 0x88);
    const __m512i odd = _mm512_shuffle_i32x4(first, second, 0xdd);
    const __m512i even_behind = _mm512_shuffle_i32x4(third, fourth, 0x88);
    const __m512i odd_behind = _mm512_shuffle_i32x4(third, fourth, 0xdd);
    _mm512_storeu_si512(to, _mm512_shuffle_i32x4(even, even_behind, 0x88));
    _mm512_storeu_si512(to + stride, _mm512_shuffle_i32x4(odd, odd_behind, 0x88));
    _mm512_storeu_si512(to + 2 * stride, _mm512_shuffle_i32x4(even, even_behind, 0xdd));
    _mm512_storeu_si512(to + 3 * stride, _mm512_shuffle_i32x4(odd, odd_behind, 0xdd));
  }
  static __m128i sixteen_bytes(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  }
  static __m512i row(const void* rows, std::int64_t offset) {
    return _mm512_loadu_si512(static_cast<const char*>(rows) + offset);
  }
  static __m256i half_row(const char* rows, std::int64_t offset) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + offset));
  }
  template <class Word>
  static void store_lanes(Word* to, std::int64_t stride, __m512i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(value));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + stride), _mm512_extracti32x4_epi32(value, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * stride),
                     _mm512_extracti32x4_epi32(value, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 3 * stride),
                     _mm512_extracti32x4_epi32(value, 3));
  }
};

}  // namespace
}  // namespace tessera::cpu
