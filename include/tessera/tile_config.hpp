// A TileConfig: the shape of the piece of C that one worker computes at a time, and how a kernel
// walks it.
#pragma once

#include <cstdint>

namespace tessera {

struct TileConfig {
  int block_m = 0;  // rows of an output tile
  int block_n = 0;  // columns of an output tile
  int block_k = 0;  // depth of one MAC iteration

  // GPU: k-blocks in flight in shared memory, blocks that share operands by multicast, consumer
  // warpgroups that share a tile, and whether wgmma's M runs along the problem's N (for few rows).
  int stages = 1;
  int cluster_m = 1;
  int cluster_n = 1;
  int warpgroups = 0;
  bool swap_operands = false;

  // CPU: the register tile, and the rows of A packed at a time (the tile's inner blocking).
  int mr = 0;
  int nr = 0;
  int mc = 0;
  // CPU: read an operand where it lies instead of packing it; pays where few rows or columns of C
  // use each of its elements. A kernel that cannot do so packs all the same.
  bool a_in_place = false;
  bool b_in_place = false;
  // CPU: a row of C has the same bits beside however many others (PlanOptions::batch_invariant): a
  // product is not computed as its transpose for its sizes where that rounds otherwise.
  bool rows_alike = false;

  friend bool operator==(const TileConfig&, const TileConfig&) = default;
};

}  // namespace tessera
