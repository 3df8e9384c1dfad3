// The activations, as every host path and the reference compute them. T is float or double.
#pragma once

#include <cmath>

#include "tessera/epilogue.hpp"

namespace tessera {

template <class T>
T apply_activation(Activation activation, T x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < T(0) ? T(0) : x;  // NaN passes through
    case Activation::gelu_tanh: {
      constexpr T kSqrtTwoOverPi = T(0.7978845608028653558798921198687637);
      return T(0.5) * x * (T(1) + std::tanh(kSqrtTwoOverPi * (x + T(0.044715) * x * x * x)));
    }
    case Activation::gelu_erf: {
      constexpr T kSqrtHalf = T(0.7071067811865475244008443621048490);
      return T(0.5) * x * (T(1) + std::erf(kSqrtHalf * x));
    }
    case Activation::silu:
      return x / (T(1) + std::exp(-x));
  }
  return x;
}

}  // namespace tessera
