// Whether a processor multiplies vectors of 512 bits in two halves, as Zen 4 does.
#pragma once

#include "plan/whole_rows.hpp"
#include "tessera/machine.hpp"

namespace tessera {

// A core makes 32 flops of f32 a cycle then, and moves within vectors are to spare beside them.
// What makes 64 at so low a rate has more L2, which other rules ask for.
inline bool multiplies_in_halves(const Machine& machine) {
  constexpr double kMostFlops = 32 * 5e9;
  return machine.peak(ElementType::f32) <= kMostFlops &&
         machine.scratchpad_bytes < kRoomForWholeRows;
}

}  // namespace tessera
