// The unit in which the processors of this backend keep and move memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

inline constexpr std::size_t kCacheLine = 64;

namespace {

// So many bytes in whole lines, for panels and buffers that follow each other. Internal linkage,
// because units of different instruction sets compile it.
inline std::size_t line_up(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace

}  // namespace tessera::cpu
