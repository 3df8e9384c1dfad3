// Conversions between the 16-bit storage structs and float. Round to nearest even; NaN stays NaN.
// The portable definitions: kernels use the instruction that does the same.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "tessera/element_type.hpp"

namespace tessera {

inline float to_float(bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

inline bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};
  const std::uint32_t half_even = 0x7fff + ((bits >> 16) & 1);
  return {static_cast<std::uint16_t>((bits + half_even) >> 16)};
}

inline float to_float(f16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1f;
  const std::uint32_t fraction = value.bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

inline f16 to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return {static_cast<std::uint16_t>(sign | 0x7e00)};
  if (magnitude >= 0x477ff000) return {static_cast<std::uint16_t>(sign | 0x7c00)};
  if (magnitude < 0x38800000) {
    // Subnormal: a float whose unit in the last place is 2^-24 does the rounding.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    const std::uint32_t fraction = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000;
    return {static_cast<std::uint16_t>(sign | fraction)};
  }
  const std::uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13))};
}

}  // namespace tessera
