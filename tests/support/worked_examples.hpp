// The decompositions that the documentation works out by hand: 1536×1792×k as a hybrid with tiles
// of 128×128×32, 12 × 14 of them. Partitions have to be cut, and plans to be made, like this.
#pragma once

#include <cstdint>

namespace tessera::test {

struct HybridExample {
  std::int64_t k;
  int workers;
  bool two_tile;
  std::int64_t stream_tiles;
  std::int64_t data_parallel_tiles;
  std::int64_t iterations_per_tile;
  std::int64_t stream_iterations;
  std::int64_t per_worker;
  std::int64_t left_over;
};

inline constexpr HybridExample kHybridExamples[] = {
    {32000, 84, true, 84, 84, 1000, 84000, 1000, 0}, {6016, 82, true, 86, 82, 188, 16168, 197, 14},
    {6016, 82, false, 4, 164, 188, 752, 9, 14},      {6016, 84, true, 84, 84, 188, 15792, 188, 0},
    {6016, 84, false, 0, 168, 188, 0, 0, 0},
};

}  // namespace tessera::test
