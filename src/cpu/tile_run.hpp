// Runs WorkItems on one thread: packs, multiplies, and finishes or leaves a partial tile behind.
//
// Inside an item the classic order of loops: for each block of k, B's block is packed once; A's
// comes in pieces of mc rows that fit the second-level cache (blocking.hpp); the register tiles of
// microkernel.hpp do the rest.
#pragma once

#include <cstdint>

#include "cpu/blocking.hpp"
#include "cpu/open_tiles.hpp"
#include "cpu/product.hpp"
#include "cpu/recorder.hpp"
#include "cpu/shared_units.hpp"
#include "cpu/split_tiles.hpp"

namespace tessera::cpu {

class TileRunner {
 public:
  // `memory`: sizes.total() bytes, aligned to a cache line, for this thread alone. `clock` is told
  // what an item is at.
  TileRunner(const Launch& launch, const PanelSizes& sizes, void* memory, ItemClock& clock);

  // From here on others may take over parts of what this thread, number `thread` of `tiles`, is at.
  void share(OpenTiles& tiles, int thread) {
    open_ = &tiles;
    thread_ = thread;
    open_->collect_in(thread, sums_);
  }

  void run(const WorkItem& item, std::int32_t worker);
  // A whole tile of this number, which is opened where it has several units.
  void run_tile(const WorkItem& item, std::int32_t tile);
  // What was taken over of it.
  void run_part(const WorkItem& item, const TilePart& part);
  // Adds up what others leave of a tile's partial ones.
  void help(OpenSplit& open);

 private:
  // Rows or columns that are walked one piece after another.
  class Pieces;

  // Which block a buffer holds, so that a neighbouring item need not pack it again.
  struct Held {
    std::int32_t group = -1;
    std::int64_t block = -1;  // tile row of A, tile column of B
    std::int64_t iteration = -1;
    std::int64_t first_row = -1;  // A only: of the piece of mc rows,
    std::int64_t rows = -1;       // and how many of them

    friend bool operator==(const Held&, const Held&) = default;
  };

  void select(std::int32_t group);
  // From the tile's pass `first_pass` on; sums that do not lie in C are collected in `sums`.
  void walk(const WorkItem& item, const TileExtent& tile, int first_pass, unsigned char* sums);
  void walk_open(const WorkItem& item, const TileExtent& tile, const TilePart& part,
                 unsigned char* sums);
  Pieces next_pass();
  void multiply_block(const WorkItem& item, const TileExtent& tile, std::int64_t iteration,
                      std::int64_t from_row, BlockTask task, const Finish& finish, bool finishes);
  void multiply(const BlockTask& task) const;
  BlockOperand block_of_a(const WorkItem& item, const TileExtent& tile, std::int64_t iteration,
                          std::int64_t depth, std::int64_t from, std::int64_t first_row,
                          std::int64_t rows);
  BlockOperand block_of_b(const TileExtent& tile, std::int64_t iteration, std::int64_t depth,
                          std::int64_t from, std::int64_t first_col, std::int64_t cols,
                          bool is_held);
  void look_ahead(const WorkItem& item, const TileExtent& tile, std::int64_t k, const Pieces& rows,
                  const Pieces& cols, bool reads_b);
  Finish finish_of(const TileExtent& tile, bool scaled) const;
  void fix_up(const WorkItem& item, const TileExtent& tile);
  void add_strips(OpenSplit& open, const TileExtent& tile);
  unsigned char* slot(const WorkItem& item, std::int32_t peer) const;

  const Launch& launch_;
  ItemClock& clock_;
  unsigned char* a_panels_;
  unsigned char* b_panels_;
  unsigned char* room_;
  unsigned char* sums_;
  std::int32_t group_ = -1;
  Product product_;
  Blocking blocking_;
  Held held_a_;
  Held held_b_;
  LookAhead ahead_;

  OpenTiles* open_ = nullptr;
  int thread_ = 0;
  bool is_open_ = false;  // the tile that is walked,
  Units units_;           // of it,
  int first_unit_ = 0;    // from which on it is walked
  bool is_first_pass_ = true;

  std::int32_t worker_ = 0;  // whose item is run
};

}  // namespace tessera::cpu
