// When a CPU packs B in passing (cpu/passing.hpp): the planner offers it and the backend does it by
// the same rule.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/in_place_rule.hpp"
#include "core/much_room.hpp"
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

// Several workers take parts of a small product's rows (core/in_place_rule.hpp) by so many. Where A
// is in place, as the planner assumes of kernels that can read it so, register tiles are dealt rows
// evenly (cpu/small_kernel.hpp). Emerald Rapids, 2026-11, 60 random products of 30 to 300 a side,
// the time with whole tiles of twelve over the time so: f32 in rows, A across, B along k on two
// threads 1.02, 1.02, 1.02, on four 1.06, 1.07, 1.03. AMD's processors were not measured.
inline int rows_of_part(int mr, bool are_in_place, const Machine& machine) {
  constexpr int kRows = 4;
  return are_in_place && has_much_room(machine) && !is_narrow_tile(mr) ? kRows : mr;
}

// A kernel's register tile on a machine. Tall ones were measured where there is much room.
inline RegisterTile register_tile(int mr, int nr, const Machine& machine) {
  const RegisterTile tile{mr, nr};
  return {mr, nr, has_much_room(machine) && !is_narrow_tile(mr) && !has_tile_registers(tile)};
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
inline bool suits_passing(const Machine& machine, const FacedSizes& block) {
  const RegisterTile& tile = block.tile;
  return has_passing(machine, tile.mr) && block.rows > tile.mr && 2 * block.cols > tile.nr &&
         block.depth > kShortDepth;
}

// Whether rows, so many bytes apart, begin at cache lines, the first at `address`: vectors of
// theirs are not split over two then. A problem's alignment, which divides both, answers it as
// well.
inline bool begin_at_lines(std::int64_t row_bytes, std::uintptr_t address = 0) {
  constexpr std::uintptr_t kLine = 64;
  return (static_cast<std::uintptr_t>(row_bytes) | address) % kLine == 0;
}

// Such rows are read where they lie as well as from panels, by register tiles of four vectors
// (cpu/small_kernel.hpp), as long as both operands stay near: a product with operands in place goes
// the short way with them also where it is larger than others that do. Emerald Rapids, one thread,
// 2026-11, the time with B packed in passing over the time so, A in rows and transposed: f32 144³
// 1.08, 1.02, 160³ 1.10, 1.05, 192³ 1.05, 1.05, 256³ 1.07, 1.01, 64×512×128 1.07, 1.09; f64 144³
// 0.99, 1.06, 160³ 1.08, 1.06; rows that do not begin at lines f32 150³ 0.95, 200³ 0.96,
// 100×300×200 0.95, 0.89, a B 16 bytes off a line 160³ 0.97, 192³ 0.96, 256³ 0.96; more bytes
// 64×1000×200 0.91, 0.86, f64 128×512×200 0.85, 512×64×256 0.85. Not measured with a second-level
// cache of less than 2 MB. Planned tiles have no more bytes of k in one pass
// (plan/cpu_in_place.cpp).
inline bool stays_in_lines(const Machine& machine, const FacedSizes& sizes) {
  constexpr double kMostWork = 256.0 * 256.0 * 256.0;
  constexpr double kMostBytes = 256 << 10;  // of A, and of B
  constexpr double kMostDepthBytes = 1280;
  const double depth_bytes = sizes.depth * sizes.element_bytes;
  return has_passing(machine, sizes.tile.mr) && has_much_room(machine) &&
         sizes.rows * sizes.cols * sizes.depth <= kMostWork &&
         std::max(sizes.rows, sizes.cols) * depth_bytes <= kMostBytes &&
         depth_bytes <= kMostDepthBytes;
}

// `reads_lines`: both operands are in place, their rows dense, and B's begin at lines.
inline bool goes_short_way(const Machine& machine, const FacedSizes& sizes, bool reads_lines) {
  return suits_short_way(sizes, machine.scratchpad_bytes) ||
         (reads_lines && stays_in_lines(machine, sizes));
}

// A block of a product that goes the short way packs rows of B that do not begin at lines in
// passing where a panel's columns, all of k at once, find no room in the nearest cache, because
// their lines lie in few of its sets: rows whose length has a large power of two in it. Emerald
// Rapids, one thread, 2026-11, B 16 bytes off a line, the time in place over the time so: f32
// 128³ 1.13 to 1.15, f64 1.20; Granite Rapids by tiles of two vectors f32 100×256×80 1.03, 1.02 (A
// in rows and transposed), 48×512×80 1.04, 1.02, 96×128×160 1.03 to 1.08, 1.02, but 40×256×200
// 0.98, 0.99, 32×512×128 0.98, 24×256×256 0.95; f64 100×256×80 1.08, 1.06, 48×512×80 1.06, 1.01,
// 96×128×160 1.07, 1.10; rows that find room f32 200×128×80 0.95, 112³ 1.01, 100³ 0.97, f64 64³
// 0.94, 100³ 0.95; blocks whose B stays near, f32 128³ on two threads 1.01, 0.88.
inline bool suits_passing_short_way(const Machine& machine, const FacedSizes& block,
                                    std::int64_t b_row_bytes) {
  constexpr double kLeastRows = 48;
  constexpr std::int64_t kWayBytes = 4096;  // of a cache of 48 KB with twelve ways
  const auto power = static_cast<double>(std::min(b_row_bytes & -b_row_bytes, kWayBytes));
  const auto l1 = static_cast<double>(machine.l1_bytes);
  return has_much_room(machine) && block.rows >= kLeastRows && suits_passing(machine, block) &&
         block.cols * block.depth * block.element_bytes > l1 && block.depth * power > l1;
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
