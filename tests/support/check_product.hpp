// Judges a computed product against the exact one: every element within its own error bound.
#pragma once

#include <cstdint>
#include <string>

#include "support/guarded_matrix.hpp"
#include "tessera/problem.hpp"

namespace tessera::test {

// A product's operands, kept alive, with a copy of C from before the call.
struct Product {
  Product(const GemmTypes& types, const GemmShape& shape, double beta_value, Fill fill,
          std::uint64_t seed, Placement place_a = {}, Placement place_b = {},
          Placement place_c = {});

  Operands operands(const Epilogue& epilogue = {});

  GemmShape shape;
  std::mt19937_64 random;
  GuardedMatrix a;
  GuardedMatrix b;
  GuardedMatrix c;
  GuardedMatrix c_before;
  GuardedMatrix bias;  // max(m, n) values of C's type
};

// Empty, or the first element that is out of bounds with what was expected; also reports damage
// outside C. `contributors`: see expected_element.
std::string check_product(Product& product, double alpha, double beta, const Epilogue& epilogue,
                          std::int64_t contributors);

}  // namespace tessera::test
