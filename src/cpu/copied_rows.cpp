#include "cpu/copied_rows.hpp"

#include <emmintrin.h>

#include <cstring>

#include "cpu/cache_line.hpp"

namespace tessera::cpu {
namespace {

// Four by four elements. A product of 15×8×475 in f32, whose B is copied, takes 1.7 µs where single
// ones are moved, and 1.0 so (Zen 5, 2026-11).
void transpose_four(const std::uint32_t* from, std::int64_t from_stride, std::uint32_t* to,
                    std::int64_t to_stride) {
  const auto row = [&](int r) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + r * from_stride));
  };
  const auto store = [&](int r, __m128i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + r * to_stride), value);
  };
  const __m128i low01 = _mm_unpacklo_epi32(row(0), row(1));
  const __m128i high01 = _mm_unpackhi_epi32(row(0), row(1));
  const __m128i low23 = _mm_unpacklo_epi32(row(2), row(3));
  const __m128i high23 = _mm_unpackhi_epi32(row(2), row(3));
  store(0, _mm_unpacklo_epi64(low01, low23));
  store(1, _mm_unpackhi_epi64(low01, low23));
  store(2, _mm_unpacklo_epi64(high01, high23));
  store(3, _mm_unpackhi_epi64(high01, high23));
}

template <class Word>
void gather_rows(const PackSource& source, std::int64_t stride, void* to) {
  std::int64_t row = 0;
  const auto* from = static_cast<const Word*>(source.data);
  auto* rows = static_cast<Word*>(to);
  const auto gather = [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = row; r < row + count; ++r) {
      for (std::int64_t d = first; d < source.depth; ++d) {
        rows[r * stride + d] = from[r * source.along_stride + d * source.depth_stride];
      }
    }
  };
  if constexpr (sizeof(Word) == sizeof(std::uint32_t)) {
    for (; source.along_stride == 1 && row + 4 <= source.along; row += 4) {
      const std::int64_t fours = source.depth / 4 * 4;
      for (std::int64_t d = 0; d < fours; d += 4) {
        transpose_four(from + row + d * source.depth_stride, source.depth_stride,
                       rows + row * stride + d, stride);
      }
      gather(fours, 4);
    }
  }
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
        return gather_rows<std::uint8_t>(source, stride, to);
      case 2:
        return gather_rows<std::uint16_t>(source, stride, to);
      case 4:
        return gather_rows<std::uint32_t>(source, stride, to);
      default:
        return gather_rows<std::uint64_t>(source, stride, to);
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
