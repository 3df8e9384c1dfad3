// A tile order as a picture of C: the tiles of the first wave, the path through them, and the rows
// of A and columns of B that they need.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/schedule.hpp"

namespace tessera::report {

struct TileOrderPicture {
  std::int32_t grid_m = 0;
  std::int32_t grid_n = 0;
  TileOrderChoice order;
  std::int64_t wave = 0;  // tiles in a full wave
  std::string title;      // "swizzle(8)"
  std::string subtitle;   // "54 blocks"
  bool is_chosen = false;
};

std::string tile_order_picture(const TileOrderPicture& picture);

}  // namespace tessera::report
