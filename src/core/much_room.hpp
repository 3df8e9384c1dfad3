// Whether a machine has as much second-level cache as Intel's processors from Sapphire Rapids on.
#pragma once

#include <cstdint>

#include "tessera/machine.hpp"

namespace tessera {

// What some rules ask for besides: they were measured on machines with so much, and not with less.
inline bool has_much_room(std::int64_t scratchpad_bytes) {
  constexpr std::int64_t kMuch = std::int64_t{2} << 20;
  return scratchpad_bytes >= kMuch;
}

inline bool has_much_room(const Machine& machine) {
  return has_much_room(machine.scratchpad_bytes);
}

}  // namespace tessera
