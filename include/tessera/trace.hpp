// A Trace: when each WorkItem of one run was computed, where, and what it waited for. Off unless
// RunOptions::trace points at one; then the run is a little slower than without.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

// Times are seconds since the run began.
struct TracedItem {
  std::int32_t worker = 0;  // the schedule's; what ran it is the track that holds the item
  // Of a tile that two SMs compute side by side: which of them. On a CPU, where a thread took over
  // rows or columns of a tile from another, or helped to add up one that several items share (then
  // the item is the last of those): from 1 on; 0 is the tile as it was begun.
  std::int32_t part = 0;
  std::int32_t group = 0;
  std::int32_t tile_m = 0;
  std::int32_t tile_n = 0;
  std::int32_t k_begin = 0;  // in iterations of block_k, as in the schedule
  std::int32_t k_end = 0;
  std::int32_t peers = 1;  // items that share the tile; this is number `peer`
  std::int32_t peer = 0;

  double start = 0;
  double multiplied = 0;  // its own iterations are done
  double end = 0;         // published, or the tile is written
  // Of [start, multiplied]: packing operands on a CPU; on a GPU waiting for a block of A and B,
  // while the one before may still have been multiplied (Hopper's kernels; 0 for others).
  double data_seconds = 0;
  // It arrived last: it added what its peers had published and wrote the tile, on a CPU with the
  // help of others, of whom it is said, too. True for whole tiles.
  bool wrote_tile = false;
};

// A trace belongs to one run at a time; the run fills it from scratch.
struct Trace {
  // One for each thread or SM that took part, its items in the order of time, none overlapping.
  std::vector<std::vector<TracedItem>> tracks;
  // On a GPU the SM of each track, of which there are several where blocks ran on one SM side by
  // side; empty on a CPU.
  std::vector<std::int32_t> sms;
  double seconds = 0;  // of the whole run; on a GPU from the first block's start
};

}  // namespace tessera
