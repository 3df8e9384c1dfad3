// How a thread walks the block of an item: in pieces of A's rows and B's columns that fit its
// caches, with what is read in place, copied, packed or fetched ahead; and the room that takes.
// tile_run.hpp walks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/product.hpp"
#include "cpu/split_tiles.hpp"
#include "cpu/workspace.hpp"
#include "tessera/plan.hpp"

namespace tessera::cpu {

inline std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

// What all threads of a call share.
struct Launch {
  const Plan& plan;
  const KernelCode& code;
  std::span<const Operands> groups;
  WorkspaceLayout layout;
  unsigned char* slots = nullptr;
  SplitTiles* splits = nullptr;  // where there are slots

  int sharers = 0;  // threads that take over parts of tiles (open_tiles.hpp)

  // With alpha = 0, A and B are not read.
  bool multiplies() const { return plan.problem.alpha != 0; }
};

// Bytes of one thread's buffers, enough for every item of a call.
struct PanelSizes {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t room = 0;  // KernelCode::room_bytes
  std::size_t sums = 0;
  bool shares = false;  // whether there are tiles with several units (Blocking::unit)

  std::size_t total() const { return a + b + room + sums; }
};
PanelSizes panel_sizes(const Launch& launch);

// How an item of one product walks its block: rows of A packed at a time, columns of B at a time,
// and whether all of B's block is kept for further pieces of A or the next item.
struct Blocking {
  std::int64_t depth = 0;  // of a full block
  std::int64_t rows = 0;   // mc
  std::int64_t cols = 0;
  std::int64_t step = 0;  // of k, at a time; less than a block's depth only with B in place
  int streams = 0;        // BlockTask's, where `step` is that
  bool b_is_far = false;  // BlockTask's
  int rows_ahead = 0;     // BlockTask's
  bool keeps_b = false;
  bool fetches_b = false;  // in place, ahead of time
  int panels_ahead = 0;    // BlockTask's, of panels that are read for the first time
  // B is packed in passing (BlockTask::passing_panel), A and B lie in place.
  bool passes = false;
  bool packs_by_pieces = false;  // B in passing, of few rows of A in tile registers
  bool reads_near = false;       // A and B lie in place, and KernelCode::multiply_small reads them
  // Of the piece of A and of the columns of B after the last ones, that are fetched ahead.
  std::int64_t fetched_rows = 0;
  std::int64_t fetched_cols = 0;
  bool fetches_panels = false;  // packed ones, which have left the near caches
  // A's rows that lie along k are not transposed: where they may stay they are read in place, and
  // else they are copied to lie `copied_stride` elements apart (0: A is packed), an odd number of
  // cache lines. Zen 4, f32, 2026-11: transposing takes 20 to 30 ps a byte and copying 25, of
  // which 12 KB pay for 3 µs of multiplying; 384×384×3000 takes 3 % less in place than copied.
  // Groups of bf16 and 8-bit integers lie along k as the instruction takes them; Zen 5, one thread,
  // 2026-11, transposed and in place: bf16 256³ 80.9 and 76.0 µs, i8 64³ 0.88 and 0.75, 128³ 5.56
  // and 5.06, 512³ 313 and 301.
  bool a_in_place = false;
  int tile_rows = 0;  // BlockTask's
  // BlockTask's. Tile registers walk strips of A where B's block stays near. Elsewhere a large C
  // with a short k is little but writing, which is done row by row then, from end to end, as pages
  // and prefetching like it, and not down one panel's columns after another's. Zen 5, one thread,
  // 2026-11, milliseconds before and now: f32 3000×3000×32 5.15 and 2.84, 4096×4096×64 18.1
  // and 9.8, bf16 10.2 and 5.1, i8 7.1 and 3.6; without fetching f32 4096×4096×64 14.0. A C of 4 to
  // 9 MB, which stays in the last cache, would gain nothing, and lose 2 to 5 % to the fetching.
  bool sums_are_far = false;
  bool fetches_sums = false;  // BlockTask's
  std::int64_t copied_stride = 0;
  // BlockTask's. On Intel's processors, whose cores run two hardware threads: alone on its core a
  // register tile keeps both units busy either way, and beside another it waits for instructions,
  // or for loads. Emerald Rapids guest, 12×32 of f32, panels in L2, k = 256, in minutes when
  // multiply-adds alone made 140 GFLOP/s, as beside another hardware thread: one step at a time
  // 112, four 117; in others 178 of 179 each. Granite Rapids, minutes of 239: 208 to 227 and 208 to
  // 215, with k = 1024 210 to 216 each; two steps 1.02 over four (2026-11). AMD's were not
  // measured.
  bool steps_together = false;
  bool fetches_near = false;        // BlockTask's
  bool begins_at_pairs = false;     // BlockTask's
  bool multiply_adds_load = false;  // BlockTask's
  bool streams_sums = false;        // BlockTask's, of a product's only block of k
  // Of a tile's rows, or of its columns, so many are handed over to another thread together
  // (open_tiles.hpp); 0: none are.
  std::int64_t unit = 0;
  bool units_are_cols = false;

  // Also of a single step (BlockTask::sum).
  bool needs_sums() const { return rows_ahead > 0 || reads_near; }
};

// Whether B can be packed in passing (passing.hpp), by where operands lie; not whether it pays.
bool may_pack_in_passing(const Product& product);

// Whether a block needs no panels: that pays, or what stays near is read in place.
bool needs_no_panels(const Plan& plan, const Product& product);

// Whether a block of C reads such a B where it lies instead (core/near_rule.hpp).
bool reads_near(const Plan& plan, const Product& product);

// Whether tile registers have B packed by pieces (core/tile_registers_rule.hpp).
bool packs_by_pieces(const Plan& plan, const Product& product);

// BlockTask's tile_rows, `by_pieces` or not; 0: A is not read where it lies.
int tile_rows_of(const Plan& plan, const Product& product, bool by_pieces);

// Whether tile registers fetch rows of C (BlockTask::fetches_sums).
bool fetches_rows_of_c(const Plan& plan, const Product& product);

Blocking blocking_of(const Launch& launch, const Product& product);

}  // namespace tessera::cpu
