// In what units threads hand over parts of tiles (open_tiles.hpp).
#pragma once

#include "cpu/blocking.hpp"

namespace tessera::cpu {

// What of a tile is handed over: so many units of `each` rows or columns, the last one of what is
// left.
struct Units {
  std::int64_t size = 0;  // of the tile
  std::int64_t each = 0;
  int count = 1;

  std::int64_t start_of(int unit) const { return unit == count ? size : unit * each; }
};
Units units_of(const Product& product, const Blocking& blocking, const TileExtent& tile);

// Walks over all units that add a block of k to their sums: one for each piece of rows where they
// are columns.
int passes_of_block(const Blocking& blocking, const TileExtent& tile);

// Sets Blocking::unit and what goes with it; leaves all as it is where tiles are not shared.
void choose_units(const Launch& launch, const Product& product, Blocking& blocking);

}  // namespace tessera::cpu
