// Element types: their names, sizes, storage structs, and which triples (A, B, C) a product may
// have.
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/export.hpp"

namespace tessera {

// New types (tf32, e4m3, e5m2) join here and in the table of element_type.cpp.
enum class ElementType : std::uint8_t { f64, f32, f16, bf16, i8, u8, i32 };

// Storage only. Arithmetic happens in the accumulator type; core/convert.hpp converts.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};

// Bytes of one element. Inline, because small products ask many times.
constexpr int size_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 8;
    case ElementType::f32:
    case ElementType::i32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::i8:
    case ElementType::u8:
      return 1;
  }
  return 0;
}

// "f64", "bf16", ...: the spelling of the command line and of JSON.
TESSERA_API std::string_view name_of(ElementType type);

// The inverse of name_of; throws Error(invalid_argument) that lists the known names.
TESSERA_API ElementType element_type_from_name(std::string_view name);

// The types of the three matrices of a product. The accumulator follows from a and b.
struct GemmTypes {
  ElementType a = ElementType::f32;
  ElementType b = ElementType::f32;
  ElementType c = ElementType::f32;

  friend bool operator==(const GemmTypes&, const GemmTypes&) = default;
};

// f64 for f64, i32 for 8-bit integers, f32 for the rest.
TESSERA_API ElementType accumulator_of(const GemmTypes& types);

// Which triples exist: f64·f64→f64, f32·f32→f32, f16·f16→{f16, f32}, bf16·bf16→{bf16, f32},
// i8·i8→i32 and u8·i8→i32.
TESSERA_API bool is_supported(const GemmTypes& types);

// The triple people mean when they name a single type: f32 → f32·f32→f32, i8 → i8·i8→i32, and so
// on.
TESSERA_API GemmTypes gemm_types_for(ElementType type);

template <class T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<double> {
  static constexpr ElementType value = ElementType::f64;
};
template <>
struct ElementTypeOf<float> {
  static constexpr ElementType value = ElementType::f32;
};
template <>
struct ElementTypeOf<f16> {
  static constexpr ElementType value = ElementType::f16;
};
template <>
struct ElementTypeOf<bf16> {
  static constexpr ElementType value = ElementType::bf16;
};
template <>
struct ElementTypeOf<std::int8_t> {
  static constexpr ElementType value = ElementType::i8;
};
template <>
struct ElementTypeOf<std::uint8_t> {
  static constexpr ElementType value = ElementType::u8;
};
template <>
struct ElementTypeOf<std::int32_t> {
  static constexpr ElementType value = ElementType::i32;
};
template <class T>
inline constexpr ElementType element_type_of = ElementTypeOf<T>::value;

}  // namespace tessera
