#include "core/plain_product.hpp"

#include "core/catalogue.hpp"

namespace tessera {

bool suits_plain_kernel(const Problem& problem) {
  if (problem.groups.size() != 1 || problem.alpha == 0 || !is_scaled_product(problem) ||
      problem.types.c != problem.types.a || !suits_tma(problem.c)) {
    return false;
  }
  const GemmShape& shape = problem.groups.front();
  const std::int64_t line = problem.c.major == Major::row ? shape.n : shape.m;
  return shape.m > 0 && shape.n > 0 && shape.k > 0 && tma_writes_lines_of(line, problem.types.c);
}

}  // namespace tessera
