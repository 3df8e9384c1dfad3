// f64 by residues: tile registers multiply 8-bit integers 64 times as fast as vectors multiply f64,
// and an integer of many bits is known by its remainders of division by small numbers (the Chinese
// remainder theorem; Ozaki, Uchino and Imamura's second scheme). A row of A and a column of B are
// multiplied by powers of two, s and t, and rounded to integers X and Y. Modulo each of fifteen
// numbers p, no two of which have a common divisor, Σ X·Y is what the residues' products add up to,
// exactly, in 32 bits; and together these fifteen say what Σ X·Y is, as long as it is between -P/2
// and P/2, where P is the product of all p (118 bits). C is Σ X·Y / (s·t), rounded to f64: twice
// where Σ X·Y is above 2^101, and not at all where f64 holds it.
//
// s is the largest power of two with ‖X‖ ≤ kMostNorm, which is below √(P/2), and t likewise, so
// that |Σ X·Y| ≤ ‖X‖·‖Y‖ < P/2. What is lost is what rounding to integers takes, half a unit at
// most of elements that are 2^51 and more for k = 4096 in the root of their mean square.
// docs/f64_by_residues.md has bounds and measured errors.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "core/tile_registers_rule.hpp"

namespace tessera::cpu {
namespace {

constexpr int kModuli = kModuliOfF64;
constexpr int kModulus[kModuli] = {256, 255, 253, 251, 247, 241, 239, 233,
                                   229, 227, 223, 217, 211, 199, 197};

// √(P/2), less a part of it for what is rounded on the way, and for kSharesAt.
constexpr double kMostNorm = 0x1.3ap58;

// P/2 in units of 2^48 is below 2^69 and so is not a word's: sums are put together from digits of
// 8 bits, of which P has so many, and a quotient is found with one more.
constexpr int kBytesOfAll = 15;
constexpr int kDigitsOfSum = kBytesOfAll + 1;
// Bits behind the point of 1/p, which is as large as a byte then. What all p together lose is below
// 0.034, and |Σ X·Y| has to be below 1/2 - 0.034 of P.
constexpr int kSharesAt = 14;
constexpr int kQuads = 4;  // of slots: fifteen residues and, last, the quotient of division by P

// The remainder next to zero.
constexpr int centred(int value, int modulus) {
  const int rest = (value % modulus + modulus) % modulus;
  return 2 * rest > modulus - 1 ? rest - modulus : rest;
}

// P, or P / p for one of them, in signed digits of 8 bits.
struct ManyBytes {
  int digit[kBytesOfAll] = {};

  constexpr explicit ManyBytes(int without, int sign) {
    int bytes[kBytesOfAll + 1] = {1};
    for (const int modulus : kModulus) {
      if (modulus == without) continue;
      int carry = 0;
      for (int& byte : bytes) {
        const int value = byte * modulus + carry;
        byte = value % 256;
        carry = value / 256;
      }
    }
    int carry = 0;
    for (int i = 0; i < kBytesOfAll; ++i) {
      const int value = sign * bytes[i] + carry;
      digit[i] = centred(value, 256);
      carry = (value - digit[i]) / 256;
    }
  }
};

// What is multiplied with the bytes of an integer, or of four residues: `bytes` as one word each.
constexpr std::uint32_t four_bytes(const int* bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= (static_cast<std::uint32_t>(bytes[i]) & 0xffU) << (8 * i);
  return word;
}

// A float whose lower bits are those of an integer up to 2^22 in size that is added to it.
constexpr std::uint32_t kBitsOfMagic = 0x4b400000;
constexpr float kMagic = 0x1.8p23F;

// By which an integer's residue is found.
struct OfModulus {
  std::uint32_t weights[2];  // remainders of 256^i, for its bytes
  std::uint32_t start;       // what they begin with
};

struct alignas(64) ResidueTables {
  OfModulus a[kModuli] = {};  // multiplied with the inverse of P / p, so that sums need not be
  OfModulus b[kModuli] = {};
  float inverse[kModuli] = {};
  float negative[kModuli] = {};        // -p
  std::uint32_t halves[kModuli] = {};  // remainders of 1 and 2^16, for a sum's halves
  std::uint32_t digits[kDigitsOfSum][kQuads] = {};
  std::int32_t starts[kDigitsOfSum] = {};

  constexpr ResidueTables() {
    int slots[kDigitsOfSum][4 * kQuads] = {};
    for (int i = 0; i < kModuli; ++i) {
      const int modulus = kModulus[i];
      int others = 1;
      for (const int other : kModulus)
        others = other == modulus ? others : others * other % modulus;
      int inverse_of_others = 1;
      while (others * inverse_of_others % modulus != 1) ++inverse_of_others;
      a[i] = of_modulus(modulus, inverse_of_others);
      b[i] = of_modulus(modulus, 1);
      inverse[i] = 1.0F / static_cast<float>(modulus);
      negative[i] = -static_cast<float>(modulus);
      halves[i] = 1U | (static_cast<std::uint32_t>(centred(1 << 16, modulus)) << 16);
      const ManyBytes rest(modulus, 1);
      for (int d = 0; d < kBytesOfAll; ++d) slots[d][i] = rest.digit[d];
      slots[kBytesOfAll][i] = ((1 << kSharesAt) + modulus / 2) / modulus;
    }
    const ManyBytes all(0, -1);
    for (int d = 0; d < kBytesOfAll; ++d) slots[d][kModuli] = all.digit[d];
    for (int d = 0; d < kDigitsOfSum; ++d) {
      for (int slot = 0; slot < 4 * kQuads; ++slot) starts[d] -= kOffset * slots[d][slot];
      for (int quad = 0; quad < kQuads; ++quad) digits[d][quad] = four_bytes(slots[d] + 4 * quad);
    }
  }

  // Residues are multiplied as unsigned bytes, so much larger.
  static constexpr int kOffset = 128;

 private:
  // Of the bytes the last one, which has the sign, comes so much larger, too.
  static constexpr OfModulus of_modulus(int modulus, int times) {
    int weights[8] = {};
    int power = 1;
    for (int& weight : weights) {
      weight = centred(power * times, modulus);
      power = power * 256 % modulus;
    }
    return {{four_bytes(weights), four_bytes(weights + 4)},
            kBitsOfMagic - static_cast<std::uint32_t>(kOffset * weights[7])};
  }
};
constexpr ResidueTables kResidues;

// Not known to the compiler, which would make each word a constant of an instruction, and then move
// it to a vector by the unit that multiplies.
inline const ResidueTables& residue_tables() {
  const ResidueTables* tables = &kResidues;
  asm("" : "+r"(tables));
  return *tables;
}

inline __m512i all_of(std::uint32_t bits) {
  return _mm512_set1_epi32(static_cast<int>(bits));
}

// Residues of integers that come as magic floats, up to 2^22 in size: of four times sixteen, byte j
// of word l is that of integer l of the j-th. With p odd no quotient is nearer to a half than 2^-9,
// and up to 2^13 it is as exact as 2^-11. Written step by step for all four, because a processor
// that looks ahead over one's steps alone finds too little to do.
struct FourVectors {
  __m512i of[4];
};
[[gnu::always_inline]] inline __m512i residue_bytes(const FourVectors& integers, int i) {
  const ResidueTables& tables = residue_tables();
  const __m512 magic = _mm512_set1_ps(kMagic);
  const __m512 inverse = _mm512_set1_ps(tables.inverse[i]);
  const __m512 negative = _mm512_set1_ps(tables.negative[i]);
  __m512 steps[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) steps[j] = _mm512_sub_ps(_mm512_castsi512_ps(integers.of[j]), magic);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) steps[j] = _mm512_fmadd_ps(steps[j], inverse, magic);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) steps[j] = _mm512_sub_ps(steps[j], magic);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    steps[j] = _mm512_fmadd_ps(steps[j], negative, _mm512_castsi512_ps(integers.of[j]));
  }
  __m512i bytes = _mm512_castps_si512(steps[0]);
#pragma GCC unroll 3
  for (int j = 1; j < 4; ++j) {
    constexpr __mmask64 kEveryFourth = 0x1111111111111111;
    const __m512i placed = _mm512_slli_epi32(_mm512_castps_si512(steps[j]), 8 * j);
    bytes = _mm512_mask_mov_epi8(bytes, kEveryFourth << j, placed);
  }
  return bytes;
}

// Sixteen elements as integers, the lower and the upper half of each, the latter 2^31 larger.
struct Integers {
  __m512i lower;
  __m512i upper;
};
[[gnu::always_inline]] inline Integers halves_of(__m512i first, __m512i second) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  return {_mm512_permutex2var_epi32(first, even, second),
          _mm512_xor_si512(_mm512_permutex2var_epi32(first, odd, second), all_of(1U << 31))};
}

// Residues of four times sixteen integers.
template <bool OfA>
[[gnu::always_inline]] inline __m512i residues_of(const Integers* integers, int i) {
  const ResidueTables& tables = residue_tables();
  const OfModulus& modulus = OfA ? tables.a[i] : tables.b[i];
  const __m512i lower = all_of(modulus.weights[0]);
  const __m512i upper = all_of(modulus.weights[1]);
  const __m512i start = all_of(modulus.start);
  FourVectors sums;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) sums.of[j] = _mm512_dpbusd_epi32(start, integers[j].lower, lower);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    sums.of[j] = _mm512_dpbusd_epi32(sums.of[j], integers[j].upper, upper);
  }
  return residue_bytes(sums, i);
}

// Likewise of 64 sums of products of residues, up to 2^30 in size.
[[gnu::always_inline]] inline __m512i residues_of_sums(const std::int32_t* sums, int i) {
  // A sum's lower half is unsigned, and as a signed one 2^15 less.
  constexpr std::uint32_t kHalf = 1U << 15;
  const __m512i start = all_of(kBitsOfMagic + kHalf);
  const __m512i weights = all_of(residue_tables().halves[i]);
  FourVectors folded;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i sum = _mm512_xor_si512(_mm512_loadu_si512(sums + 16 * j), all_of(kHalf));
    folded.of[j] = _mm512_dpwssd_epi32(start, sum, weights);
  }
  return residue_bytes(folded, i);
}

// Of sixteen sums, four residues in each word, the quads of slots one after another.
struct SlotsOfSums {
  __m512i quads[kQuads];

  [[gnu::always_inline]] __m512i digit(int number) const {
    const ResidueTables& tables = residue_tables();
    __m512i sum = _mm512_set1_epi32(tables.starts[number]);
#pragma GCC unroll 4
    for (int quad = 0; quad < kQuads; ++quad) {
      sum = _mm512_dpbusd_epi32(sum, quads[quad], all_of(tables.digits[number][quad]));
    }
    return sum;
  }
  // Two digits from one on.
  [[gnu::always_inline]] __m512i digits(int number) const {
    return _mm512_add_epi32(digit(number), _mm512_slli_epi32(digit(number + 1), 8));
  }
};

// Eight of sixteen words of 32 bits, widened.
[[gnu::always_inline]] inline __m512i widened(__m512i words, int half) {
  return _mm512_cvtepi32_epi64(half == 0 ? _mm512_castsi512_si256(words)
                                         : _mm512_extracti64x4_epi64(words, 1));
}

// What sixteen sums are: Σ r·(P/p), less as many times P as its parts r/p add up to, the nearest
// whole number; in words of 48 bits, of which the last has the sign. A sum that f64 holds is exact:
// one above 2^101 ends in so many zeros that its upper two words are not rounded.
[[gnu::always_inline]] inline void sums_of(SlotsOfSums slots, __m512d* sums) {
  constexpr int kLastByte = 24;
  const __m512i half = _mm512_set1_epi32(1 << (kSharesAt - 1));
  const __m512i shares = _mm512_add_epi32(slots.digit(kBytesOfAll), half);
  const __m512i quotient = _mm512_srai_epi32(shares, kSharesAt);
  slots.quads[kQuads - 1] =
      _mm512_add_epi32(slots.quads[kQuads - 1], _mm512_slli_epi32(quotient, kLastByte));
  __m512i pairs[8];
#pragma GCC unroll 7
  for (int i = 0; i < 7; ++i) pairs[i] = slots.digits(2 * i);
  pairs[7] = slots.digit(kBytesOfAll - 1);
#pragma GCC unroll 2
  for (int eight = 0; eight < 2; ++eight) {
    const auto word = [&](int pair) __attribute__((always_inline)) {
      const __m512i second = _mm512_slli_epi64(widened(pairs[pair + 1], eight), 16);
      return _mm512_add_epi64(widened(pairs[pair], eight), second);
    };
    const auto third = [&](int pair) __attribute__((always_inline)) {
      return _mm512_slli_epi64(widened(pairs[pair], eight), 32);
    };
    const __m512i low = _mm512_add_epi64(word(0), third(2));
    const __m512i middle =
        _mm512_add_epi64(_mm512_add_epi64(word(3), third(5)), _mm512_srai_epi64(low, 48));
    const __m512i high = _mm512_add_epi64(word(6), _mm512_srai_epi64(middle, 48));
    const __m512i mask = _mm512_set1_epi64((std::int64_t{1} << 48) - 1);
    const __m512d unit = _mm512_set1_pd(0x1p48);
    const __m512d upper = _mm512_fmadd_pd(_mm512_cvtepi64_pd(high), unit,
                                          _mm512_cvtepi64_pd(_mm512_and_si512(middle, mask)));
    sums[eight] = _mm512_fmadd_pd(upper, unit, _mm512_cvtepi64_pd(_mm512_and_si512(low, mask)));
  }
}

}  // namespace
}  // namespace tessera::cpu
