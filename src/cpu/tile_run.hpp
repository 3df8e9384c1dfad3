// Runs WorkItems on one thread: packs, multiplies, and finishes or leaves a partial tile behind.
//
// Inside an item the classic order of loops: for each block of k, B's block is packed once; A's
// comes in pieces of mc rows that fit the second-level cache (blocking.hpp); the register tiles of
// microkernel.hpp do the rest.
#pragma once

#include <cstdint>

#include "cpu/blocking.hpp"
#include "cpu/product.hpp"
#include "cpu/recorder.hpp"

namespace tessera::cpu {

class TileRunner {
 public:
  // `memory`: sizes.total() bytes, aligned to a cache line, for this thread alone. `clock` is told
  // what an item is at.
  TileRunner(const Launch& launch, const PanelSizes& sizes, void* memory, ItemClock& clock);

  void run(const WorkItem& item);

 private:
  // Which block a buffer holds, so that a neighbouring item need not pack it again.
  struct Held {
    std::int32_t group = -1;
    std::int64_t block = -1;  // tile row of A, tile column of B
    std::int64_t iteration = -1;
    std::int64_t first_row = -1;  // A only: of the piece of mc rows

    friend bool operator==(const Held&, const Held&) = default;
  };

  void select(std::int32_t group);
  void multiply_block(const WorkItem& item, const TileExtent& tile, std::int64_t iteration,
                      BlockTask task, const Finish& finish, bool finishes);
  BlockOperand block_of_a(const WorkItem& item, const TileExtent& tile, std::int64_t iteration,
                          std::int64_t depth, std::int64_t from, std::int64_t first_row,
                          std::int64_t rows);
  BlockOperand block_of_b(const TileExtent& tile, std::int64_t iteration, std::int64_t depth,
                          std::int64_t from, std::int64_t first_col, std::int64_t cols,
                          bool is_held);
  void look_ahead(const WorkItem& item, const TileExtent& tile, std::int64_t k, std::int64_t row,
                  std::int64_t col, bool reads_b);
  Finish finish_of(const TileExtent& tile, bool scaled) const;
  void fix_up(const WorkItem& item, const TileExtent& tile);
  unsigned char* slot(const WorkItem& item, std::int32_t peer) const;

  const Launch& launch_;
  ItemClock& clock_;
  unsigned char* a_panels_;
  unsigned char* b_panels_;
  unsigned char* sums_;
  std::int32_t group_ = -1;
  Product product_;
  Blocking blocking_;
  Held held_a_;
  Held held_b_;
  LookAhead ahead_;
};

}  // namespace tessera::cpu
