// The unit in which the processors of this backend keep and move memory.
#pragma once

#include <cstddef>

namespace tessera::cpu {

inline constexpr std::size_t kCacheLine = 64;

}  // namespace tessera::cpu
