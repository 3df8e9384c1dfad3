// How a CPU reads a large B where it lies: what the planner and the backend have to agree on.
#pragma once

#include <cstdint>

namespace tessera {

// Intel's processors read so many rows of B side by side for a few rows of C (cpu/streams.hpp): up
// to so many where there are registers for them.
constexpr int kManyStreams = 16;
constexpr std::int64_t kRowsOfManyStreams = 8;

// So few rows of C walk a B in place by wide tiles (cpu/wide_tiles.hpp), all of k at a time, and so
// many with wide registers where B lies in a cache and its rows keep apart in the nearest.
constexpr std::int64_t kRowsOfOneWideTile = 8;
constexpr std::int64_t kMostRowsOfWideTiles = 48;

// Whether the last cache does not hold so many bytes from one call to the next: a third of it, of
// which others have their share.
inline bool come_from_memory(double bytes, std::int64_t cache_bytes) {
  return 3 * bytes >= static_cast<double>(cache_bytes);
}

// Whether two blocks of B of so many bytes leave room in the second-level cache; where such a block
// is most of B's rows it comes in one piece of memory.
inline bool leave_room(double block_bytes, std::int64_t scratchpad_bytes) {
  return 3 * block_bytes <= static_cast<double>(scratchpad_bytes);
}

}  // namespace tessera
