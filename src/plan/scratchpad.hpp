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

// What one block of threads keeps in shared memory. A cluster's blocks each hold their own part of
// the tile. `epilogue_bytes` is the catalogue's for a compiled kernel; without a kernel, a whole
// tile of accumulators (accumulator_bytes).
struct ScratchpadUse {
  std::int64_t a_bytes = 0;  // one stage's block of A
  std::int64_t b_bytes = 0;  // ... and of B
  int stages = 1;
  std::int64_t epilogue_bytes = 0;

  std::int64_t stage_bytes() const { return a_bytes + b_bytes; }
  std::int64_t total() const { return stages * stage_bytes() + epilogue_bytes; }
};

ScratchpadUse scratchpad_use(const TileConfig& tile, const GemmTypes& types,
                             std::int64_t epilogue_bytes);

// One tile of accumulators.
std::int64_t accumulator_bytes(const TileConfig& tile, const GemmTypes& types);

// The epilogue's bytes of a kernel, or of a tile that no kernel is compiled for (null).
std::int64_t epilogue_bytes(const KernelEntry* kernel, const TileConfig& tile,
                            const GemmTypes& types);

// Both numbers in words, if the use exceeds the machine's scratchpad.
std::optional<std::string> why_not_resident(const ScratchpadUse& use, const Machine& machine);

}  // namespace tessera
