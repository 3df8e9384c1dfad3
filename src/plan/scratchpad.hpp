// Scratchpad accounting: what a tile keeps resident beside a worker, and whether that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/catalogue.hpp"
#include "tessera/machine.hpp"
#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

// GPU: stages·(blocks of A and B) + what the kernel's epilogue stages. A cluster's blocks each hold
// their own part of the tile. `epilogue_bytes` is the catalogue's for a compiled kernel; without a
// kernel, a whole tile of accumulators (see accumulator_bytes).
std::int64_t scratchpad_bytes(const TileConfig& tile, const GemmTypes& types,
                              std::int64_t epilogue_bytes);

// One tile of accumulators.
std::int64_t accumulator_bytes(const TileConfig& tile, const GemmTypes& types);

// The sum, and the sum in words, if it exceeds the machine's scratchpad.
std::optional<std::string> why_not_resident(const TileConfig& tile, const GemmTypes& types,
                                            std::int64_t epilogue_bytes, const Machine& machine);

}  // namespace tessera
