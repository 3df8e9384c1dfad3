// Activations over short arrays. In f32 the exponential is a polynomial without branches, so that
// the loops vectorise; in f64 the C library's functions are used. Accuracy: a few units in the last
// place of max(|x|, |f(x)|), inside what core/reference.hpp allows.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <cmath>
#include <cstdint>

#include "cpu/convert.hpp"
#include "tessera/problem.hpp"

namespace tessera::cpu {
namespace {

// e^x: x = n·ln 2 + r with |r| ≤ ln 2 / 2, then a degree-6 Taylor polynomial in r (next term below
// 2^-26) and 2^n by adding to the exponent, in two halves so that n = 128 does not overflow early.
inline float exp_of(float x) {
  const float clamped = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  const float magic = 12582912.0f;  // 1.5·2^23: adding it rounds to an integer
  const float shifted = clamped * 1.44269504f + magic;
  const float n = shifted - magic;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const auto power = static_cast<std::int32_t>(bits_of(shifted)) - 0x4b400000;
  const std::int32_t half = power >> 1;
  const float low = float_of(static_cast<std::uint32_t>(half + 127) << 23);
  const float high = float_of(static_cast<std::uint32_t>(power - half + 127) << 23);
  return p * low * high;
}

inline float gelu_tanh(float x) {
  // ½(1 + tanh u) = 1 / (1 + e^-2u)
  const float u = 0.797884561f * (x + 0.044715f * x * x * x);
  return x / (1.0f + exp_of(-2.0f * u));
}

inline float gelu_erf(float x) {
  // Abramowitz and Stegun 7.1.26: |error of erf| ≤ 1.5e-7.
  const float z = 0.707106781f * x;
  const float magnitude = z < 0 ? -z : z;
  const float t = 1.0f / (1.0f + 0.3275911f * magnitude);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 0.5f * p * t * exp_of(-z * z);  // ½·erfc(|z|)
  return x * (z < 0 ? tail : 1.0f - tail);
}

inline float silu(float x) {
  return x / (1.0f + exp_of(-x));
}

inline double gelu_tanh(double x) {
  return 0.5 * x * (1.0 + ::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
inline double gelu_erf(double x) {
  return 0.5 * x * (1.0 + ::erf(0.70710678118654752440 * x));
}
inline double silu(double x) {
  return x / (1.0 + ::exp(-x));
}

// `values` has room for Width, of which `count` matter; f32 always works on all, for constant
// bounds.
template <int Width>
void activate(Activation activation, float* values, int) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      for (int i = 0; i < Width; ++i) values[i] = values[i] < 0 ? 0 : values[i];
      return;
    case Activation::gelu_tanh:
      for (int i = 0; i < Width; ++i) values[i] = gelu_tanh(values[i]);
      return;
    case Activation::gelu_erf:
      for (int i = 0; i < Width; ++i) values[i] = gelu_erf(values[i]);
      return;
    case Activation::silu:
      for (int i = 0; i < Width; ++i) values[i] = silu(values[i]);
      return;
  }
}

template <int Width>
void activate(Activation activation, double* values, int count) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      for (int i = 0; i < count; ++i) values[i] = values[i] < 0 ? 0 : values[i];
      return;
    case Activation::gelu_tanh:
      for (int i = 0; i < count; ++i) values[i] = gelu_tanh(values[i]);
      return;
    case Activation::gelu_erf:
      for (int i = 0; i < count; ++i) values[i] = gelu_erf(values[i]);
      return;
    case Activation::silu:
      for (int i = 0; i < count; ++i) values[i] = silu(values[i]);
      return;
  }
}

// Only ReLU is defined on integers.
template <int Width>
void activate(Activation activation, std::int32_t* values, int count) {
  if (activation != Activation::relu) return;
  for (int i = 0; i < count; ++i) values[i] = values[i] < 0 ? 0 : values[i];
}

}  // namespace
}  // namespace tessera::cpu
