// Rows of A: where they are read as they lie, and how many find room in the caches so.
#pragma once

#include <cstdint>

#include "cpu/product.hpp"

namespace tessera::cpu {

// Whether k, or columns, are so few that tile registers may go by flat blocks (flat_blocks.hpp),
// for which rows of A may end anywhere.
bool goes_flat(const Product& product);

// Whether A's rows lie along k and need no transposing: where they keep apart in the nearest cache,
// or are read once, they are read in place, elsewhere copied.
bool keeps_rows_of_a(const Product& product);

// Rows of A that register tiles take at a time where they lie; 0 where A is packed or copied.
int rows_in_place(const Product& product);

// Rows of A in place that stay in L2 while B's columns pass by.
std::int64_t rows_that_stay(const ConstMatrixView& a);

}  // namespace tessera::cpu
