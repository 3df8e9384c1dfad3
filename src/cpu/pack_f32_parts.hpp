// Packs f32 in parts of bf16 (split_f32.hpp) for AMX's tile registers: strips of 32 rows of A and
// panels of 32 columns of B, chunk by chunk of 32 of k, each chunk its first parts, then its second
// and third ones. Of a chunk, k and k + 16 are a pair, so that a pair of A's elements, and of rows
// of B, is two vectors whose halves are put together. Behind each panel lies its range; one that
// parts do not hold has whole elements in place of them, those of a chunk side by side.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/kernel.hpp"
#include "cpu/rearrange_avx512.hpp"
#include "cpu/split_f32.hpp"
#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

// So many rows of k in a chunk, and elements of a line.
constexpr int kDepthOfF32 = 32;
constexpr int kLineOfF32 = 16;
constexpr std::int64_t kChunkBytesOfF32 = kPartsOfF32 * kChunkBytesA;
static_assert(kChunkBytesA == kChunkBytesB && kDepthOfF32 == kBlock);
static_assert(kBlock * kBlock * 4 <= kChunkBytesOfF32);  // whole elements find room

// Where a panel's range is collected, and kept: behind it.
inline unsigned char* range_of(unsigned char* panel, std::int64_t panel_bytes) {
  return panel + panel_bytes - RangeSoFar::kBytes;
}

// A matrix of f32: rows of A, or columns of B, along its first axis.
struct F32Source {
  const float* data;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t row_stride;
  std::int64_t col_stride;
};

// Up to 32×32 elements of it side by side, from a place on; what is missing is zero.
using F32Block = float[kBlock][kBlock];

inline void gather(const F32Source& source, std::int64_t row, std::int64_t col, F32Block& block) {
  const int rows = some_of(source.rows - row, kBlock);
  const int cols = some_of(source.cols - col, kBlock);
  const float* const from = source.data + row * source.row_stride + col * source.col_stride;
  if (source.row_stride == 1 && rows == kBlock && cols == kBlock) {
    for (int left = 0; left < kBlock; left += kLineOfF32) {
      for (int above = 0; above < kBlock; above += kLineOfF32) {
        TransposeRows::lines_to_columns(
            [&](int i) __attribute__((always_inline)) {
              return from + (left + i) * source.col_stride + above;
            },
            reinterpret_cast<std::uint32_t*>(&block[above][left]), kBlock, 0);
      }
    }
    return;
  }
  __builtin_memset(block, 0, sizeof(F32Block));
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c)
      block[r][c] = from[r * source.row_stride + c * source.col_stride];
  }
}

// Two lines of 16 elements, 16 of k apart, as a line of pairs of each part.
[[gnu::always_inline]] inline void store_pairs(__m512i one, __m512i other, RangeSoFar& range,
                                               unsigned char* to) {
  const PartsOfF32 of_one = parts_of_f32(one);
  const PartsOfF32 of_other = parts_of_f32(other);
#pragma GCC unroll 3
  for (int part = 0; part < kPartsOfF32; ++part) {
    const __m512i low = _mm512_srli_epi32(of_one.parts[part], 16);
    const __m512i pairs = _mm512_or_si512(low, of_other.parts[part]);
    _mm512_storeu_si512(to + part * kChunkBytesA, pairs);
    if (part == 0) range.take(pairs, of_one, of_other);
  }
}

// A line of a row that has so many elements, from one on.
[[gnu::always_inline]] inline __m512i line_of(const float* row, std::int64_t elements,
                                              std::int64_t first) {
  const std::int64_t left = elements - first;
  if (left >= kLineOfF32) return _mm512_loadu_si512(row + first);
  if (left <= 0) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi32(TransposeRows::first_of(static_cast<int>(left)), row + first);
}

// As it is, where parts do not hold its elements: A's rows along k, or rows of k.
inline void pack_whole(const F32Source& source, std::int64_t first, bool is_a,
                       unsigned char* panel) {
  const std::int64_t depth = is_a ? source.cols : source.rows;
  for (std::int64_t k = 0; k < depth; k += kDepthOfF32, panel += kChunkBytesOfF32) {
    gather(source, is_a ? first : k, is_a ? k : first, *reinterpret_cast<F32Block*>(panel));
  }
}

// Leaves a panel's range behind it.
inline void end_panel(const F32Source& source, std::int64_t first, bool is_a,
                      const RangeSoFar& so_far, unsigned char* panel, std::int64_t panel_bytes) {
  const PanelRange range = so_far.range();
  if (range.is_whole != 0) pack_whole(source, first, is_a, panel);
  unsigned char* const behind = range_of(panel, panel_bytes);
  __builtin_memset(behind, 0, RangeSoFar::kBytes);
  __builtin_memcpy(behind, &range, sizeof(range));
}

// A strip of A's rows.
inline void pack_strip(const F32Source& source, std::int64_t first, unsigned char* panel,
                       std::int64_t panel_bytes) {
  constexpr std::int64_t kChunksOfRow = 4;  // before the next row's: pack_strips.hpp
  const int rows = some_of(source.rows - first, kBlock);
  RangeSoFar range;
  const auto pack_row = [&](const float* row, std::int64_t elements, unsigned char* to)
      __attribute__((always_inline)) {
    store_pairs(line_of(row, elements, 0), line_of(row, elements, kLineOfF32), range, to);
  };
  if (source.col_stride == 1) {
    constexpr std::int64_t kTogether = kChunksOfRow * kDepthOfF32;
    for (std::int64_t begin = 0; begin < source.cols; begin += kTogether) {
      const std::int64_t end = begin + some_of(source.cols - begin, kTogether);
      for (int row = 0; row < rows; ++row) {
        const float* from = source.data + (first + row) * source.row_stride + begin;
        unsigned char* to = panel + begin / kDepthOfF32 * kChunkBytesOfF32 + row * kRowBytes;
        for (std::int64_t k = begin; k < end;
             k += kDepthOfF32, from += kDepthOfF32, to += kChunkBytesOfF32) {
          pack_row(from, source.cols - k, to);
        }
      }
    }
  } else {
    alignas(64) F32Block block;
    unsigned char* to = panel;
    for (std::int64_t k = 0; k < source.cols; k += kDepthOfF32, to += kChunkBytesOfF32) {
      gather(source, first, k, block);
      for (int row = 0; row < rows; ++row) pack_row(block[row], kBlock, to + row * kRowBytes);
    }
  }
  end_panel(source, first, true, range, panel, panel_bytes);
}

// Columns of B, all panels together so that its rows are read as a few long streams.
inline void pack_rows_of_k(const F32Source& source, unsigned char* panels,
                           std::int64_t panel_bytes) {
  constexpr int kTogether = 4;  // pairs of rows
  const auto line_of_k = [&](std::int64_t row, std::int64_t col, std::int64_t first)
      __attribute__((always_inline)) {
    if (row >= source.rows) return _mm512_setzero_si512();
    return line_of(source.data + row * source.row_stride + col, source.cols - col, first);
  };
  const auto panel_at = [&](std::int64_t col) { return panels + col / kBlock * panel_bytes; };
  for (std::int64_t col = 0; col < source.cols; col += kBlock) {
    RangeSoFar().store(range_of(panel_at(col), panel_bytes));
  }
  for (std::int64_t k = 0; k < source.rows; k += kDepthOfF32) {
    for (int pair = 0; pair < kLineOfF32; pair += kTogether) {
      for (std::int64_t col = 0; col < source.cols; col += kBlock) {
        unsigned char* const panel = panel_at(col);
        unsigned char* const behind = range_of(panel, panel_bytes);
        RangeSoFar range = RangeSoFar::load(behind);
        unsigned char* to = panel + k / kDepthOfF32 * kChunkBytesOfF32 + pair * kPitchB;
        for (int i = pair; i < pair + kTogether; ++i, to += kPitchB) {
          for (int half = 0; half < 2; ++half) {
            const std::int64_t first = half * kLineOfF32;
            store_pairs(line_of_k(k + i, col, first), line_of_k(k + i + kLineOfF32, col, first),
                        range, to + half * kRowBytes);
          }
        }
        range.store(behind);
      }
    }
  }
  for (std::int64_t col = 0; col < source.cols; col += kBlock) {
    const RangeSoFar range = RangeSoFar::load(range_of(panel_at(col), panel_bytes));
    end_panel(source, col, false, range, panel_at(col), panel_bytes);
  }
}

// The same, panel by panel.
inline void pack_columns(const F32Source& source, unsigned char* panels, std::int64_t panel_bytes) {
  alignas(64) F32Block block;
  for (std::int64_t col = 0; col < source.cols; col += kBlock, panels += panel_bytes) {
    RangeSoFar range;
    unsigned char* to = panels;
    for (std::int64_t k = 0; k < source.rows; k += kDepthOfF32, to += kChunkBytesOfF32) {
      gather(source, k, col, block);
      for (int pair = 0; pair < kLineOfF32; ++pair) {
        for (int half = 0; half < 2; ++half) {
          const __m512i first = _mm512_load_si512(&block[pair][half * kLineOfF32]);
          const __m512i second = _mm512_load_si512(&block[pair + kLineOfF32][half * kLineOfF32]);
          store_pairs(first, second, range, to + pair * kPitchB + half * kRowBytes);
        }
      }
    }
    end_panel(source, col, false, range, panels, panel_bytes);
  }
}

// What CodeAmx (isa_amx.cpp) asks of its panels.
struct PanelsOfF32 {
  using SourceB = float;
  static constexpr int kElement = 2;  // bytes of a part
  static constexpr int kDepth = kDepthOfF32;
  static constexpr int kParts = kPartsOfF32;
  static constexpr int kExtra = static_cast<int>(RangeSoFar::kBytes);
  static constexpr int kGroup = 2;
  static constexpr bool kShortens = false;

  static std::int64_t padded(std::int64_t depth) { return (depth + kDepth - 1) / kDepth * kDepth; }
  static std::int64_t padded_b(std::int64_t depth) { return padded(depth); }
  static std::int64_t panel_bytes(std::int64_t depth) {
    return padded(depth) / kDepth * kChunkBytesOfF32 + kExtra;
  }
  static int row_bytes(std::int64_t) { return kRowBytes; }

  static void pack_a(const PackSource& source, void* panels) {
    const F32Source rows{static_cast<const float*>(source.data), source.along, source.depth,
                         source.along_stride, source.depth_stride};
    auto* panel = static_cast<unsigned char*>(panels);
    const std::int64_t bytes = panel_bytes(source.depth);
    for (std::int64_t row = 0; row < rows.rows; row += kBlock, panel += bytes) {
      pack_strip(rows, row, panel, bytes);
    }
  }
  static void pack_b(const PackSource& source, void* panels) {
    const F32Source rows{static_cast<const float*>(source.data), source.depth, source.along,
                         source.depth_stride, source.along_stride};
    auto* panel = static_cast<unsigned char*>(panels);
    rows.col_stride == 1 ? pack_rows_of_k(rows, panel, panel_bytes(source.depth))
                         : pack_columns(rows, panel, panel_bytes(source.depth));
  }

  static PanelRange range_behind(const BlockOperand& operand, std::int64_t number) {
    PanelRange range;
    __builtin_memcpy(&range, panel_of(operand, number) + operand.panel_bytes - kExtra,
                     sizeof(range));
    return range;
  }
};

}  // namespace
}  // namespace tessera::cpu
