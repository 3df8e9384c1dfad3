// The products of tile registers, by type: which instruction multiplies which of the registers that
// tile_registers.hpp and flat_blocks.hpp number, and how many parts elements come in.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tessera::cpu {
namespace {

// `kParts`: how many parts an element is the sum of. A chunk of k has the first parts, then the
// second ones, and each part of A is multiplied by each of B. Of flat blocks: flat_blocks.hpp.
struct WholeElementsOnly {
  static constexpr int kParts = 1;
  static constexpr bool kAddsByVectors = false;  // a block's sums to those before it
  // Of a chunk, those that its first products take.
  static constexpr int kFirstPartA = 0;
  static constexpr int kFirstPartB = 0;
};
struct MultiplyBf16 : WholeElementsOnly {
  using Acc = float;
  static void upper_left() { _tile_dpbf16ps(0, 4, 6); }
  static void upper_right() { _tile_dpbf16ps(1, 4, 7); }
  static void lower_left() { _tile_dpbf16ps(2, 5, 6); }
  static void lower_right() { _tile_dpbf16ps(3, 5, 7); }
  static void flat_first() { _tile_dpbf16ps(0, 4, 5); }
  static void flat_second() { _tile_dpbf16ps(1, 4, 6); }
  static void flat_third() { _tile_dpbf16ps(2, 4, 5); }
  static void flat_last() { _tile_dpbf16ps(3, 4, 7); }
};
// Turned round, the parts change in the other order, so that the bits are the same.
template <bool Turned>
struct MultiplyTwoBf16 : MultiplyBf16 {
  static constexpr int kParts = 2;
  static constexpr bool kTurned = Turned;
};
// The products of three parts each but for those that are below f32's precision (split_f32.hpp).
template <bool Turned>
struct MultiplyThreeBf16 : MultiplyBf16 {
  static constexpr int kParts = 3;
  static constexpr bool kTurned = Turned;
  // Tile registers round each product of parts to the sum so far, and lose subnormal sums.
  static constexpr bool kAddsByVectors = true;
  // A chunk begins with one of the smallest, and one operand's part changes each time.
  static constexpr int kFirstPartA = Turned ? 0 : 2;
  static constexpr int kFirstPartB = Turned ? 2 : 0;
};
struct MultiplyI8I8 : WholeElementsOnly {
  using Acc = std::int32_t;
  static void upper_left() { _tile_dpbssd(0, 4, 6); }
  static void upper_right() { _tile_dpbssd(1, 4, 7); }
  static void lower_left() { _tile_dpbssd(2, 5, 6); }
  static void lower_right() { _tile_dpbssd(3, 5, 7); }
  static void flat_first() { _tile_dpbssd(0, 4, 5); }
  static void flat_second() { _tile_dpbssd(1, 4, 6); }
  static void flat_third() { _tile_dpbssd(2, 4, 5); }
  static void flat_last() { _tile_dpbssd(3, 4, 7); }
};
struct MultiplyU8I8 : WholeElementsOnly {
  using Acc = std::int32_t;
  static void upper_left() { _tile_dpbusd(0, 4, 6); }
  static void upper_right() { _tile_dpbusd(1, 4, 7); }
  static void lower_left() { _tile_dpbusd(2, 5, 6); }
  static void lower_right() { _tile_dpbusd(3, 5, 7); }
  static void flat_first() { _tile_dpbusd(0, 4, 5); }
  static void flat_second() { _tile_dpbusd(1, 4, 6); }
  static void flat_third() { _tile_dpbusd(2, 4, 5); }
  static void flat_last() { _tile_dpbusd(3, 4, 7); }
};
struct MultiplyI8U8 : WholeElementsOnly {
  using Acc = std::int32_t;
  static void upper_left() { _tile_dpbsud(0, 4, 6); }
  static void upper_right() { _tile_dpbsud(1, 4, 7); }
  static void lower_left() { _tile_dpbsud(2, 5, 6); }
  static void lower_right() { _tile_dpbsud(3, 5, 7); }
  static void flat_first() { _tile_dpbsud(0, 4, 5); }
  static void flat_second() { _tile_dpbsud(1, 4, 6); }
  static void flat_third() { _tile_dpbsud(2, 4, 5); }
  static void flat_last() { _tile_dpbsud(3, 4, 7); }
};

}  // namespace
}  // namespace tessera::cpu
