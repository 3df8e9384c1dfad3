// Microkernels for AVX512-VNNI: u8·i8 and i8·i8, four products a lane, exact modulo 2^32.
//
// vpdpbusd multiplies unsigned by signed bytes. For i8·i8, A is packed with an offset of 128 (its
// top bit flipped), and 128·Σ B, which lies behind each panel of B, is subtracted at the end.
#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_avx512.hpp"
#include "cpu/rearrange_avx512.hpp"

namespace tessera::cpu {
namespace {

// GCC 12 copies and spills its integer accumulators around the intrinsic (a third of the speed);
// the constraint ties each sum to one register.
inline __m512i dot_quads(__m512i sum, __m512i unsigned_bytes, __m512i signed_bytes) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
  return sum;
}

struct OpsQuads : OpsBase<AccumulateI32> {
  using BVec = __m512i;
  static constexpr int kGroup = 4;

  static BVec load_b(const void* from) { return _mm512_loadu_si512(from); }
  static __m512i broadcast(const void* from) { return _mm512_set1_epi32(word_at(from)); }
  static __m512i broadcast_last(const void* from, int count) {
    return _mm512_set1_epi32(last_word(static_cast<const std::uint8_t*>(from), count));
  }
  // B's rows in place, the quads made of four at a time; missing rows are zero.
  static BVec load_rows(const void* from, std::int64_t stride, int rows, Mask mask = 0xffff) {
    const auto* bytes = static_cast<const std::uint8_t*>(from);
    __m512i quads = row_at(bytes, mask);
    if (rows > 1) quads = with_row<8>(quads, bytes + stride, mask);
    if (rows > 2) quads = with_row<16>(quads, bytes + 2 * stride, mask);
    if (rows > 3) quads = with_row<24>(quads, bytes + 3 * stride, mask);
    return quads;
  }
  // The same of two vectors, the second masked.
  static void load_both(BVec (&columns)[2], const void* from, std::int64_t stride, int rows,
                        Mask mask = 0xffff) {
    const __mmask32 both = static_cast<__mmask32>(mask) << 16 | 0xffff;
    const auto row = [&](int r) {
      const auto* bytes = static_cast<const std::uint8_t*>(from);
      return _mm256_maskz_loadu_epi8(r < rows ? both : 0, row_or_first(bytes, stride, r, rows));
    };
    const TwoVectors quads =
        quads_of_rows(side_by_side(row(0), row(2)), side_by_side(row(1), row(3)));
    columns[0] = quads.first;
    columns[1] = quads.second;
  }

 private:
  static __m512i row_at(const std::uint8_t* from, Mask mask) {
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, from));
  }
  template <int Bits>
  static __m512i with_row(__m512i quads, const std::uint8_t* from, Mask mask) {
    return _mm512_or_si512(quads, _mm512_slli_epi32(row_at(from, mask), Bits));
  }
};

// Quads lie along k as they are. `Flip`: bits of A to invert.
template <std::uint8_t Flip>
struct DotsOfQuads {
  static __mmask64 first(int count, std::int64_t) { return (std::uint64_t{1} << count) - 1; }
  static __m512i load_a(const void* from) { return flipped(load_b(from)); }
  static __m512i load_a(const void* from, __mmask64 some) { return flipped(load_b(from, some)); }
  static __m512i load_b(const void* from) { return _mm512_loadu_si512(from); }
  static __m512i load_b(const void* from, __mmask64 some) {
    return _mm512_maskz_loadu_epi8(some, from);
  }

 private:
  static __m512i flipped(__m512i bytes) {
    return _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(Flip)));
  }
};

struct OpsU8I8 : OpsQuads {
  using Dots = DotsOfQuads<0>;
  using A = std::uint8_t;
  using B = std::int8_t;
  static Vec multiply_add(Vec sum, __m512i a, BVec b) { return dot_quads(sum, a, b); }
};

struct OpsI8U8 : OpsQuads {
  using Dots = DotsOfQuads<0>;
  using A = std::int8_t;
  using B = std::uint8_t;
  static Vec multiply_add(Vec sum, __m512i a, BVec b) { return dot_quads(sum, b, a); }
};

struct OpsI8I8 : OpsU8I8 {
  using Dots = DotsOfQuads<0x80>;
  static constexpr bool kOffsetA = true;
  static __m512i offset() { return _mm512_set1_epi8(static_cast<char>(128)); }
  static __m512i with_offset(__m512i row) { return _mm512_xor_si512(row, offset()); }
};

struct AddOffset {
  static constexpr std::uint32_t kFlip = 0x80808080;
  static std::uint8_t convert(std::int8_t value) {
    return static_cast<std::uint8_t>(static_cast<std::uint8_t>(value) ^ 0x80u);
  }
};

using UnitsU8 = PackUnits<std::uint8_t, std::uint8_t, 4, std::uint32_t, Keep<std::uint8_t>>;
using UnitsI8 = PackUnits<std::int8_t, std::int8_t, 4, std::uint32_t, Keep<std::int8_t>>;
using UnitsOffset = PackUnits<std::uint8_t, std::int8_t, 4, std::uint32_t, AddOffset>;

using CodeU8 = Code<OpsU8I8, 12, 2, UnitsU8, UnitsI8>;
using CodeU8Turned = Code<OpsI8U8, 12, 2, UnitsI8, UnitsU8>;
using CodeI8 = Code<OpsI8I8, 12, 2, UnitsOffset, UnitsI8>;

constexpr KernelCode kU8Turned = CodeU8Turned::make("cpu_avx512vnni_u8");
constexpr KernelCode kCode[] = {
    CodeU8::make("cpu_avx512vnni_u8", &kU8Turned),
    CodeI8::make("cpu_avx512vnni_i8"),
};

}  // namespace

std::span<const KernelCode> avx512_vnni_code() {
  return kCode;
}

}  // namespace tessera::cpu
