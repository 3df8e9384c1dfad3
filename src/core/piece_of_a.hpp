// What of A the CPU backend multiplies at a time, to which the planner fits the depth of its
// panels.
#pragma once

#include <cstdint>

namespace tessera {

// A packed piece takes a quarter of the second-level cache at most (beside a packed B; with half of
// it f64 2048³ makes 55.4 GFLOP/s instead of 55.7 on Zen 4, and other types the same); the rest is
// for the panels of B in use, the next ones on their way, and C.
constexpr std::int64_t piece_of_a_bytes(std::int64_t scratchpad_bytes) {
  return scratchpad_bytes / 4;
}

}  // namespace tessera
