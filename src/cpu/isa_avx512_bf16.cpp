// Microkernel for AVX512-BF16: bf16 in, two products a lane, f32 sums.
//
// vdpbf16ps treats subnormal inputs as zero and flushes subnormal sums to zero, whatever MXCSR
// says; and it rounds each of the two additions to nearest even. Where that matters,
// cpu_avx512_bf16 converts to f32 instead and keeps subnormals.
#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_avx512.hpp"
#include "cpu/rearrange_avx512.hpp"

namespace tessera::cpu {
namespace {

struct OpsBf16 : OpsBase<AccumulateF32> {
  // Both operands' pairs lie along k as they are.
  struct Dots {
    static __mmask32 first(int count, std::int64_t) {
      return static_cast<__mmask32>((1u << count) - 1);
    }
    static __m512bh load_a(const bf16* from) { return load_b(from); }
    static __m512bh load_a(const bf16* from, __mmask32 some) { return load_b(from, some); }
    static __m512bh load_b(const bf16* from) { return (__m512bh)_mm512_loadu_si512(from); }
    static __m512bh load_b(const bf16* from, __mmask32 some) {
      return (__m512bh)_mm512_maskz_loadu_epi16(some, from);
    }
  };
  using A = bf16;
  using B = bf16;
  using BVec = __m512bh;
  static constexpr int kGroup = 2;

  static BVec load_b(const B* from) { return (__m512bh)_mm512_loadu_si512(from); }
  // B's rows in place, the pairs made of two at a time; a missing row is zero.
  static BVec load_rows(const B* from, std::int64_t stride, int rows, Mask mask = 0xffff) {
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
    if (rows < kGroup) return (__m512bh)low;
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + stride));
    return (__m512bh)_mm512_or_si512(low, _mm512_slli_epi32(high, 16));
  }
  // The same of two vectors, the second masked.
  static void load_both(BVec (&columns)[2], const B* from, std::int64_t stride, int rows,
                        Mask mask = 0xffff) {
    const __mmask32 both = static_cast<__mmask32>(mask) << 16 | 0xffff;
    const __mmask32 both_odd = rows < kGroup ? 0 : both;
    const TwoVectors pairs =
        pairs_of_rows(_mm512_maskz_loadu_epi16(both, from),
                      _mm512_maskz_loadu_epi16(both_odd, row_or_first(from, stride, 1, rows)));
    columns[0] = (__m512bh)pairs.first;
    columns[1] = (__m512bh)pairs.second;
  }
  static __m512bh broadcast(const A* from) { return (__m512bh)_mm512_set1_epi32(word_at(from)); }
  static __m512bh broadcast_last(const A* from, int count) {
    return (__m512bh)_mm512_set1_epi32(last_word(from, count));
  }
  static Vec multiply_add(Vec sum, __m512bh a, BVec b) { return _mm512_dpbf16_ps(sum, a, b); }
};

using UnitsBf16 = PackUnits<bf16, bf16, 2, std::uint32_t, Keep<bf16>>;
using CodeBf16 = Code<OpsBf16, 12, 2, UnitsBf16, UnitsBf16>;

constexpr KernelCode kCode[] = {CodeBf16::make("cpu_avx512bf16_bf16")};

}  // namespace

std::span<const KernelCode> avx512_bf16_code() {
  return kCode;
}

}  // namespace tessera::cpu
