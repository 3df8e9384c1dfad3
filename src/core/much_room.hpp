// Whether a machine has as much second-level cache as Intel's processors from Sapphire Rapids on.
#pragma once

#include <cstdint>

#include "tessera/machine.hpp"

namespace tessera {

// What some rules ask for besides: they were measured on machines with so much, and not with less.
inline bool has_much_room(const Machine& machine) {
  constexpr std::int64_t kMuch = std::int64_t{2} << 20;
  return machine.scratchpad_bytes >= kMuch;
}

}  // namespace tessera
