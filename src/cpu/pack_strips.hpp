// Packs A for AMX's tile registers: strips of 32 rows one after another, each as 64 bytes of every
// row, then the next 64. Rows that lie along k are copied, at any depth; what is missing of the
// last 64 bytes is zero. Where they lie across, groups of k are interleaved as B's are
// (ops_avx512.hpp), and transposed. Rows that a strip lacks are left as they are: no register is
// taller than the strip.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/kernel.hpp"
#include "cpu/ops_avx512.hpp"
#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

constexpr std::int64_t kChunkBytesA = kBlock * kRowBytes;

// One strip of rows that lie along k. So many bytes of a row are copied before the next row's:
// whole rows would lie 2 KB apart in the panel, and single lines come from pages of their own.
template <class Element>
void copy_strip(const Element* from, const PackSource& source, int rows, unsigned char* to) {
  constexpr int kBytesAtOnce = 8 * kRowBytes;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Element));
  const std::int64_t bytes = source.depth * kSize;
  const std::int64_t pitch = source.along_stride * kSize;
  const auto* first = reinterpret_cast<const unsigned char*>(from);
  for (std::int64_t begin = 0; begin < bytes; begin += kBytesAtOnce) {
    const std::int64_t end = begin + some_of(bytes - begin, kBytesAtOnce);
    for (int row = 0; row < rows; ++row) {
      const unsigned char* at = first + row * pitch + begin;
      unsigned char* out = to + begin / kRowBytes * kChunkBytesA + row * kRowBytes;
      std::int64_t left = end - begin;
      for (; left >= kRowBytes; left -= kRowBytes, at += kRowBytes, out += kChunkBytesA) {
        _mm512_storeu_si512(out, _mm512_loadu_si512(at));
      }
      if (left > 0) {
        const auto mask = (__mmask64{1} << static_cast<unsigned>(left)) - 1;
        _mm512_storeu_si512(out, _mm512_maskz_loadu_epi8(mask, at));
      }
    }
  }
}

// One strip of columns of k that lie across: of each row an element, side by side.
template <class Element>
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
    to += kChunkBytesA;
  }
}

// Whether there is code for it; else nothing is done.
template <class Element>
bool pack_strips(const PackSource& source, void* panels, std::int64_t panel_bytes) {
  if (source.depth_stride != 1 && source.along_stride != 1) return false;
  auto* to = static_cast<unsigned char*>(panels);
  for (std::int64_t row = 0; row < source.along; row += kBlock, to += panel_bytes) {
    const auto* from = static_cast<const Element*>(source.data) + row * source.along_stride;
    const int rows = some_of(source.along - row, kBlock);
    source.depth_stride == 1 ? copy_strip(from, source, rows, to)
                             : transpose_strip(from, source, rows, to);
  }
  return true;
}

}  // namespace
}  // namespace tessera::cpu
