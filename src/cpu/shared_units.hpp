// In what units threads hand over parts of tiles (open_tiles.hpp).
#pragma once

#include "cpu/blocking.hpp"

namespace tessera::cpu {

// Sets Blocking::unit and what goes with it; leaves all as it is where tiles are not shared.
void choose_units(const Launch& launch, const Product& product, Blocking& blocking);

}  // namespace tessera::cpu
