// Names of element types, and the table of products that exist.
#include "tessera/element_type.hpp"

#include <array>
#include <string>

#include "core/names.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

struct TypeRow {
  ElementType type;
  std::string_view name;
};

constexpr std::array kTypes = {
    TypeRow{ElementType::f64, "f64"}, TypeRow{ElementType::f32, "f32"},
    TypeRow{ElementType::f16, "f16"}, TypeRow{ElementType::bf16, "bf16"},
    TypeRow{ElementType::i8, "i8"},   TypeRow{ElementType::u8, "u8"},
    TypeRow{ElementType::i32, "i32"},
};

using enum ElementType;
constexpr std::array kProducts = {
    GemmTypes{f64, f64, f64}, GemmTypes{f32, f32, f32},    GemmTypes{f16, f16, f16},
    GemmTypes{f16, f16, f32}, GemmTypes{bf16, bf16, bf16}, GemmTypes{bf16, bf16, f32},
    GemmTypes{i8, i8, i32},   GemmTypes{u8, i8, i32},
};

}  // namespace

std::string_view name_of(ElementType type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

ElementType element_type_from_name(std::string_view name) {
  return value_from_name<&TypeRow::type>("type", kTypes, name);
}

ElementType accumulator_of(const GemmTypes& types) {
  if (types.a == f64) return f64;
  return types.a == i8 || types.a == u8 ? i32 : f32;
}

bool is_supported(const GemmTypes& types) {
  for (const GemmTypes& product : kProducts) {
    if (product == types) return true;
  }
  return false;
}

GemmTypes gemm_types_for(ElementType type) {
  if (type == u8) return {u8, i8, i32};
  if (type == i8) return {i8, i8, i32};
  return {type, type, type};
}

}  // namespace tessera
