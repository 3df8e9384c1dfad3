// Python's arrays (DLPack or the buffer protocol, of any framework) as the library's views.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "tessera/tessera.hpp"

namespace tessera::python {

using Input = nanobind::ndarray<nanobind::ro>;
using Output = nanobind::ndarray<>;

// Names that override what the arrays say of their elements, for types that their protocol lacks:
// NumPy hands bf16 over as uint16. Empty where the array is to be believed.
struct TypeNames {
  std::string a;
  std::string b;
  std::string c;
};

// One product for each of the arrays' matrices: two dimensions are one product, three are a batch,
// where a two-dimensional operand serves every product. Appends to `groups`.
void append_products(std::vector<Operands>& groups, const Input& a, const Input& b, const Output& c,
                     const std::optional<Input>& bias, const TypeNames& types);

// Where the operands lie, for RunOptions::device. Throws Error(invalid_argument) where they
// disagree.
int device_of(const Input& a, const Input& b, const Output& c, const std::optional<Input>& bias);

}  // namespace tessera::python
