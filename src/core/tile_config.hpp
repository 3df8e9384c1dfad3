// The limits of a TileConfig and of a Schedule, stated once: the JSON reader, the planner's options
// and the tests all ask here. (What a particular machine can hold is plan/scratchpad.hpp's
// business.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/element_type.hpp"
#include "tessera/problem.hpp"
#include "tessera/schedule.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

// A side of a tile. Far beyond what pays; it keeps the products of two sides within 64 bits.
inline constexpr int kMaxBlock = 1 << 20;
inline constexpr int kMaxStages = 64;
inline constexpr int kMaxCluster = 16;
// The fix-up tree (schedule/fixup.hpp) is deep enough for as many peers per tile.
inline constexpr int kMaxWorkers = 1 << 16;
inline constexpr int kMaxSplits = 1 << 16;
// Groups and tiles are numbered in 32 bits along each side.
inline constexpr std::int64_t kMaxGridSide = 0x7fffffff;

// "128x256x64", the spelling of the command line.
std::string to_text(const TileConfig& tile);

// "hybrid", "split_k(4)": a schedule's kind, with its pieces.
std::string kind_text(const Schedule& schedule);
// "hilbert", "swizzle(8)"
std::string order_text(const Schedule& schedule);

// Why no kernel could use these values on any machine; nothing where they are sound.
std::optional<std::string> why_not(const TileConfig& tile);
std::optional<std::string> why_not(const Schedule& schedule);

// Why the tiles of a problem could not be numbered; nothing where they can.
std::optional<std::string> why_not(const TileConfig& tile, const Problem& problem);

}  // namespace tessera
