// AVX2's vectors for the microkernel; see ops_avx512.hpp for what an Ops type has. Masks are
// vectors.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>

#include "cpu/convert.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/finish.hpp"
#include "cpu/pack.hpp"

namespace tessera::cpu {
namespace {

// 16 bytes of elements as twice as many: floats, or integers of 16 bits.
template <class Source>
auto widened(__m128i elements) {
  if constexpr (std::is_same_v<Source, bf16>) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(elements), 16));
  } else if constexpr (std::is_same_v<Source, f16>) {
    return _mm256_cvtph_ps(elements);
  } else if constexpr (std::is_same_v<Source, std::uint8_t>) {
    return _mm256_cvtepu8_epi16(elements);
  } else {
    return _mm256_cvtepi8_epi16(elements);
  }
}

template <class Source>
auto load_widened(const Source* from) {
  return widened<Source>(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

// The first `count` of eight elements of 16 bits, and zeros. They come with as many before them as
// are missing.
template <class Source>
auto load_few_widened(const Source* from, int count) {
  alignas(16) static constexpr std::int8_t kPlaces[32] = {
      0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
      -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  const int missing = 8 - count;
  const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from - missing));
  const __m128i places = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kPlaces + 2 * missing));
  return widened<Source>(_mm_shuffle_epi8(last, places));
}

// Stores the first elements of eight of 4 bytes, or of four of 8, as many as `mask` says; a
// register tile's last vector is mostly a whole one. Zen 3, 2026-11, nanoseconds with vmaskmov and
// without, 1 to 8 elements: 5.2, 5.1, 5.0, 5.1, 7.8, 8.3, 9.0, 9.0
// and 2.0, 2.0, 2.0, 3.2, 3.6, 3.7, 3.7, 2.4, the loop's included. With what processor it is asked
// first, bf16 and i8 of a short k took 1.1 and 1.2 times as long there. On Intel's a masked store
// is one store: Emerald Rapids, 40 awkward products and 30 of a short k, the time with masks alone
// over the time so, f32 0.97 to 0.99, f64 0.99, bf16 0.95 to 0.97, i8 0.99 to 1.01; without masks
// 0.94 to 0.99.
inline void store_first(void* to, __m256 elements, __m256i mask) {
  const int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(mask));
  auto* at = static_cast<float*>(to);
  if (lanes == 0xff) return _mm256_storeu_ps(at, elements);
  if (!kSplitsMaskedStores) return _mm256_maskstore_ps(at, mask, elements);
  __m128 rest = _mm256_castps256_ps128(elements);
  int left = lanes;
  if (left & 0x8) {
    _mm_storeu_ps(at, rest);
    rest = _mm256_extractf128_ps(elements, 1);
    at += 4;
    left >>= 4;
  }
  if (left & 0x2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(at), rest);
    rest = _mm_movehl_ps(rest, rest);
    at += 2;
    left >>= 2;
  }
  if (left & 0x1) _mm_storeu_si32(at, _mm_castps_si128(rest));
}

// kRows rows of kChunk units, `row_bytes` apart, become kChunk rows of kRows units, `stride` apart.
// The bits of `flip` are inverted on the way (32-bit units only).
struct TransposeRows {
  template <class Word>
  static constexpr int kRows = sizeof(Word) == 4 ? 4 : 2;
  template <class Word>
  static constexpr int kChunk = 32 / sizeof(Word);

  // kChunk units of elements that lie one after another and are widened.
  template <class Source>
  static void widen(const Source* from, std::uint32_t* to) {
    store(to, (__m256i)load_widened(from));
  }

  // `Width` units: the first `width` elements of a row, one in each, and zeros.
  template <class Source, int Width>
  static void widen_row(const Source* row, int width, std::uint32_t* to) {
    constexpr int kUnits = kChunk<std::uint32_t>;
    int i = 0;
    for (; i + kUnits <= width; i += kUnits) widen(row + i, to + i);
    if constexpr (Width == 6) {
      if (width == Width) return widen_six(row, to);
    }
    if constexpr (Width > kUnits) {
      if (i > 0 && i < Width) {
        store(to + i, (__m256i)load_few_widened(row + i, width - i));
        i += kUnits;
      }
    }
    for (; i < width; ++i) to[i] = bits_of(Convert<Source>::widen(row[i]));
    for (; i < Width; ++i) to[i] = 0;
  }

  // The same of units that stay as they are; `Width` of them are whole vectors.
  template <class Word, int Width>
  requires(Width * sizeof(Word) % 32 == 0) static void copy_row(const Word* row, int width,
                                                                Word* to) {
    constexpr int kWords = sizeof(Word) / 4;
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (int at = 0; at < Width * kWords; at += 8) {
      const __m256i first = _mm256_cmpgt_epi32(_mm256_set1_epi32(width * kWords - at), lanes);
      const auto* from = reinterpret_cast<const int*>(row) + at;
      store(reinterpret_cast<int*>(to) + at, _mm256_maskload_epi32(from, first));
    }
  }

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

  // The same of as many rows as make a vector, a few units of each: kTallChunk rows of kTallRows
  // units, stored whole. Zen 3, one thread, 2026-11, B along k, the time by four rows over the time
  // so: f32 12×131×12 1.27, 14×30×20 1.18, 20×67×37 1.09, 100×1000×64 1.03; 64-bit units are level.
  template <class Word>
  requires(sizeof(Word) == 4) static constexpr int kTallRows = 8;
  template <class Word>
  requires(sizeof(Word) == 4) static constexpr int kTallChunk = 4;

  template <class RowAt>
  [[gnu::always_inline]] static void tall_to_columns(const RowAt& row_at, std::uint32_t* to,
                                                     std::int64_t stride, std::uint32_t flip) {
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(flip));
    __m256i rows[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) rows[r] = _mm256_xor_si256(both(row_at(r), row_at(4 + r)), mask);
    const __m256i low01 = _mm256_unpacklo_epi32(rows[0], rows[1]);
    const __m256i high01 = _mm256_unpackhi_epi32(rows[0], rows[1]);
    const __m256i low23 = _mm256_unpacklo_epi32(rows[2], rows[3]);
    const __m256i high23 = _mm256_unpackhi_epi32(rows[2], rows[3]);
    store(to, _mm256_unpacklo_epi64(low01, low23));
    store(to + stride, _mm256_unpackhi_epi64(low01, low23));
    store(to + 2 * stride, _mm256_unpacklo_epi64(high01, high23));
    store(to + 3 * stride, _mm256_unpackhi_epi64(high01, high23));
  }

 private:
  template <class Source>
  static void widen_six(const Source* from, std::uint32_t* to) {
    std::int32_t last;
    __builtin_memcpy(&last, from + 4, sizeof(last));
    const __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const auto six = (__m256i)widened<Source>(_mm_insert_epi32(first, last, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(six));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 4), _mm256_extracti128_si256(six, 1));
  }

  // 16 bytes of each of two rows.
  static __m256i both(const void* first, const void* second) {
    return _mm256_loadu2_m128i(static_cast<const __m128i*>(second),
                               static_cast<const __m128i*>(first));
  }
  static void store(void* to, __m256i value) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), value);
  }
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
  static void store(Acc* to, Vec value, Mask mask) { store_first(to, value, mask); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
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
  static void store(Acc* to, Vec value, Mask mask) {
    store_first(to, _mm256_castpd_ps(value), mask);
  }
  static Vec add(Vec a, Vec b) { return _mm256_add_pd(a, b); }
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
  static void store(Acc* to, Vec value, Mask mask) {
    store_first(to, _mm256_castsi256_ps(value), mask);
  }
  static Vec add(Vec a, Vec b) { return _mm256_add_epi32(a, b); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mullo_epi32(a, b); }
  static Vec scale_add(Vec value, Vec factor, Vec c) {
    return _mm256_add_epi32(value, _mm256_mullo_epi32(factor, c));
  }
};

template <class Accumulate>
struct OpsBase : Accumulate {
  using Transpose = TransposeRows;
  using Vec = typename Accumulate::Vec;
  static constexpr bool kOffsetA = false;
  static typename Accumulate::Acc scalar(double value) {
    return scalar_of<typename Accumulate::Acc>(value);
  }
  static void prefetch(const void* to) { __builtin_prefetch(to, 1, 3); }

  // Lane i is the sum of vector i's lanes: halves are added first, then quarters and so on. Each
  // step folds two vectors into one.
  static Vec add_lanes(const Vec (&sums)[Accumulate::kLanes]) {
    const auto halves = [](Vec a, Vec b) __attribute__((always_inline)) {
      return Accumulate::add((Vec)_mm256_permute2f128_ps((__m256)a, (__m256)b, 0x20),
                             (Vec)_mm256_permute2f128_ps((__m256)a, (__m256)b, 0x31));
    };
    const auto quarters = [](Vec a, Vec b) __attribute__((always_inline)) {
      return Accumulate::add((Vec)_mm256_unpacklo_pd((__m256d)a, (__m256d)b),
                             (Vec)_mm256_unpackhi_pd((__m256d)a, (__m256d)b));
    };
    if constexpr (Accumulate::kLanes == 4) {
      return quarters(halves(sums[0], sums[2]), halves(sums[1], sums[3]));
    } else {
      // Of every block of 128 bits the lanes of two vectors, side by side.
      const auto a = (__m256)quarters(halves(sums[0], sums[4]), halves(sums[1], sums[5]));
      const auto b = (__m256)quarters(halves(sums[2], sums[6]), halves(sums[3], sums[7]));
      return Accumulate::add((Vec)_mm256_shuffle_ps(a, b, 0x88),
                             (Vec)_mm256_shuffle_ps(a, b, 0xdd));
    }
  }
};

// How dot products (dots.hpp) read along k: `first` tells of the last few of `depth` elements.
struct DotsF32 {
  static __m256i first(int count, std::int64_t) { return AccumulateF32::mask(count); }
  static __m256 load_a(const float* from) { return _mm256_loadu_ps(from); }
  static __m256 load_a(const float* from, __m256i some) { return _mm256_maskload_ps(from, some); }
  static __m256 load_b(const float* from) { return load_a(from); }
  static __m256 load_b(const float* from, __m256i some) { return load_a(from, some); }
};

struct DotsF64 {
  static __m256i first(int count, std::int64_t) { return AccumulateF64::mask(count); }
  static __m256d load_a(const double* from) { return _mm256_loadu_pd(from); }
  static __m256d load_a(const double* from, __m256i some) { return _mm256_maskload_pd(from, some); }
  static __m256d load_b(const double* from) { return load_a(from); }
  static __m256d load_b(const double* from, __m256i some) { return load_a(from, some); }
};

struct OpsF32 : OpsBase<AccumulateF32> {
  using Dots = DotsF32;
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
  static Vec multiply_add_from(Vec sum, __m256 a, const B* from) {
    asm("vfmadd231ps %2, %1, %0"
        : "+x"(sum)
        : "x"(a), "m"(*reinterpret_cast<const __m256_u*>(from)));
    return sum;
  }
};

struct OpsF64 : OpsBase<AccumulateF64> {
  using Dots = DotsF64;
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
  static Vec multiply_add_from(Vec sum, __m256d a, const B* from) {
    asm("vfmadd231pd %2, %1, %0"
        : "+x"(sum)
        : "x"(a), "m"(*reinterpret_cast<const __m256d_u*>(from)));
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
