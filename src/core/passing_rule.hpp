// When a CPU packs B in passing (cpu/passing.hpp): the planner offers it and the backend does it by
// the same rule.
#pragma once

#include <cstdint>

#include "core/in_place_rule.hpp"
#include "tessera/machine.hpp"

namespace tessera {

// Its register tiles hold so many rows, with three vectors each.
constexpr int kPassingRows = 8;

// A block of A and the rows of B that come next lie in the second-level cache where the caller put
// them, and a panel with all vectors fills a nearest cache of 48 KB. With 2 MB (Emerald Rapids,
// 2026-11) and with 1 MB (Zen 5) that is faster than packing (docs/performance.md); with 32 KB of
// nearest cache (Zen 4) it has not been measured, and B is packed.
constexpr std::int64_t kRoomForPassing = std::int64_t{1} << 20;
constexpr std::int64_t kNearRoomForPassing = std::int64_t{48} << 10;

// Whether there are registers and room for it. `mr` and `nr`, here and below, are the register
// tile's that reads packed panels.
inline bool has_passing(const Machine& machine, int mr) {
  return mr > kPassingRows && machine.scratchpad_bytes >= kRoomForPassing &&
         machine.l1_bytes >= kNearRoomForPassing;
}

// Of a block of C, where both operands' rows are dense: whether it also has strips enough to read a
// panel again, columns enough to keep multiply-adds under way, and a k that is worth panels.
inline bool suits_passing(const Machine& machine, int mr, int nr, std::int64_t rows,
                          std::int64_t cols, std::int64_t depth) {
  return has_passing(machine, mr) && rows > mr && 2 * cols > nr && depth > kShortDepth;
}

}  // namespace tessera
