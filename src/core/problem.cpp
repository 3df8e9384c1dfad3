#include "tessera/problem.hpp"

#include <bit>

#include "core/work.hpp"

namespace tessera {
namespace {

// Rows that follow one another without a gap, from a well aligned base.
OperandLayout packed_rows(std::int64_t cols, ElementType type) {
  const auto bits =
      static_cast<std::uint64_t>(cols) * static_cast<std::uint64_t>(size_of(type)) | 128;
  return {Major::row, 1 << std::countr_zero(bits)};
}

}  // namespace

Problem dense_problem(GemmShape shape, GemmTypes types) {
  Problem problem;
  problem.types = types;
  problem.groups = {shape};
  problem.a = packed_rows(shape.k, types.a);
  problem.b = packed_rows(shape.n, types.b);
  problem.c = packed_rows(shape.n, types.c);
  return problem;
}

double flops_of(const Problem& problem) {
  double flops = 0;
  for (const GemmShape& shape : problem.groups) {
    flops += 2 * multiply_adds(shape);
  }
  return flops;
}

}  // namespace tessera
