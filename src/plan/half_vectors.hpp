// Whether a processor multiplies vectors of 512 bits in two halves, as Zen 4 does.
#pragma once

#include "core/in_place_rule.hpp"
#include "core/much_room.hpp"
#include "tessera/machine.hpp"

namespace tessera {

// A core makes 32 flops of f32 a cycle then, and moves within vectors are to spare beside them. Of
// the shipped machines that is zen4 alone; described by hand, a processor of 64 flops a cycle at
// less than 2.5 GHz with less than 2 MB of L2 is taken for one, too. `mr` is the register tile's.
inline bool multiplies_in_halves(const Machine& machine, int mr) {
  constexpr double kMostFlops = 32 * 5e9;
  const double peak = machine.peak(ElementType::f32);
  return !is_narrow_tile(mr) && peak > 0 && peak <= kMostFlops && !has_much_room(machine);
}

// Rows of B that are interleaved and lie a multiple of this apart collide in its nearest cache.
constexpr std::int64_t kCollidingRowBytes = 1024;

}  // namespace tessera
