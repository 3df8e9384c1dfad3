// The nearest data cache of a core, whose sets repeat every 4 KB.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/problem.hpp"

namespace tessera::cpu {

inline constexpr std::size_t kNearestSetBytes = 4096;

// Lines in a set; eight where the system does not say.
int nearest_cache_ways();

// And so many or more on every processor.
inline constexpr int kNearestWays = 8;

// Whether at most `most` of so many rows start in the same set.
bool rows_keep_apart(const ConstMatrixView& view, std::int64_t rows, int most);

}  // namespace tessera::cpu
