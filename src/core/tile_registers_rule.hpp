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

// Bytes of k that a panel of packed B has for so many: all that its registers hold, or of less than
// those hold whole groups of 4 (but of elements in two parts).
constexpr std::int64_t panel_depth_bytes(std::int64_t depth_bytes) {
  const std::int64_t step = depth_bytes < 64 ? 4 : 64;
  return (depth_bytes + step - 1) / step * step;
}

// Flat blocks (cpu/flat_blocks.hpp): 16 rows of A multiply all columns of a packed B that stays in
// the nearest cache (48 KB) before the next ones do. So for a short k; one of whole groups of 64
// bytes has a shorter limit, and a B of whole panels leaves more room. Granite Rapids, one thread,
// 2026-11, the time by blocks of 32×32 over the time so: bf16 2782×48×96 1.35, 2334×49×192 1.42,
// 3000×64×256 1.17, 1549×160×10 1.35, i8 3000×128×32 1.44, 96³ 1.4, 40×200×64 2.1; where those had
// copied rows of A bf16 2334×49×78 2.0, 80³ 1.9, 65×91×92 1.8, 5000×100×96 1.8, i8 700×90×310 1.85;
// but 2000×40×480 0.79, 700×64×384 0.77, 1000×1000×100 0.79, 500×500×70 0.92, of whole panels
// 256×256×64 0.93 to 0.98 (Emerald Rapids 0.88), 500×192×80 0.94.
//
// Since blocks of 32×32 fetch rows of C on lines (cpu/blocking.cpp) they are faster beside three
// whole panels and more from 256 bytes of k on. Emerald Rapids, one thread, 2026-11, the time by
// flat blocks over the time so, beside a busy hardware thread and with the core to itself: bf16
// 128³ 1.16, 1.10, 1000×128×128 1.19, 1.04, 500×96×192 1.23, 1.10, 128×96×128 1.09, 1.05, i8
// 128×128×256 1.16, 1.05, 500×96×384 1.18, 1.01; with less, i8 128³ 1.11, 0.89, 500×96×192 1.15,
// 0.92; beside two panels bf16 3000×64×256 1.21, 0.80, i8 300×64×512 1.19, 1.04.
constexpr std::int64_t kFlatDepthBytes = 1024;
constexpr std::int64_t kFlatDepthBytesOfWholeGroups = 768;
constexpr std::int64_t kFlatBytes = 48 << 10;
constexpr std::int64_t kFlatBytesOfWholePanels = 40 << 10;
constexpr std::int64_t kColumnsOfWholePanels = 128;
constexpr std::int64_t kColumnsOfTwoPanels = 64;
constexpr std::int64_t kDepthBytesOfBlocks = 256;

[[gnu::always_inline]] constexpr bool suits_flat_blocks(std::int64_t depth_bytes,
                                                        std::int64_t cols) {
  const bool are_whole_panels = cols % 32 == 0;
  const bool is_deep = cols > kColumnsOfWholePanels
                           ? depth_bytes > 64
                           : cols > kColumnsOfTwoPanels && depth_bytes >= kDepthBytesOfBlocks;
  if (are_whole_panels && is_deep) return false;
  const bool are_whole_groups = depth_bytes % 64 == 0;
  const std::int64_t deepest = are_whole_groups ? kFlatDepthBytesOfWholeGroups : kFlatDepthBytes;
  const std::int64_t most = are_whole_panels ? kFlatBytesOfWholePanels : kFlatBytes;
  return depth_bytes <= deepest && panel_depth_bytes(depth_bytes) * cols <= most;
}

// So few columns of C have room in the registers beside each other.
constexpr std::int64_t kColumnsTogether = 64;

// Whether flat blocks multiply rows of A in place by so few columns over any k, also of more
// blocks: each line of A is read once, along its row, as the processor's prefetching expects, and
// the sums stay in registers. Granite Rapids, 2026-11, the time with blocks of k, whose rows were
// copied where they lie pages apart, over the time so, one thread and two: bf16 4096×16×4096 1.9,
// 2.0, 4096×32×4096 2.1, 2.2, 4096×64×4096 2.0, 2.0, 11008×16×4096 2.05, 2.1, 4096×16×11008 1.4,
// 1.4, 2000×64×2000 1.6, 1.3, 200×64×4096 1.5, 1.4, i8 1.9, 2.0, 1.75, 1.9, 1.4, 1.3, 1.65; but of
// what stays in L2 500×16×1024 0.84, 1000×16×1024 0.79, and with rows of 1 KB 10000×50×500 0.90.
[[gnu::always_inline]] constexpr bool reads_rows_once(std::int64_t rows, std::int64_t cols,
                                                      std::int64_t depth_bytes) {
  constexpr std::int64_t kLeastWork = 96 << 20;  // multiply-adds, times the bytes of an element
  constexpr std::int64_t kLeastDepthBytes = 1536;
  if (cols < 1 || cols > kColumnsTogether || depth_bytes < kLeastDepthBytes) return false;
  const std::int64_t bytes_of_a = kLeastWork / cols;
  return depth_bytes >= bytes_of_a || rows >= bytes_of_a / depth_bytes;
}

}  // namespace tessera
