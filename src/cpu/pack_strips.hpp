// Packs A for AMX's tile registers: strips of 32 rows one after another, each as 64 bytes of every
// row, then the next 64. Rows that lie along k are copied, at any depth; what is missing of the
// last 64 bytes is zero. Where they lie across, groups of k are interleaved as B's are
// (rearrange_avx512.hpp), and transposed. Rows that a strip lacks are left as they are: no register
// is taller than the strip. Elements that are multiplied in parts, A's and B's, are split here,
// too.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/kernel.hpp"
#include "cpu/ops_avx512.hpp"
#include "cpu/rearrange_avx512.hpp"
#include "cpu/split_f16.hpp"
#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

// What becomes of 64 bytes of packed operand: they stay as they are, or each element becomes parts
// (MultiplyBf16), the second ones a chunk behind the first.
struct WholeElements {
  static constexpr int kParts = 1;
  static void store(unsigned char* to, __m512i elements) { _mm512_storeu_si512(to, elements); }
};
struct TwoPartsOfF16 {
  static constexpr int kParts = 2;
  static_assert(kChunkBytesA == kChunkBytesB);
  static void store(unsigned char* to, __m512i elements) {
    const PartsOfF16 parts = parts_of_f16(elements);
    _mm512_storeu_si512(to, parts.first);
    _mm512_storeu_si512(to + kChunkBytesA, parts.second);
  }
};

// So many times 64 bytes of whole elements of a chunk, which may be where their first parts go.
template <class Parts>
void split_lines(const unsigned char* from, std::int64_t lines, unsigned char* to) {
  for (; lines > 0; --lines, from += kRowBytes, to += kRowBytes) {
    Parts::store(to, _mm512_loadu_si512(from));
  }
}

// One strip of rows that lie along k. So many bytes of a row are copied before the next row's:
// whole rows would lie 2 KB apart in the panel, and single lines come from pages of their own.
template <class Element, class Parts>
void copy_strip(const Element* from, const PackSource& source, int rows, unsigned char* to) {
  constexpr int kBytesAtOnce = 8 * kRowBytes;
  constexpr std::int64_t kStep = Parts::kParts * kChunkBytesA;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Element));
  const std::int64_t bytes = source.depth * kSize;
  const std::int64_t pitch = source.along_stride * kSize;
  const auto* first = reinterpret_cast<const unsigned char*>(from);
  for (std::int64_t begin = 0; begin < bytes; begin += kBytesAtOnce) {
    const std::int64_t end = begin + some_of(bytes - begin, kBytesAtOnce);
    for (int row = 0; row < rows; ++row) {
      const unsigned char* at = first + row * pitch + begin;
      unsigned char* out = to + begin / kRowBytes * kStep + row * kRowBytes;
      std::int64_t left = end - begin;
      for (; left >= kRowBytes; left -= kRowBytes, at += kRowBytes, out += kStep) {
        Parts::store(out, _mm512_loadu_si512(at));
      }
      if (left > 0) {
        const auto mask = (__mmask64{1} << static_cast<unsigned>(left)) - 1;
        Parts::store(out, _mm512_maskz_loadu_epi8(mask, at));
      }
    }
  }
}

// One strip of columns of k that lie across: of each row an element, side by side.
template <class Element, class Parts>
void transpose_strip(const Element* from, const PackSource& source, int rows, unsigned char* to) {
  constexpr int kGroup = 4 / static_cast<int>(sizeof(Element));
  constexpr int kGroups = kTileCols;  // in 64 bytes of a row
  const std::int64_t row_bytes = source.depth_stride * static_cast<std::int64_t>(sizeof(Element));
  alignas(64) std::uint32_t units[kGroups][kBlock];
  for (std::int64_t first = 0; first < source.depth; first += kGroups * kGroup) {
    for (int group = 0; group < kGroups; ++group) {
      const std::int64_t k = first + group * kGroup;
      const int count = some_of(source.depth - k, kGroup);
      const Element* at = from + k * source.depth_stride;
      if (count == kGroup && rows == kBlock) {
        TransposeRows::rows_to_units<Element, kGroup, kBlock>(at, row_bytes, units[group], 0);
      } else {
        TransposeRows::rows_to_units_at_edge<Element, kGroup, kBlock>(at, row_bytes, rows, count,
                                                                      units[group], 0);
      }
    }
    constexpr int kRows = TransposeRows::kTallChunk<std::uint32_t>;
    for (int row = 0; row < rows; row += kRows) {
      TransposeRows::tall_to_columns(
          [&](int group) __attribute__((always_inline)) { return &units[group][row]; },
          reinterpret_cast<std::uint32_t*>(to + row * kRowBytes), kTileCols, 0);
    }
    if constexpr (Parts::kParts > 1) split_lines<Parts>(to, rows, to);
    to += Parts::kParts * kChunkBytesA;
  }
}

// A panel of whole f16 to its parts: a chunk of those in its first half to a chunk and its second
// parts behind it, the last chunk first.
inline void split_panel(unsigned char* panel, std::int64_t panel_bytes) {
  for (std::int64_t at = panel_bytes / 2; at > 0;) {
    at -= kChunkBytesB;
    split_lines<TwoPartsOfF16>(panel + at, kChunkBytesB / kRowBytes, panel + 2 * at);
  }
}

// Panels of B's parts from rows that are dense, read as a few long streams (pack.hpp).
inline void interleave_parts(const PackSource& source, unsigned char* panels,
                             std::int64_t panel_bytes) {
  constexpr int kGroup = 2;
  constexpr std::int64_t kTogether = 4;
  constexpr std::int64_t kRow = kBlock * 4;
  const std::int64_t row_bytes = source.depth_stride * 2;
  const auto* data = static_cast<const char*>(source.data);
  const std::int64_t groups = panel_bytes / (2 * kRow);
  for (std::int64_t first = 0; first < groups; first += kTogether) {
    for (std::int64_t col = 0; col < source.along; col += kBlock) {
      unsigned char* to = panels + col / kBlock * panel_bytes +
                          first / kTileCols * 2 * kChunkBytesB + first % kTileCols * kRow;
      const int cols = some_of(source.along - col, kBlock);
      for (std::int64_t group = first; group < first + kTogether; ++group, to += kRow) {
        const int rows = some_of(source.depth - group * kGroup, kGroup);
        const char* at = data + group * kGroup * row_bytes + col * 2;
        std::uint32_t units[kBlock];
        if (rows == kGroup && cols == kBlock) {
          TransposeRows::rows_to_units<f16, kGroup, kBlock>(at, row_bytes, units, 0);
        } else {
          TransposeRows::rows_to_units_at_edge<f16, kGroup, kBlock>(at, row_bytes, cols, rows,
                                                                    units, 0);
        }
        TwoPartsOfF16::store(to, _mm512_loadu_si512(units));
        TwoPartsOfF16::store(to + kRowBytes, _mm512_loadu_si512(units + kTileCols));
      }
    }
  }
}

// Whether there is code for it; else nothing is done.
template <class Element, class Parts>
bool pack_strips(const PackSource& source, void* panels, std::int64_t panel_bytes) {
  if (source.depth_stride != 1 && source.along_stride != 1) return false;
  auto* to = static_cast<unsigned char*>(panels);
  for (std::int64_t row = 0; row < source.along; row += kBlock, to += panel_bytes) {
    const auto* from = static_cast<const Element*>(source.data) + row * source.along_stride;
    const int rows = some_of(source.along - row, kBlock);
    source.depth_stride == 1 ? copy_strip<Element, Parts>(from, source, rows, to)
                             : transpose_strip<Element, Parts>(from, source, rows, to);
  }
  return true;
}

}  // namespace
}  // namespace tessera::cpu
