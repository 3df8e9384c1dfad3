// Packs f64 by residues (residues_of_f64.hpp) for AMX's tile registers: strips of 32 rows of A and
// panels of 32 columns of B. A panel is the residues of all its elements modulo the first number,
// then modulo the second and so on; each of these planes comes in chunks of 64 of k. Of a chunk k,
// k + 16, k + 32 and k + 48 are a group, so that those are four vectors whose bytes are put
// together. Behind the planes lies what sums are multiplied with, and where the elements are.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "core/tile_registers_rule.hpp"
#include "cpu/kernel.hpp"
#include "cpu/rearrange_avx512.hpp"
#include "cpu/residues_of_f64.hpp"
#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

constexpr int kDepthOfChunk = kRowBytes;  // of k in a chunk
constexpr int kLanesOfF64 = 8;
constexpr int kGroupsOfChunk = 16;  // of four of k
static_assert(kChunkBytesA == kChunkBytesB && 4 * kGroupsOfChunk == kDepthOfChunk);

// From plane to plane, so that an element's residues are not all in one set of the nearest cache.
constexpr std::int64_t kBytesBetweenPlanes = 192;
constexpr std::int64_t plane_bytes(std::int64_t chunks) {
  return chunks * kChunkBytesA + kBytesBetweenPlanes;
}

// Part of the caller's A or B: rows of A, or columns of B, along its `along` axis.
struct F64Source {
  const double* data = nullptr;
  std::int64_t along = 0;
  std::int64_t depth = 0;
  std::int64_t along_stride = 0;
  std::int64_t depth_stride = 0;

  const double* at(std::int64_t i, std::int64_t k) const {
    return data + i * along_stride + k * depth_stride;
  }
  F64Source part(std::int64_t first, int most) const {
    return {at(first, 0), some_of(along - first, most), depth, along_stride, depth_stride};
  }
};

// What lies behind a panel.
struct BehindResidues {
  double from_integers[kBlock];
  F64Source source;       // of the panel's rows or columns alone
  std::int64_t are_held;  // by residues, all of them
  std::int64_t padding[2];
};

// A row's, or a column's: what makes integers of its elements and back, and a size that most of
// these have to have (may_be_even()). No power of two is so large or small that products, or what
// they are put together from, leave f64's range.
struct ScaleOfLine {
  double to_integers = 1;
  double from_integers = 1;
  double least = 0;
  bool is_held = true;
};

inline ScaleOfLine scale_of(const F64Source& source, std::int64_t line, double squares) {
  constexpr double kMostSquares = 0x1p600;
  constexpr double kPartOfMean = 0.125;
  ScaleOfLine scale;
  if (squares == 0) {
    // Of zeros, or of what is so small that its squares are.
    for (std::int64_t k = 0; k < source.depth; ++k) scale.is_held &= *source.at(line, k) == 0;
    return scale;
  }
  // Not of a NaN.
  scale.is_held = squares >= 1 / kMostSquares && squares <= kMostSquares;
  if (!scale.is_held) return scale;
  const double norm = __builtin_sqrt(squares);
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, kMostNorm / norm);
  scale.to_integers = __builtin_bit_cast(double, bits >> 52 << 52);
  scale.from_integers = 1 / scale.to_integers;
  const double mean = norm / __builtin_sqrt(static_cast<double>(source.depth));
  scale.least = kPartOfMean * mean * scale.to_integers;
  return scale;
}

// Three quarters of a line's elements have to be an eighth of their mean, the root of their
// squares', or more. Those of A and of B meet in half of k at least, so that Σ|x·y| ≥ ‖x‖·‖y‖/128.
// By how many of its first elements are so large: whether there can be enough.
inline bool may_be_even(std::int64_t large, std::int64_t so_many, std::int64_t depth) {
  return 4 * (so_many - large) <= depth;
}

inline __mmask8 first_of_eight(std::int64_t count) {
  return static_cast<__mmask8>(count <= 0 ? 0 : count >= kLanesOfF64 ? 0xff : (1 << count) - 1);
}

// Elements of a row that has so many, from one on; zeros behind its end.
[[gnu::always_inline]] inline __m512d eight_of(const double* row, std::int64_t elements,
                                               std::int64_t first) {
  const std::int64_t left = elements - first;
  if (left >= kLanesOfF64) return _mm512_loadu_pd(row + first);
  return _mm512_maskz_loadu_pd(first_of_eight(left), row + (left > 0 ? first : 0));
}

// The sum of each line's squares. Many lines that lie side by side are read as a few long streams.
inline void squares_of(const F64Source& source, double* squares) {
  if (source.depth_stride == 1) {
    for (std::int64_t i = 0; i < source.along; ++i) {
      const double* const row = source.at(i, 0);
      __m512d sums[4] = {};
      for (std::int64_t k = 0; k < source.depth; k += 4 * kLanesOfF64) {
#pragma GCC unroll 4
        for (int part = 0; part < 4; ++part) {
          const __m512d elements = eight_of(row, source.depth, k + part * kLanesOfF64);
          sums[part] = _mm512_fmadd_pd(elements, elements, sums[part]);
        }
      }
      squares[i] = _mm512_reduce_add_pd(
          _mm512_add_pd(_mm512_add_pd(sums[0], sums[1]), _mm512_add_pd(sums[2], sums[3])));
    }
    return;
  }
  __builtin_memset(squares, 0, static_cast<std::size_t>(source.along) * sizeof(*squares));
  if (source.along_stride != 1) {
    for (std::int64_t i = 0; i < source.along; ++i) {
      for (std::int64_t k = 0; k < source.depth; ++k)
        squares[i] += *source.at(i, k) * *source.at(i, k);
    }
    return;
  }
  constexpr std::int64_t kRowsTogether = 8;
  for (std::int64_t first = 0; first < source.depth; first += kRowsTogether) {
    const std::int64_t end = first + some_of(source.depth - first, kRowsTogether);
    for (std::int64_t i = 0; i < source.along; i += kLanesOfF64) {
      const __mmask8 mask = first_of_eight(source.along - i);
      __m512d sum = _mm512_maskz_loadu_pd(mask, squares + i);
      for (std::int64_t k = first; k < end; ++k) {
        const __m512d elements = _mm512_maskz_loadu_pd(mask, source.at(i, k));
        sum = _mm512_fmadd_pd(elements, elements, sum);
      }
      _mm512_mask_storeu_pd(squares + i, mask, sum);
    }
  }
}

// So deep that sums of residues' products are 2^30 at most in size.
constexpr std::int64_t kMostDepthOfResidues = 65536;

// Quotients are found by rounding to the nearest, which a thread may have asked its processor not
// to do. Vectors then round as it has: so A's strips, at least, are packed by who multiplies them.
inline bool rounds_to_nearest() {
  return (_mm_getcsr() & _MM_ROUND_MASK) == _MM_ROUND_NEAREST;
}

// Lines' scales, and what is multiplied with their sums behind their panel. Lines that are not
// there are zeros.
inline void begin_panel(const F64Source& panel, const double* squares, ScaleOfLine* scales,
                        BehindResidues& behind) {
  behind.source = panel;
  const bool may_be_held = panel.depth <= kMostDepthOfResidues && rounds_to_nearest();
  behind.are_held = static_cast<std::int64_t>(may_be_held);
  for (int i = 0; i < kBlock; ++i) {
    scales[i] = i < panel.along ? scale_of(panel, i, squares[i]) : ScaleOfLine();
    behind.from_integers[i] = scales[i].from_integers;
    behind.are_held &= static_cast<std::int64_t>(scales[i].is_held);
  }
}

// Elements side by side, lines of so many.
template <int Lines, int Length>
using F64Block = double[Lines][Length];

// A panel's elements of a chunk, lines along k or, of columns in rows of k, across; zeros where
// there are none.
template <int Lines, int Length>
void gather(const F64Source& source, std::int64_t k, F64Block<Lines, Length>& block) {
  constexpr bool kAlongK = Length == kDepthOfChunk;
  const std::int64_t depth = some_of(source.depth - k, kDepthOfChunk);
  const bool is_whole = source.along == (kAlongK ? Lines : Length) && depth == kDepthOfChunk;
  const std::int64_t across = kAlongK ? source.depth_stride : source.along_stride;
  const std::int64_t dense = kAlongK ? source.along_stride : source.depth_stride;
  if (is_whole && dense == 1) {
    for (int line = 0; line < Lines; line += kLanesOfF64) {
      for (int at = 0; at < Length; at += kLanesOfF64) {
        const double* const from = kAlongK ? source.at(line, k + at) : source.at(at, k + line);
        TransposeRows::lines_to_columns(
            [&](int i) __attribute__((always_inline)) { return from + i * across; },
            reinterpret_cast<std::uint64_t*>(&block[line][at]), Length, 0);
      }
    }
    return;
  }
  __builtin_memset(block, 0, sizeof(block));
  for (std::int64_t i = 0; i < source.along; ++i) {
    for (std::int64_t at = 0; at < depth; ++at) {
      (kAlongK ? block[i][at] : block[at][i]) = *source.at(i, k + at);
    }
  }
}
using ChunkOfRows = F64Block<kBlock, kDepthOfChunk>;
using ChunkOfColumns = F64Block<kDepthOfChunk, kBlock>;

// Eight elements as integers, and which of them are large.
struct EightIntegers {
  __m512i integers;
  __mmask8 are_large;
};
[[gnu::always_inline]] inline EightIntegers integers_of(__m512d elements, __m512d to_integers,
                                                        __m512d least) {
  const __m512d scaled = _mm512_mul_pd(elements, to_integers);
  return {_mm512_cvtpd_epi64(scaled), _mm512_cmp_pd_mask(_mm512_abs_pd(scaled), least, _CMP_GE_OQ)};
}

// A row's elements of a chunk as a line of each plane; returns how many are large, of those that
// are there.
[[gnu::always_inline]] inline int store_row(const double* row, std::int64_t elements,
                                            const ScaleOfLine& scale, unsigned char* to,
                                            std::int64_t plane) {
  const __m512d to_integers = _mm512_set1_pd(scale.to_integers);
  const __m512d least = _mm512_set1_pd(scale.least);
  Integers integers[4];
  int large = 0;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    EightIntegers eights[2];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int first = (2 * i + half) * kLanesOfF64;
      eights[half] = integers_of(eight_of(row, elements, first), to_integers, least);
      large += __builtin_popcount(eights[half].are_large & first_of_eight(elements - first));
    }
    integers[i] = halves_of(eights[0].integers, eights[1].integers);
  }
  for (int i = 0; i < kModuli; ++i, to += plane) {
    _mm512_storeu_si512(to, residues_of<true>(integers, i));
  }
  return large;
}

// A strip of A's rows.
inline void pack_residues_of_strip(const F64Source& strip, unsigned char* panel, std::int64_t plane,
                                   BehindResidues& behind) {
  double squares[kBlock];
  ScaleOfLine scales[kBlock];
  squares_of(strip, squares);
  begin_panel(strip, squares, scales, behind);
  const bool lies_along_k = strip.depth_stride == 1;
  alignas(64) ChunkOfRows block;
  std::int64_t large[kBlock] = {};
  for (std::int64_t k = 0; k < strip.depth && behind.are_held != 0;
       k += kDepthOfChunk, panel += kChunkBytesA) {
    unsigned char* to = panel;
    const std::int64_t left = some_of(strip.depth - k, kDepthOfChunk);
    if (!lies_along_k) gather(strip, k, block);
    for (std::int64_t row = 0; row < strip.along; ++row, to += kRowBytes) {
      const double* const elements = lies_along_k ? strip.at(row, k) : block[row];
      large[row] += store_row(elements, left, scales[row], to, plane);
      if (!may_be_even(large[row], k + left, strip.depth)) behind.are_held = 0;
    }
  }
}

// Columns of B that are packed together, and how many of their elements are large.
constexpr int kColumnsPacked = 8 * kBlock;
struct ColumnScales {
  double to_integers[kColumnsPacked];
  double least[kColumnsPacked];
  std::int64_t large[kColumnsPacked];

  void begin(std::int64_t col, const ScaleOfLine* scales) {
    for (int i = 0; i < kBlock; ++i) {
      to_integers[col + i] = scales[i].to_integers;
      least[col + i] = scales[i].least;
      large[col + i] = 0;
    }
  }
  // By the first so many elements.
  bool may_be_even(std::int64_t col, const F64Source& panel, std::int64_t so_many) const {
    bool may_be = true;
    for (std::int64_t i = 0; i < panel.along; ++i) {
      may_be &= cpu::may_be_even(large[col + i], so_many, panel.depth);
    }
    return may_be;
  }
};

// A group of k of a panel's columns as a line of each plane, a half of them after the other.
// `eight_at`: the j-th of k's elements, some eight; of four there are so many rows.
template <class EightAt>
[[gnu::always_inline]] inline void store_group(const EightAt& eight_at, int rows, std::int64_t col,
                                               ColumnScales& scales, unsigned char* to,
                                               std::int64_t plane) {
  for (int half = 0; half < 2; ++half, to += kChunkBytesB / 2) {
    Integers integers[4];
    const std::int64_t first = col + half * 2 * kLanesOfF64;
    __m512i large[2] = {_mm512_loadu_si512(scales.large + first),
                        _mm512_loadu_si512(scales.large + first + kLanesOfF64)};
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      EightIntegers eights[2];
#pragma GCC unroll 2
      for (int eight = 0; eight < 2; ++eight) {
        const std::int64_t at = first + eight * kLanesOfF64;
        eights[eight] =
            integers_of(eight_at(j, 2 * half + eight), _mm512_loadu_pd(scales.to_integers + at),
                        _mm512_loadu_pd(scales.least + at));
        const __mmask8 counted = j < rows ? eights[eight].are_large : __mmask8{0};
        large[eight] =
            _mm512_mask_sub_epi64(large[eight], counted, large[eight], _mm512_set1_epi64(-1));
      }
      integers[j] = halves_of(eights[0].integers, eights[1].integers);
    }
    _mm512_storeu_si512(scales.large + first, large[0]);
    _mm512_storeu_si512(scales.large + first + kLanesOfF64, large[1]);
    unsigned char* line = to;
    for (int i = 0; i < kModuli; ++i, line += plane) {
      _mm512_storeu_si512(line, residues_of<false>(integers, i));
    }
  }
}

// Up to kColumnsPacked columns of B: in rows of k all panels together, so that its rows are read as
// a few long streams, and otherwise a chunk of a panel at a time.
inline void pack_residues_of_columns(const F64Source& columns, unsigned char* panels,
                                     std::int64_t plane, std::int64_t panel_bytes) {
  ColumnScales scales;
  double squares[kColumnsPacked];
  squares_of(columns, squares);
  const auto behind = [&](std::int64_t col) -> BehindResidues& {
    unsigned char* const panel = panels + col / kBlock * panel_bytes;
    return *reinterpret_cast<BehindResidues*>(panel + kModuli * plane);
  };
  for (std::int64_t col = 0; col < columns.along; col += kBlock) {
    ScaleOfLine of_panel[kBlock];
    begin_panel(columns.part(col, kBlock), squares + col, of_panel, behind(col));
    scales.begin(col, of_panel);
  }
  const bool lies_in_rows = columns.along_stride == 1;
  alignas(64) ChunkOfColumns block;
  for (std::int64_t k = 0; k < columns.depth; k += kDepthOfChunk) {
    const auto store = [&](std::int64_t col, int group) __attribute__((always_inline)) {
      unsigned char* const to = panels + col / kBlock * panel_bytes +
                                k / kDepthOfChunk * kChunkBytesB + group * kRowBytes;
      const std::int64_t left = columns.depth - k - group;
      const int rows = some_of((left + kGroupsOfChunk - 1) / kGroupsOfChunk, 4);
      store_group(
          [&](int j, int eight) __attribute__((always_inline)) {
            if (!lies_in_rows) {
              return _mm512_load_pd(block[group + j * kGroupsOfChunk] + eight * kLanesOfF64);
            }
            if (j >= rows) return _mm512_setzero_pd();
            const double* const row = columns.at(0, k + group + j * kGroupsOfChunk);
            return eight_of(row, columns.along, col + eight * kLanesOfF64);
          },
          rows, col, scales, to, plane);
    };
    if (lies_in_rows) {
      for (int group = 0; group < kGroupsOfChunk; ++group) {
        for (std::int64_t col = 0; col < columns.along; col += kBlock) {
          if (behind(col).are_held != 0) store(col, group);
        }
      }
    } else {
      for (std::int64_t col = 0; col < columns.along; col += kBlock) {
        if (behind(col).are_held == 0) continue;
        gather(columns.part(col, kBlock), k, block);
        for (int group = 0; group < kGroupsOfChunk; ++group) store(col, group);
      }
    }
    const std::int64_t so_many = k + some_of(columns.depth - k, kDepthOfChunk);
    for (std::int64_t col = 0; col < columns.along; col += kBlock) {
      BehindResidues& panel = behind(col);
      if (panel.are_held == 0) continue;
      panel.are_held = static_cast<std::int64_t>(scales.may_be_even(col, panel.source, so_many));
    }
  }
}

// What the kernel (isa_amx_f64.cpp) asks of its panels.
struct PanelsOfResidues {
  // Behind a panel's residues, and between its planes.
  static constexpr int kExtra =
      static_cast<int>(sizeof(BehindResidues) + kModuli * kBytesBetweenPlanes);

  static std::int64_t chunks_of(std::int64_t depth) {
    return (depth + kDepthOfChunk - 1) / kDepthOfChunk;
  }
  static F64Source source_of(const PackSource& source) {
    return {static_cast<const double*>(source.data), source.along, source.depth,
            source.along_stride, source.depth_stride};
  }
  static std::int64_t panel_bytes(std::int64_t plane) {
    return kModuli * plane + static_cast<std::int64_t>(sizeof(BehindResidues));
  }

  static void pack_a(const PackSource& source, void* panels) {
    const F64Source rows = source_of(source);
    const std::int64_t plane = plane_bytes(chunks_of(rows.depth));
    auto* panel = static_cast<unsigned char*>(panels);
    for (std::int64_t row = 0; row < rows.along; row += kBlock, panel += panel_bytes(plane)) {
      pack_residues_of_strip(rows.part(row, kBlock), panel, plane,
                             *reinterpret_cast<BehindResidues*>(panel + kModuli * plane));
    }
  }
  static void pack_b(const PackSource& source, void* panels) {
    const F64Source columns = source_of(source);
    const std::int64_t plane = plane_bytes(chunks_of(columns.depth));
    auto* panel = static_cast<unsigned char*>(panels);
    for (std::int64_t col = 0; col < columns.along; col += kColumnsPacked) {
      pack_residues_of_columns(columns.part(col, kColumnsPacked),
                               panel + col / kBlock * panel_bytes(plane), plane,
                               panel_bytes(plane));
    }
  }

  static const BehindResidues& behind(const BlockOperand& operand, std::int64_t number,
                                      std::int64_t plane) {
    return *reinterpret_cast<const BehindResidues*>(panel_of(operand, number) + kModuli * plane);
  }
};

}  // namespace
}  // namespace tessera::cpu
