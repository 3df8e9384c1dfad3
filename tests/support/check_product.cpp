#include "support/check_product.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/reference.hpp"

namespace tessera::test {

// With beta = 0 C starts as poison, so that reading it, or leaving an element unwritten, shows.
Product::Product(const GemmTypes& types, const GemmShape& size, double beta_value, Fill fill,
                 std::uint64_t seed, Placement place_a, Placement place_b, Placement place_c)
    : shape(size),
      random(seed),
      a(types.a, size.m, size.k, fill, random, place_a),
      b(types.b, size.k, size.n, fill, random, place_b),
      c(types.c, size.m, size.n, beta_value == 0 ? Fill::poison : fill, random, place_c),
      c_before(c),
      bias(types.c, 1, std::max(size.m, size.n), fill, random) {}

Operands Product::operands(const Epilogue& epilogue) {
  const std::int64_t values = epilogue.bias == BiasAxis::row ? shape.m : shape.n;
  return {a.view(), b.view(), c.view(), {bias.view().data, values, 1, bias.view().type}};
}

std::string check_product(Product& product, double alpha, double beta, const Epilogue& epilogue,
                          std::int64_t contributors) {
  const Operands operands = product.operands(epilogue);
  for (std::int64_t row = 0; row < product.shape.m; ++row) {
    for (std::int64_t col = 0; col < product.shape.n; ++col) {
      const double before = beta != 0 ? product.c_before.at(row, col) : 0;
      const Expected expected =
          expected_element(alpha, operands, beta, epilogue, row, col, before, contributors);
      const double found = product.c.at(row, col);
      if (std::abs(found - expected.value) <= expected.tolerance) continue;
      std::ostringstream text;
      text.precision(17);
      text << "C(" << row << ", " << col << ") of " << product.shape.m << "×" << product.shape.n
           << "×" << product.shape.k << " is " << found << "; expected " << expected.value << " ± "
           << expected.tolerance;
      return text.str();
    }
  }
  if (const std::string damage = product.c.damage(); !damage.empty()) return "C: " + damage;
  return {};
}

}  // namespace tessera::test
