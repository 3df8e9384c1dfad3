// The nearest data cache of a core, whose sets repeat every 4 KB.
#pragma once

#include <cstddef>

namespace tessera::cpu {

inline constexpr std::size_t kNearestSetBytes = 4096;

// Lines in a set; eight where the system does not say.
int nearest_cache_ways();

}  // namespace tessera::cpu
