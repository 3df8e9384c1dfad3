// What the reader (npy.cpp) and the writer (npy_write.cpp) of .npy files both know of the format.
#pragma once

#include <array>
#include <string_view>

#include "tessera/element_type.hpp"

namespace tessera::cli {

inline constexpr std::string_view kMagic = "\x93NUMPY";

struct StoredType {
  std::string_view descr;  // without the byte-order mark
  ElementType type;
};
inline constexpr std::array kStoredTypes = {
    StoredType{"f8", ElementType::f64}, StoredType{"f4", ElementType::f32},
    StoredType{"f2", ElementType::f16}, StoredType{"i1", ElementType::i8},
    StoredType{"u1", ElementType::u8},  StoredType{"i4", ElementType::i32},
    StoredType{"u2", ElementType::bf16}};

}  // namespace tessera::cli
