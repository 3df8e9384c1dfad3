// When a CPU packs B in passing (cpu/passing.hpp): the planner offers it and the backend does it by
// the same rule.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/in_place_rule.hpp"
#include "tessera/machine.hpp"

namespace tessera {

// Its register tiles hold so many rows, with three vectors each.
constexpr int kPassingRows = 8;

// A block of A and the rows of B that come next lie in the second-level cache where the caller put
// them, and a panel with all vectors fills a nearest cache of 48 KB. With 2 MB (Emerald Rapids,
// 2026-11) and with 1 MB (Zen 5) that is faster than packing (docs/notebook_cpu.md); with 32 KB of
// nearest cache (Zen 4) it has not been measured, and B is packed.
constexpr std::int64_t kRoomForPassing = std::int64_t{1} << 20;
constexpr std::int64_t kNearRoomForPassing = std::int64_t{48} << 10;

// Whether there are registers and room for it. `mr` and `nr`, here and below, are the register
// tile's that reads packed panels.
inline bool has_passing(const Machine& machine, int mr) {
  return mr > kPassingRows && machine.scratchpad_bytes >= kRoomForPassing &&
         machine.l1_bytes >= kNearRoomForPassing;
}

// What some rules ask for besides: they were measured on machines with so much, and not with less.
inline bool has_much_room(const Machine& machine) {
  return machine.scratchpad_bytes >= 2 * kRoomForPassing;
}

// Whether workers may write parts of the same rows of C from end to end (goes_along_rows). A Zen 4
// fetches on into the next worker's part, and the two take lines from each other, some of each row:
// two threads, 2026-11, the time so over the time with rows whole, or where columns are divided by
// register tiles, 26 random products of k ≤ 32 and a C of 0.5 to 12 MB, f64 1.2 to 1.6 (1125×154×8
// 3.3, 220×651×4 2.3, 1000×500×4 2 to 9.8), f32 1.10 (199×1808×6 3.6 to 4.3). Emerald Rapids has no
// such trouble, and two by two parts of f64 823×846×6 on four threads take 0.7 of the time so. A
// Zen 5 was not measured, nor a C that is a third of the last cache and goes by strips.
inline bool may_cut_written_rows(const Machine& machine) {
  return has_much_room(machine);
}

// Of a block of C, where both operands' rows are dense: whether it also has strips enough to read a
// panel again, columns enough to keep multiply-adds under way, and a k that is worth panels.
inline bool suits_passing(const Machine& machine, int mr, int nr, std::int64_t rows,
                          std::int64_t cols, std::int64_t depth) {
  return has_passing(machine, mr) && rows > mr && 2 * cols > nr && depth > kShortDepth;
}

// Rows of B that fill whole cache lines are read where they lie as well as from panels, by register
// tiles of four vectors (cpu/small_kernel.hpp), as long as both operands stay near: such a product
// goes the short way, also where it is larger than others that do. Other rows are split over lines,
// which panels are not. Emerald Rapids, one thread, 2026-11, the time with B packed in passing over
// the time so, A in rows and transposed: f32 144³ 1.08, 1.02, 160³ 1.10, 1.05, 192³ 1.05, 1.05,
// 256³ 1.07, 1.01, 64×512×128 1.07, 1.09; f64 144³ 0.99, 1.06, 160³ 1.08, 1.06, 128³ 1.04, 1.04;
// with rows that end within a line f32 150³ 0.95, 200³ 0.96, 100×300×200 0.95, 0.89; with more
// bytes 64×1000×200 0.91, 0.86, f64 128×512×200 0.85, 512×64×256 0.85. Not measured with a
// second-level cache of less than 2 MB.
inline bool reads_whole_lines(const Machine& machine, const FacedSizes& sizes,
                              std::int64_t b_row_bytes) {
  constexpr double kMostWork = 256.0 * 256.0 * 256.0;
  constexpr double kMostBytes = 256 << 10;  // of A, and of B
  constexpr std::int64_t kLine = 64;
  const double longer_side = std::max(sizes.rows, sizes.cols);
  return has_much_room(machine) && !is_narrow_tile(sizes.tile.mr) && b_row_bytes % kLine == 0 &&
         sizes.rows * sizes.cols * sizes.depth <= kMostWork &&
         longer_side * sizes.depth * sizes.element_bytes <= kMostBytes;
}

// So many panels' rows of B are fetched together, beside as many panels before them: parts of rows
// so long come from memory better than a panel's, one from each page. With more strips of A to go
// by meanwhile they come too early, and the nearest cache has no room for them. Granite Rapids, one
// thread, 2026-11, the time with one panel over the time with four: f64 64×4096×4096 1.13,
// 64×8192×4096 1.12 to 1.17, 100×11008×2048 1.06 to 1.10, 56×512×1024 1.09, 64×1000×1000 1.05,
// 128×4096×4096 1.03, 256×4096×4096 1.01, 3000×500×1000 0.92; f32 1.00 to 1.05, 1.2, 1.02, 1.03,
// 1.03, 1.00, 0.98, 1.00. With two, eight and sixteen f64 64×4096×4096 0.98, 1.11, 1.10,
// 64×5001×3001 0.99, 0.94, 0.90, f32 64×8192×4096 1.21, 1.22, 1.08.
inline std::int64_t panels_fetched_together(std::int64_t rows, bool fetches_near) {
  constexpr std::int64_t kMostRows = 16 * kPassingRows;
  return rows <= kMostRows && !fetches_near ? 4 : 1;
}

}  // namespace tessera
