// Python's arrays, of any framework, as the library's views.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/tessera.hpp"

namespace tessera::python {

constexpr std::size_t kMaxDimensions = 3;

// Where an array's elements lie. Python makes one itself where the array's own protocols are slow
// (PyTorch) or lack its type (NumPy and bf16).
struct Memory {
  nanobind::object owner;  // keeps the elements alive
  void* data = nullptr;
  std::size_t dimensions = 0;
  std::int64_t shape[kMaxDimensions] = {};
  std::int64_t strides[kMaxDimensions] = {};  // in elements
  ElementType type = ElementType::f32;
  int device = kHost;
  const PackedMatrix* packed = nullptr;  // instead of `data`
};

// A Memory, an array that speaks DLPack or the buffer protocol, or what pack_b has packed.
using Input = std::variant<Memory, nanobind::ndarray<nanobind::ro>, PackedMatrix>;
using Output = std::variant<Memory, nanobind::ndarray<>>;

// Refuses what is packed, which only B of a product may be.
Memory memory_of(const Input& input, const char* argument);
Memory memory_of(const Output& output, const char* argument);

// One product for each of the arrays' matrices: two dimensions are one product, three are a batch,
// where a two-dimensional operand serves every product. Appends to `groups`; returns where all
// operands lie, as RunOptions::device says it. Throws Error(invalid_argument) where they do not
// agree.
int append_products(std::vector<Operands>& groups, const Input& a, const Input& b, const Output& c,
                    const std::optional<Input>& bias);

void bind_memory(nanobind::module_& module);
void bind_packed(nanobind::module_& module);

}  // namespace tessera::python
