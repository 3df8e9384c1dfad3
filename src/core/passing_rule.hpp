// When a CPU packs B in passing (cpu/passing.hpp): the planner offers it and the backend does it by
// the same rule.
#pragma once

#include <cstdint>

namespace tessera {

// Its register tiles hold so many rows, with three vectors each.
constexpr int kPassingRows = 8;

// A block of A and the rows of B that come next lie in the second-level cache where the caller put
// them. With 2 MB (Emerald Rapids, 2026-11) that is faster than packing (docs/performance.md); the
// processors with 1 MB have not been measured, and pack.
constexpr std::int64_t kRoomForPassing = std::int64_t{2} << 20;

// Whether there are registers and room for it. `mr` and `nr`, here and below, are the register
// tile's that reads packed panels.
inline bool has_passing(std::int64_t scratchpad_bytes, int mr) {
  return mr > kPassingRows && scratchpad_bytes >= kRoomForPassing;
}

// Of a block of C, where both operands' rows are dense: whether it also has strips enough to read a
// panel again, and columns enough to keep multiply-adds under way.
inline bool suits_passing(std::int64_t scratchpad_bytes, int mr, int nr, std::int64_t rows,
                          std::int64_t cols) {
  return has_passing(scratchpad_bytes, mr) && rows > mr && 2 * cols > nr;
}

}  // namespace tessera
