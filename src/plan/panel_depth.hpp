// How deep the packed panels of a CPU's tiles are.
#pragma once

#include <cstdint>

#include "core/catalogue.hpp"
#include "plan/orientation.hpp"
#include "tessera/machine.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// Bytes of k that a panel holds for each row of A or column of B; `facing` is the product as the
// kernel faces it, and `workers` how many may share it.
std::int64_t panel_bytes_per_row(const KernelEntry& kernel, const GemmShape& facing,
                                 const Machine& machine, int workers);

// The depth of panels where both operands are packed, of which B may lie along k.
int choose_packed_block_k(const KernelEntry& kernel, const FacedProduct& product,
                          const Machine& machine, int workers, std::int64_t splits);

// Of a tile of a kernel with tile registers.
std::int64_t most_columns_beside_tile_registers(const KernelEntry& kernel, const GemmShape& facing,
                                                const Machine& machine, int workers);

// What is taken in one block rather than in two: a quarter more.
constexpr std::int64_t at_most(std::int64_t size) {
  return size + size / 4;
}

// k in equal blocks of about so many bytes a row, in multiples of 4 (VNNI's depth), and of a cache
// line where there are several: packing takes whole lines of rows along k; `splits` pieces
// get equally many of them. A quarter more is better than one more pass over C: 1025³ in f32 takes
// 2 % less in two blocks of 516 than in three of 344 (Zen 4, 2026-11).
int choose_block_k(std::int64_t k, const KernelEntry& kernel, std::int64_t splits,
                   std::int64_t bytes);

}  // namespace tessera
