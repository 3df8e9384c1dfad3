#include "tessera/problem.hpp"

namespace tessera {

Problem dense_problem(GemmShape shape, GemmTypes types) {
  Problem problem;
  problem.types = types;
  problem.groups = {shape};
  return problem;
}

double flops_of(const Problem& problem) {
  double flops = 0;
  for (const GemmShape& shape : problem.groups) {
    flops += 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
             static_cast<double>(shape.k);
  }
  return flops;
}

}  // namespace tessera
