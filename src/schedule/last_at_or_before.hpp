// Whose stretch of a line holds a position, by the places where the stretches begin.
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"

namespace tessera {

// Of `count` stretches in their order, the last whose `begin` is at or before `position`, which is
// the one that is not empty where several begin there. The first where none is, and where there are
// none.
template <auto begin, class Stretch, class Position>
TESSERA_HD inline std::int32_t last_at_or_before(const Stretch* stretches, std::int32_t count,
                                                 Position position) {
  std::int32_t low = 0;
  std::int32_t high = count;
  while (high - low > 1) {
    const std::int32_t middle = (low + high) / 2;
    (stretches[middle].*begin <= position ? low : high) = middle;
  }
  return low;
}

}  // namespace tessera
