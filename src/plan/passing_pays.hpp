// Where packing B in passing (cpu/passing.hpp) pays, and how much of k it takes at a time: rules
// with the measurements that they come from.
#pragma once

#include <cstdint>

#include "tessera/machine.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// Where B is large, so many rows of A have to share the wait for it.
constexpr std::int64_t kLeastRowsOfPassing = 49;

// `rows` of C are a worker's; elements take `element` bytes.
bool passing_pays(const GemmShape& shape, std::int64_t rows, std::int64_t element,
                  const Machine& machine);

// Of k, for a block of rows × cols of a product with n columns.
int passing_depth(std::int64_t rows, std::int64_t cols, std::int64_t n, std::int64_t element,
                  const Machine& machine);

// Rather one pass that is a quarter deeper than two.
constexpr int deepest_passing(int depth) {
  return depth + depth / 4;
}

}  // namespace tessera
