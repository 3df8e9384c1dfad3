// How much of B a worker has, and where that comes from.
#pragma once

#include <cstdint>

#include "cpu/product.hpp"
#include "tessera/plan.hpp"

namespace tessera::cpu {

std::int64_t second_level_cache(const Plan& plan);  // bytes
std::int64_t bytes_of_b(const Product& product);
bool lies_in_memory(const Plan& plan, std::int64_t bytes);

// What the blocks of one of the workers have of B.
std::int64_t bytes_of_blocks(const Plan& plan, const Product& product);

// Of what a worker has of B, which comes back to it in the next call, and stays in its L2: its
// columns, where each has a tile of them alone, or its part of k as well, where that is divided.
std::int64_t bytes_of_share(const Plan& plan, const Product& product);

// Whether a worker's share is in its L2 when it is wanted.
bool comes_from_l2(const Plan& plan, const Product& product, std::int64_t l2);

// Whether a block of B in place is most of its rows, so that it lies in one piece of memory, and
// two such pieces leave room in L2.
bool is_one_piece(const Product& product, std::int64_t l2);

}  // namespace tessera::cpu
