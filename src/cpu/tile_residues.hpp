// Products of residues (residues_of_f64.hpp) in AMX's tile registers: blocks of 32×32 of C, modulo
// one number at a time, numbered as in tile_registers.hpp. A block's sums are taken modulo that
// number by vectors, some with each 64 of the next block's k, and a byte of each is kept.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/pack_f64_residues.hpp"
#include "cpu/residues_of_f64.hpp"
#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

constexpr int kSumsOfBlock = kBlock * kBlock;
constexpr int kLinesOfBlock = kSumsOfBlock / kRowBytes;  // of remainders

// Lines of what is multiplied next time, so many with each 64 of k.
struct LinesAhead {
  const unsigned char* next = nullptr;
  int at_once = 0;

  [[gnu::always_inline]] void fetch_some() {
    for (int line = 0; line < at_once; ++line, next += kRowBytes) __builtin_prefetch(next, 0, 2);
  }
};

// A strip and a panel of one plane.
struct PlanesOfBlock {
  const unsigned char* a = nullptr;
  const unsigned char* b = nullptr;
  std::int64_t chunks = 0;
  LinesAhead ahead_a;
  LinesAhead ahead_b;
};

class ResidueRegisters {
 public:
  ResidueRegisters() {
    TileConfiguration configuration;
    for (int tile = 0; tile < 8; ++tile) configuration.set(tile, kTileRows, kRowBytes);
    finish_stores();
    _tile_loadconfig(&configuration);
  }
  ResidueRegisters(const ResidueRegisters&) = delete;
  ResidueRegisters& operator=(const ResidueRegisters&) = delete;
  ~ResidueRegisters() { _tile_release(); }

  // The remainders of a block's sums go to `remainders`, at the latest when they are flushed.
  void multiply(const PlanesOfBlock& planes, int modulus, unsigned char* remainders) {
    std::int32_t* const sums = sums_[turn_];
    turn_ = 1 - turn_;
    const auto lines = static_cast<int>((kLinesOfBlock + planes.chunks - 1) / planes.chunks);
    const unsigned char* a = planes.a;
    const unsigned char* b = planes.b;
    LinesAhead ahead_a = planes.ahead_a;
    LinesAhead ahead_b = planes.ahead_b;
    finish_stores();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::int64_t chunk = 0; chunk < planes.chunks; ++chunk) {
      ahead_a.fetch_some();
      ahead_b.fetch_some();
      _tile_stream_loadd(4, a, kRowBytes);
      _tile_loadd(6, b, kRowBytes);
      _tile_dpbssd(0, 4, 6);
      _tile_loadd(7, b + kChunkBytesB / 2, kRowBytes);
      _tile_dpbssd(1, 4, 7);
      reduce_some(lines);
      _tile_stream_loadd(5, a + kChunkBytesA / 2, kRowBytes);
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
      a += kChunkBytesA;
      b += kChunkBytesB;
    }
    flush();
    store(sums);
    finish_stores();
    to_reduce_ = {sums, remainders, modulus, kLinesOfBlock};
  }

  void flush() { reduce_some(kLinesOfBlock); }

 private:
  struct SumsToReduce {
    const std::int32_t* sums = nullptr;
    unsigned char* to = nullptr;
    int modulus = 0;
    int left = 0;  // lines of remainders
  };

  [[gnu::always_inline]] static void store(std::int32_t* sums) {
    constexpr int kRow = kBlock * 4;
    _tile_stored(0, sums, kRow);
    _tile_stored(1, sums + kTileCols, kRow);
    _tile_stored(2, sums + kTileRows * kBlock, kRow);
    _tile_stored(3, sums + kTileRows * kBlock + kTileCols, kRow);
  }

  [[gnu::always_inline]] void reduce_some(int lines) {
    for (int line = some_of(to_reduce_.left, lines); line > 0; --line) {
      _mm512_storeu_si512(to_reduce_.to, residues_of_sums(to_reduce_.sums, to_reduce_.modulus));
      to_reduce_.sums += kRowBytes;
      to_reduce_.to += kRowBytes;
      --to_reduce_.left;
    }
  }

  // In turns: of the block that is multiplied, and of the one before.
  alignas(64) std::int32_t sums_[2][kSumsOfBlock];
  SumsToReduce to_reduce_;
  int turn_ = 0;
};

// The sums of a block, by remainders that lie `plane` bytes apart, divided by what their rows' and
// columns' elements were multiplied with. A line of remainders is of two rows: byte j of word l is
// that of the j-th sixteen's column l.
inline void put_together(const unsigned char* remainders, std::int64_t plane, const double* of_rows,
                         const double* of_columns, double* sums) {
  // Words that unpacking leaves side by side: those of one of the four sixteens.
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_set_epi64x(0x0f0b07030e0a0602, 0x0d0905010c080400));
  const __m512i offset = all_of(0x01010101U * ResidueTables::kOffset);
  for (int line = 0; line < kLinesOfBlock; ++line, remainders += kRowBytes) {
    SlotsOfSums slots[4];
#pragma GCC unroll 4
    for (int quad = 0; quad < kQuads; ++quad) {
      __m512i bytes[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const int modulus = 4 * quad + i;
        bytes[i] = offset;  // of the last slot, nothing
        if (modulus == kModuli) continue;
        const __m512i line_of = _mm512_loadu_si512(remainders + modulus * plane);
        bytes[i] = _mm512_xor_si512(_mm512_shuffle_epi8(line_of, order), offset);
      }
      const __m512i left[2] = {_mm512_unpacklo_epi8(bytes[0], bytes[1]),
                               _mm512_unpacklo_epi8(bytes[2], bytes[3])};
      const __m512i right[2] = {_mm512_unpackhi_epi8(bytes[0], bytes[1]),
                                _mm512_unpackhi_epi8(bytes[2], bytes[3])};
      slots[0].quads[quad] = _mm512_unpacklo_epi16(left[0], left[1]);
      slots[1].quads[quad] = _mm512_unpackhi_epi16(left[0], left[1]);
      slots[2].quads[quad] = _mm512_unpacklo_epi16(right[0], right[1]);
      slots[3].quads[quad] = _mm512_unpackhi_epi16(right[0], right[1]);
    }
    for (int sixteen = 0; sixteen < 4; ++sixteen) {
      const __m512d of_row = _mm512_set1_pd(of_rows[2 * line + sixteen / 2]);
      const int first = sixteen % 2 * 2 * kLanesOfF64;
      double* const to = sums + (2 * line + sixteen / 2) * kBlock + first;
      __m512d values[2];
      sums_of(slots[sixteen], values);
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        const __m512d of_column = _mm512_loadu_pd(of_columns + first + half * kLanesOfF64);
        const __m512d of_rows_alone = _mm512_mul_pd(values[half], of_row);
        _mm512_storeu_pd(to + half * kLanesOfF64, _mm512_mul_pd(of_rows_alone, of_column));
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
