// What a refused argument's message is made of; the log's lines name types like this, too.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/error.hpp"
#include "tessera/problem.hpp"

namespace tessera {

[[noreturn]] inline void fail_argument(const std::string& argument, const std::string& requirement,
                                       const std::string& given, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, argument, requirement, given, remedy);
}

// "300×400"
inline std::string shape_text(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + "×" + std::to_string(cols);
}
// m×n×k
inline std::string shape_text(const GemmShape& shape) {
  return shape_text(shape.m, shape.n) + "×" + std::to_string(shape.k);
}

// "f32·f64→f32"; one name where all three agree.
inline std::string types_text(const GemmTypes& types) {
  std::string a(name_of(types.a));
  if (types.a == types.b && types.b == types.c) return a;
  return a + "·" + std::string(name_of(types.b)) + "→" + std::string(name_of(types.c));
}

}  // namespace tessera
