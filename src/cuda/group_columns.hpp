// How a group's columns are shared out among tiles, in kernels that are compiled for groups.
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"

namespace tessera::cuda {

// Evenly among the blocks along them: two tiles of 136 columns take less than one of 256 and one of
// 16, for a tile loads as many rows of A as any other.
struct GroupColumns {
  std::int32_t step_log2 = 0;  // columns
  std::int32_t steps = 0;      // of every block
  std::int32_t wider = 0;      // the first blocks, which have one step more

  TESSERA_HD int first(int block) const {
    return (block * steps + (block < wider ? block : wider)) << step_log2;
  }
  TESSERA_HD int most(int block) const { return (steps + (block < wider ? 1 : 0)) << step_log2; }
};

// In what steps they are: those in which they are loaded; or finer ones, so that a group's tiles
// end together, whose workers go on together then and find each other's rows of A in the cache. Of
// the last box that such a tile loads, some belongs to the next.
struct ColumnSteps {
  std::int16_t load_log2 = 0;
  std::int16_t fine_log2 = 0;
  std::int16_t of_block = 1;       // columns
  std::int16_t blocks_across = 1;  // of a worker's tile
  std::int32_t most_fine = 0;      // columns of a group

  // Of a group with n columns in the kernel's orientation.
  TESSERA_HD GroupColumns columns_of(std::int64_t n) const {
    if (n <= 0) return {};
    const std::int32_t across = of_block * blocks_across;
    return share(static_cast<std::int32_t>(n),
                 static_cast<std::int32_t>((n + across - 1) / across) * blocks_across);
  }
  // Among so many blocks.
  TESSERA_HD GroupColumns share(std::int32_t n, std::int32_t blocks) const {
    const bool is_fine = n > of_block && n <= most_fine;
    const std::int32_t log2 = is_fine ? fine_log2 : load_log2;
    const std::int32_t steps = ((n - 1) >> log2) + 1;
    if (blocks == 1) return {log2, steps, 0};
    const std::int32_t of_each = steps / blocks;
    return {log2, of_each, steps - of_each * blocks};
  }
};

}  // namespace tessera::cuda
