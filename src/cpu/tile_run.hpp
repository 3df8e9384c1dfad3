// Runs WorkItems on one thread: packs, multiplies, and finishes or leaves a partial tile behind.
//
// Inside an item the classic order of loops: for each block of k, B's block is packed once; A's
// comes in pieces of mc rows that fit the second-level cache; the register tiles of microkernel.hpp
// do the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "cpu/product.hpp"
#include "cpu/recorder.hpp"
#include "cpu/workspace.hpp"
#include "tessera/plan.hpp"

namespace tessera::cpu {

// What all threads of a call share.
struct Launch {
  const Plan& plan;
  const KernelCode& code;
  std::span<const Operands> groups;
  WorkspaceLayout layout;
  unsigned char* slots = nullptr;
  std::int32_t* counters = nullptr;  // accessed through std::atomic_ref

  // With alpha = 0, A and B are not read.
  bool multiplies() const { return plan.problem.alpha != 0; }
};

// Bytes of one thread's buffers, enough for every item of a call.
struct PanelSizes {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t sums = 0;

  std::size_t total() const { return a + b + sums; }
};
PanelSizes panel_sizes(const Launch& launch);

// How an item of one product walks its block: rows of A packed at a time, columns of B at a time,
// and whether all of B's block is kept for further pieces of A or the next item.
struct Blocking {
  std::int64_t depth = 0;  // of a full block
  std::int64_t rows = 0;   // mc
  std::int64_t cols = 0;
  std::int64_t step = 0;  // of k, at a time; less than a block's depth only with B in place
  bool keeps_b = false;
  bool fetches_b = false;  // in place, ahead of time
  // A's rows that lie along k are not transposed: where they may stay they are read in place, and
  // else they are copied to lie `copied_stride` elements apart (0: A is packed), an odd number of
  // cache lines. Zen 4, f32, 2026-11: transposing takes 20 to 30 ps a byte and copying 25, of
  // which 12 KB pay for 3 µs of multiplying; 384×384×3000 takes 3 % less in place than copied.
  bool a_in_place = false;
  std::int64_t copied_stride = 0;
};

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
  void copy_rows(const ConstMatrixView& a, std::int64_t row, std::int64_t col, std::int64_t rows,
                 std::int64_t depth);
  void look_ahead(const WorkItem& item, const TileExtent& tile, std::int64_t iteration,
                  std::int64_t row, std::int64_t col, bool reads_b);
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
