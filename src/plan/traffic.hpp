// The traffic model: which blocks of A and B a wave of output tiles loads, and how many bytes of
// them come from device memory rather than from the shared cache.
//
// count_blocks is exact and slow: it walks the tiles and asks the BlockSpecs. The planner uses
// wave_footprint, which knows the shape that each tile order gives a wave; the tests hold one
// against the other.
#pragma once

#include <cstdint>

#include "plan/shape_runs.hpp"
#include "tessera/machine.hpp"
#include "tessera/problem.hpp"
#include "tessera/schedule.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

struct TileGrid {
  std::int32_t m = 0;
  std::int32_t n = 0;
  std::int32_t k = 1;  // MAC iterations per tile

  std::int64_t tiles() const { return static_cast<std::int64_t>(m) * n; }
};

struct BlockCount {
  std::int64_t a = 0;
  std::int64_t b = 0;

  std::int64_t total() const { return a + b; }
};

// Distinct blocks of A and B that the tiles [first, first + count) of one product load, each once.
// On a 9×9×9 grid the first 9 tiles load 90 in linear order and 54 in swizzle(3).
BlockCount count_blocks(const TileGrid& grid, TileOrderChoice order, std::int64_t first,
                        std::int64_t count);

// Tile rows and columns that `count` consecutive tiles touch, on average over where they start.
struct WaveFootprint {
  double rows = 0;
  double cols = 0;
};
WaveFootprint wave_footprint(const TileGrid& grid, TileOrderChoice order, std::int64_t count);

struct Traffic {
  double memory_bytes = 0;  // A and B read, C written and, with beta ≠ 0, read
  double cache_bytes = 0;   // A and B as the tiles ask for them
  // What counts at the memory's pace if every worker stands at a depth of its own, as stream-K
  // leaves them. On a GPU that is all that is asked for: only requests for the same block at the
  // same time are served together, and a cache that serves each by itself is about as fast as the
  // memory.
  double scattered_bytes = 0;
};

// Traffic of `run.count` products that `workers` workers walk tile by tile.
Traffic estimate_traffic(const ShapeRun& run, const TileGrid& grid, const Problem& problem,
                         TileOrderChoice order, std::int64_t workers, const Machine& machine);

}  // namespace tessera
