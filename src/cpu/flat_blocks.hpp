// Flat blocks of C in AMX's tile registers: 16 rows by up to four registers of columns. With a
// short k most of the time is C's way to memory, and such blocks write each of its rows from end to
// end: 16 rows of A, where they lie, multiply all columns of B before the next ones.
//
// Registers 0 to 3 hold sums, from left to right, 4 rows of A, 5 and 6 columns of B, 7 those of sum
// 3, which alone may be narrower than a register: the end of C's rows. They are numbered in the
// instructions, so each use is written out.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

constexpr int kFlatSums = 4;
constexpr int kFlatCols = kFlatSums * kTileCols;

// The first bytes of B's columns, a register each.
struct FlatColumns {
  const unsigned char* of[kFlatSums] = {};
};

template <class Multiply>
class FlatRegisters {
 public:
  // `last_cols`: of C's last register; `depth_bytes` of k at a time, all of it where that is less
  // than 64.
  FlatRegisters(int rows, int last_cols, int depth_bytes)
      : last_cols_(last_cols), depth_bytes_(depth_bytes) {
    fit(rows);
  }
  FlatRegisters(const FlatRegisters&) = delete;
  FlatRegisters& operator=(const FlatRegisters&) = delete;
  ~FlatRegisters() { _tile_release(); }

  // For blocks of so many rows from now on. Takes as long as some products of tile registers.
  void fit(int rows) {
    if (rows == rows_) return;
    rows_ = rows;
    TileConfiguration configuration;
    for (int sum = 0; sum < kFlatSums; ++sum) configuration.set(sum, rows, kRowBytes);
    configuration.set(3, rows, 4 * last_cols_);
    const int groups = depth_bytes_ / 4;
    configuration.set(4, rows, depth_bytes_);
    configuration.set(5, groups, kRowBytes);
    configuration.set(6, groups, kRowBytes);
    configuration.set(7, groups, 4 * last_cols_);
    finish_stores();
    _tile_loadconfig(&configuration);
  }

  // to ← from + a·b over `chunks` of 64 bytes of k, one or more, in sums 0 to `full` - 1, and in
  // the last one, to the right of them, where `has_last`.
  void multiply(const Strip& a, const FlatColumns& b, std::int64_t chunks, int full, bool has_last,
                const SumPlace& from, const SumPlace& to) {
    finish_stores();
    switch (2 * full + static_cast<int>(has_last)) {
      case 1:
        return multiply_as<0, true>(a, b, chunks, from, to);
      case 2:
        return multiply_as<1, false>(a, b, chunks, from, to);
      case 3:
        return multiply_as<1, true>(a, b, chunks, from, to);
      case 4:
        return multiply_as<2, false>(a, b, chunks, from, to);
      case 5:
        return multiply_as<2, true>(a, b, chunks, from, to);
      case 6:
        return multiply_as<3, false>(a, b, chunks, from, to);
      default:
        return multiply_as<3, true>(a, b, chunks, from, to);
    }
  }

 private:
  // As many operands as there are registers for are loaded before products: Emerald Rapids, one
  // thread, 2026-11, eight products with 64 to 4096 of k, 1.04 and 1.01 times as fast in bf16 and
  // i8 so, with k up to 32 level. Behind those that read them, and sums stored among the next
  // block's products (tile_registers.hpp), nine of bf16 and of i8 0.95 and 0.96 times as fast
  // beside a busy hardware thread.
  template <int Full, bool Last>
  static void multiply_as(const Strip& a, const FlatColumns& b, std::int64_t chunks,
                          const SumPlace& from, const SumPlace& to) {
    const auto at = [](const SumPlace& place, int left) { return place.part(0, left); };
    if (from.at != nullptr) {
      if constexpr (Full > 0) _tile_loadd(0, at(from, 0), from.pitch);
      if constexpr (Full > 1) _tile_loadd(1, at(from, 1), from.pitch);
      if constexpr (Full > 2) _tile_loadd(2, at(from, 2), from.pitch);
      if constexpr (Last) _tile_loadd(3, at(from, Full), from.pitch);
    } else {
      if constexpr (Full > 0) _tile_zero(0);
      if constexpr (Full > 1) _tile_zero(1);
      if constexpr (Full > 2) _tile_zero(2);
      if constexpr (Last) _tile_zero(3);
    }
    Strip rows = a;
    std::int64_t along_k = 0;
    for (std::int64_t chunk = 1; chunk <= chunks; ++chunk) {
      _tile_loadd(4, rows.data, rows.pitch);
      if constexpr (Full > 0) _tile_loadd(5, b.of[0] + along_k, kPitchB);
      if constexpr (Full > 1) _tile_loadd(6, b.of[1] + along_k, kPitchB);
      if constexpr (Last) _tile_loadd(7, b.of[Full] + along_k, kPitchB);
      if constexpr (Full > 0) Multiply::flat_first();
      if constexpr (Full > 1) Multiply::flat_second();
      if constexpr (Last) Multiply::flat_last();
      if constexpr (Full > 2) {
        _tile_loadd(5, b.of[2] + along_k, kPitchB);
        Multiply::flat_third();
      }
      rows = rows.next(chunk + 1 == chunks);
      along_k += kChunkBytesB;
    }
    if constexpr (Full > 0) _tile_stored(0, at(to, 0), to.pitch);
    if constexpr (Full > 1) _tile_stored(1, at(to, 1), to.pitch);
    if constexpr (Full > 2) _tile_stored(2, at(to, 2), to.pitch);
    if constexpr (Last) _tile_stored(3, at(to, Full), to.pitch);
  }

  int last_cols_ = 0;
  int depth_bytes_ = kRowBytes;
  int rows_ = 0;
};

}  // namespace
}  // namespace tessera::cpu
