#include "cpu/copied_rows.hpp"

#include <emmintrin.h>

#include <cstring>

#include "cpu/cache_line.hpp"

namespace tessera::cpu {
namespace {

// A whole number's bytes, wherever they lie.
template <class Whole>
__m128i load_as(const void* from) {
  Whole whole;
  std::memcpy(&whole, from, sizeof(whole));
  return _mm_cvtsi32_si128(whole);
}

void store_row(void* to, __m128i value) {
  _mm_storeu_si128(static_cast<__m128i*>(to), value);
}

void store_half(void* to, __m128i value) {
  _mm_storel_epi64(static_cast<__m128i*>(to), value);
}

// Blocks of rows that lie side by side in memory, and of k, which are transposed in registers. Zen
// 5, one thread, 2026-11, microseconds of a narrow product where single elements are moved and so:
// f32 15×8×475 1.7 and 1.0, 4×2×1115 0.7 and 0.4, f64 4×2×1115 1.5 and 1.0, bf16 15×8×475 1.8 and
// 0.9. Zen 4, time of two and three rows by single elements, in builds where that is fast, over the
// time so: bf16 2×7×741 1.7, 3×10×795 1.4, i8 2.8, 1.6; in others it takes twice as long.
template <class Whole>
struct RowsOf8Bits {
  static constexpr int kRows = sizeof(Whole);
  static constexpr int kDepth = 8;

  static void transpose(const std::uint8_t* from, std::int64_t from_stride, std::uint8_t* to,
                        std::int64_t to_stride) {
    const auto at = [&](int d) { return load_as<Whole>(from + d * from_stride); };
    const auto pair = [&](int d) { return _mm_unpacklo_epi8(at(d), at(d + 1)); };
    // Of each row four of k side by side.
    const __m128i low = _mm_unpacklo_epi16(pair(0), pair(2));
    const __m128i high = _mm_unpacklo_epi16(pair(4), pair(6));
    const auto store = [&](int row, __m128i value) {
      store_half(to + row * to_stride, value);
      store_half(to + (row + 1) * to_stride, _mm_unpackhi_epi64(value, value));
    };
    store(0, _mm_unpacklo_epi32(low, high));
    if constexpr (kRows == 4) store(2, _mm_unpackhi_epi32(low, high));
  }
};
using FourRowsOf8Bits = RowsOf8Bits<std::int32_t>;
using TwoRowsOf8Bits = RowsOf8Bits<std::int16_t>;

struct FourRowsOf16Bits {
  static constexpr int kRows = 4;
  static constexpr int kDepth = 4;

  static void transpose(const std::uint16_t* from, std::int64_t from_stride, std::uint16_t* to,
                        std::int64_t to_stride) {
    const auto at = [&](int d) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + d * from_stride));
    };
    const auto store = [&](int row, __m128i value) {
      store_half(to + row * to_stride, value);
      store_half(to + (row + 1) * to_stride, _mm_unpackhi_epi64(value, value));
    };
    const __m128i first = _mm_unpacklo_epi16(at(0), at(1));
    const __m128i second = _mm_unpacklo_epi16(at(2), at(3));
    store(0, _mm_unpacklo_epi32(first, second));
    store(2, _mm_unpackhi_epi32(first, second));
  }
};

struct TwoRowsOf16Bits {
  static constexpr int kRows = 2;
  static constexpr int kDepth = 8;

  static void transpose(const std::uint16_t* from, std::int64_t from_stride, std::uint16_t* to,
                        std::int64_t to_stride) {
    const auto at = [&](int d) { return load_as<std::int32_t>(from + d * from_stride); };
    const auto pair = [&](int d) { return _mm_unpacklo_epi16(at(d), at(d + 1)); };
    const __m128i low = _mm_unpacklo_epi32(pair(0), pair(2));
    const __m128i high = _mm_unpacklo_epi32(pair(4), pair(6));
    store_row(to, _mm_unpacklo_epi64(low, high));
    store_row(to + to_stride, _mm_unpackhi_epi64(low, high));
  }
};

struct FourRowsOf32Bits {
  static constexpr int kRows = 4;
  static constexpr int kDepth = 4;

  static void transpose(const std::uint32_t* from, std::int64_t from_stride, std::uint32_t* to,
                        std::int64_t to_stride) {
    const auto at = [&](int d) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + d * from_stride));
    };
    const __m128i low01 = _mm_unpacklo_epi32(at(0), at(1));
    const __m128i high01 = _mm_unpackhi_epi32(at(0), at(1));
    const __m128i low23 = _mm_unpacklo_epi32(at(2), at(3));
    const __m128i high23 = _mm_unpackhi_epi32(at(2), at(3));
    store_row(to, _mm_unpacklo_epi64(low01, low23));
    store_row(to + to_stride, _mm_unpackhi_epi64(low01, low23));
    store_row(to + 2 * to_stride, _mm_unpacklo_epi64(high01, high23));
    store_row(to + 3 * to_stride, _mm_unpackhi_epi64(high01, high23));
  }
};

struct TwoRowsOf32Bits {
  static constexpr int kRows = 2;
  static constexpr int kDepth = 4;

  static void transpose(const std::uint32_t* from, std::int64_t from_stride, std::uint32_t* to,
                        std::int64_t to_stride) {
    const auto at = [&](int d) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + d * from_stride));
    };
    const __m128i first = _mm_unpacklo_epi32(at(0), at(1));
    const __m128i second = _mm_unpacklo_epi32(at(2), at(3));
    store_row(to, _mm_unpacklo_epi64(first, second));
    store_row(to + to_stride, _mm_unpackhi_epi64(first, second));
  }
};

struct TwoRowsOf64Bits {
  static constexpr int kRows = 2;
  static constexpr int kDepth = 2;

  static void transpose(const std::uint64_t* from, std::int64_t from_stride, std::uint64_t* to,
                        std::int64_t to_stride) {
    const auto at = [&](int d) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + d * from_stride));
    };
    store_row(to, _mm_unpacklo_epi64(at(0), at(1)));
    store_row(to + to_stride, _mm_unpackhi_epi64(at(0), at(1)));
  }
};

// By blocks where rows lie side by side, the largest first, and the rest by elements. One row less
// than a block comes with the row before, which is written again.
template <class Word, class... Blocks>
void gather_rows(const PackSource& source, std::int64_t stride, void* to) {
  const auto* from = static_cast<const Word*>(source.data);
  auto* rows = static_cast<Word*>(to);
  std::int64_t row = 0;
  const auto gather = [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = row; r < row + count; ++r) {
      for (std::int64_t d = first; d < source.depth; ++d) {
        rows[r * stride + d] = from[r * source.along_stride + d * source.depth_stride];
      }
    }
  };
  [[maybe_unused]] const auto transpose = [&](auto block) {
    using Block = decltype(block);
    for (; source.along_stride == 1 && row < source.along; row += Block::kRows) {
      const std::int64_t left = source.along - row;
      if (left < Block::kRows) {
        if (source.along < Block::kRows || left + 1 < Block::kRows) return;
        row = source.along - Block::kRows;
      }
      const std::int64_t whole = source.depth / Block::kDepth * Block::kDepth;
      for (std::int64_t d = 0; d < whole; d += Block::kDepth) {
        Block::transpose(from + row + d * source.depth_stride, source.depth_stride,
                         rows + row * stride + d, stride);
      }
      gather(whole, Block::kRows);
    }
  };
  (transpose(Blocks{}), ...);
  gather(0, source.along - row);
}

template <int Size>
void copy_rows_apart(const PackSource& source, void* to) {
  copy_rows(source, Size, copied_stride(source.depth, Size), to);
}

}  // namespace

std::int64_t copied_stride(std::int64_t depth, int element_size) {
  const std::int64_t line = static_cast<std::int64_t>(kCacheLine) / element_size;
  return ((depth + line - 1) / line | 1) * line;
}

void copy_rows(const PackSource& source, int element_size, std::int64_t stride, void* to) {
  if (source.depth_stride != 1) {
    switch (element_size) {
      case 1:
        return gather_rows<std::uint8_t, FourRowsOf8Bits, TwoRowsOf8Bits>(source, stride, to);
      case 2:
        return gather_rows<std::uint16_t, FourRowsOf16Bits, TwoRowsOf16Bits>(source, stride, to);
      case 4:
        return gather_rows<std::uint32_t, FourRowsOf32Bits, TwoRowsOf32Bits>(source, stride, to);
      default:
        return gather_rows<std::uint64_t, TwoRowsOf64Bits>(source, stride, to);
    }
  }
  const auto* from = static_cast<const unsigned char*>(source.data);
  auto* row = static_cast<unsigned char*>(to);
  const auto bytes = static_cast<std::size_t>(source.depth * element_size);
  for (std::int64_t r = 0; r < source.along; ++r) {
    std::memcpy(row, from, bytes);
    row += stride * element_size;
    from += source.along_stride * element_size;
  }
}

CopyRows row_copier(int element_size) {
  switch (element_size) {
    case 1:
      return copy_rows_apart<1>;
    case 2:
      return copy_rows_apart<2>;
    case 4:
      return copy_rows_apart<4>;
    default:
      return copy_rows_apart<8>;
  }
}

}  // namespace tessera::cpu
