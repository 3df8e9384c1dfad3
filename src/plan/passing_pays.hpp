// Where packing B in passing (cpu/passing.hpp) pays, and how much of k it takes at a time: rules
// with the measurements that they come from.
#pragma once

#include <cstdint>

#include "tessera/machine.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// So few rows do not hide how far apart a worker's parts of B's rows lie.
constexpr std::int64_t kFewRowsInPassing = 48;

// What each of some workers has of a product: rows of C, and one of several parts of B, which comes
// back to it in the next call.
struct WorkersShare {
  std::int64_t rows = 0;
  int parts_of_b = 1;
  int workers = 1;
  bool is_only_product = true;  // of the call
};

// Where a B of so many bytes does not stay near, as many rows of A have to share the wait for it.
std::int64_t least_rows_of_passing(double b_bytes, int workers, bool is_only_product,
                                   const Machine& machine);

// Elements take `element` bytes.
bool passing_pays(const GemmShape& shape, const WorkersShare& share, std::int64_t element,
                  const Machine& machine);

// Of k, for a block of rows × cols of a product with n columns; `is_dealt`: several workers have a
// part of B each, which stays in their L2.
int passing_depth(std::int64_t rows, std::int64_t cols, std::int64_t n, bool is_dealt,
                  std::int64_t element, const Machine& machine);

// Rather one pass that is a quarter deeper than two.
constexpr int deepest_passing(int depth) {
  return depth + depth / 4;
}

}  // namespace tessera
