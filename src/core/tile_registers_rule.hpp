// How tile registers (AMX) walk a block: what the planner and the CPU backend have to agree on.
#pragma once

#include <cstdint>

#include "core/catalogue.hpp"

namespace tessera {

inline bool has_tile_registers(const KernelEntry& kernel) {
  return kernel.architecture == "amx";
}

// Whether rows that lie so many bytes apart lie whole pages apart, so that they share few sets of
// the near caches.
constexpr bool rows_collide(std::int64_t pitch_bytes) {
  constexpr std::int64_t kPageBytes = 4096;
  return pitch_bytes % kPageBytes == 0;
}

// A packed block of B of so many bytes at most stays in the second-level cache while strips of A
// and of C's rows pass it by, each written from end to end. One core of a Granite Rapids (2 MB of
// L2), 2026-11, GFLOP/s by panels of C's columns and so: bf16 600³ 940 and 1120, 384×384×3000 980
// and 1090, i8 768³ 2440 and 2800. Blocks of 1.25 MB in place of 1.0 take bf16 512×4096×4096 1.14
// times as long, 3000³ 1.09.
constexpr std::int64_t near_b_bytes(std::int64_t scratchpad_bytes) {
  return scratchpad_bytes / 20 * 11;
}

// Whether a C of so many bytes does not stay in the nearest cache beside A and B.
constexpr bool leaves_nearest(std::int64_t c_bytes, std::int64_t l1_bytes) {
  return 4 * c_bytes > 3 * l1_bytes;
}

}  // namespace tessera
