// Conversions between stored elements and what kernels compute in, with the instruction where the
// instruction set has one. The same results as core/convert.hpp, which ISA units must not include:
// its inline functions could be folded by the linker into code for lesser processors.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <cstdint>

#include "tessera/element_type.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tessera::cpu {
namespace {

template <class Element>
struct Convert {
  static Element widen(Element value) { return value; }
  static Element narrow(Element value) { return value; }
};

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

template <>
struct Convert<bf16> {
  static float widen(bf16 value) { return float_of(static_cast<std::uint32_t>(value.bits) << 16); }
  static bf16 narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40;
    return {static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded)};
  }
};

template <>
struct Convert<f16> {
#if defined(__F16C__)
  static float widen(f16 value) {
    return _cvtsh_ss(value.bits);
  }
  static f16 narrow(float value) {
    return {static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT))};
  }
#else
  static float widen(f16 value) {
    const std::uint32_t magnitude = value.bits & 0x7fffu;
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
    // Multiplying by 2^112 moves the exponent into place and normalises subnormals.
    float scaled = float_of(magnitude << 13) * 0x1p112f;
    if (magnitude >= 0x7c00) scaled = float_of(0x7f800000u | (magnitude << 13));
    return float_of(sign | bits_of(scaled));
  }
  static f16 narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000;
    const std::uint32_t magnitude = bits & 0x7fffffff;
    std::uint32_t half = ((magnitude + 0xfff + ((magnitude >> 13) & 1)) - 0x38000000) >> 13;
    if (magnitude < 0x38800000) {
      // Adding 0.5 lets the adder round at 2^-24, f16's smallest step.
      half = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000;
    }
    if (magnitude >= 0x477ff000) half = 0x7c00;
    if (magnitude > 0x7f800000) half = 0x7e00;
    return {static_cast<std::uint16_t>(sign | half)};
  }
#endif
};

}  // namespace
}  // namespace tessera::cpu
