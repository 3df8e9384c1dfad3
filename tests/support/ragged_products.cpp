#include "support/ragged_products.hpp"

#include <cmath>
#include <sstream>

#include "core/reference.hpp"

namespace tessera::test {

constexpr std::int64_t kMostContributors = 64;

bool suits(const GemmTypes& types, const Scalars& scalars) {
  return types.c != ElementType::i32 || (scalars.epilogue == Epilogue{} && scalars.alpha != 0.75);
}

std::string judge(const Operands& product, const ConstMatrixView& before, const Scalars& s) {
  for (std::int64_t row = 0; row < product.c.rows; ++row) {
    for (std::int64_t col = 0; col < product.c.cols; ++col) {
      const double was = s.beta != 0 ? element_at(before, row, col) : 0;
      const Expected expected =
          expected_element(s.alpha, product, s.beta, s.epilogue, row, col, was, kMostContributors);
      const double found = element_at(product.c, row, col);
      if (std::abs(found - expected.value) <= expected.tolerance) continue;
      std::ostringstream text;
      text << "C(" << row << ", " << col << ") is " << found << "; expected " << expected.value
           << " ± " << expected.tolerance;
      return text.str();
    }
  }
  return {};
}

}  // namespace tessera::test
