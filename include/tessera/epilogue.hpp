// What a product does to its sums beside alpha and beta: a bias and an activation.
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/export.hpp"

namespace tessera {

enum class BiasAxis : std::uint8_t {
  none,
  row,     // one value per row of C: m values
  column,  // one value per column of C: n values
};

enum class Activation : std::uint8_t { none, relu, gelu_tanh, gelu_erf, silu };

struct Epilogue {
  BiasAxis bias = BiasAxis::none;
  Activation activation = Activation::none;

  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

TESSERA_API std::string_view name_of(BiasAxis axis);
TESSERA_API std::string_view name_of(Activation activation);
TESSERA_API BiasAxis bias_axis_from_name(std::string_view name);
TESSERA_API Activation activation_from_name(std::string_view name);

}  // namespace tessera
