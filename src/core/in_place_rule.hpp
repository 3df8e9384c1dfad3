// How a CPU reads a large B where it lies: what the planner and the backend have to agree on.
#pragma once

#include <cstdint>

#include "core/much_room.hpp"
#include "core/orientation_rule.hpp"

namespace tessera {

// Intel's processors read so many rows of B side by side for a few rows of C (cpu/streams.hpp): up
// to so many where there are registers for them.
constexpr int kManyStreams = 16;
constexpr std::int64_t kRowsOfManyStreams = 8;

// So few rows of C walk a B in place by wide tiles (cpu/wide_tiles.hpp), all of k at a time, and so
// many with wide registers where B lies in a cache and its rows keep apart in the nearest.
constexpr std::int64_t kRowsOfOneWideTile = 8;
constexpr std::int64_t kMostRowsOfWideTiles = 48;

// With narrow registers up to so many, and so much of k at least, of a B beyond the second-level
// cache, in which small_kernel.hpp is as good, but not far beyond it. Zen 3 (L2 of 512 KB), one
// thread, f32, operands in rows, 2026-11, the time by packing over the time by wide tiles of four
// rows: 9×300×600 1.68, 16×300×600 1.44, 24×300×600 1.33, 9×1000×1000 1.56, 16×1000×1000 1.43,
// 12×363×2488 1.42, 9×1194×305 1.39, 16×2000×200 1.34, 24×2000×200 1.21; 12×2511×49 0.83,
// 40×2000×200 1.0, 60×2000×200 0.63. Six rows of two vectors at a time take 2 to 12 % longer. Of
// more bytes of B f64 24×1000×1000 0.69, f16 16×1500×2000 0.54.
constexpr std::int64_t kMostRowsOfNarrowWideTiles = 24;

inline bool suits_narrow_wide_tiles(std::int64_t depth, double b_bytes,
                                    std::int64_t scratchpad_bytes) {
  constexpr std::int64_t kLeastDepth = 64;
  constexpr double kMostBytes = 4 << 20;
  return depth >= kLeastDepth && b_bytes > static_cast<double>(scratchpad_bytes) &&
         b_bytes <= kMostBytes;
}

// Of a B that stays in the second-level cache twice as many: Zen 5, one thread, 2026-11, the time
// by packing B in passing over the time by wide tiles, f32 50×330×698 1.12, 64×250×1000 1.06,
// 64×128×1024 1.08, 90×400×600 1.06, 96×200×1000 1.03, f64 64×130×900 1.09, 64×300×250 1.06; from
// the last cache f32 64×1000×1000 0.95, f64 64×250×1000 0.94, and of 128 rows and more level:
// 128×250×1000 0.96, 256³ 1.00, 500×250×1000 1.02.
inline std::int64_t most_rows_of_wide_tiles(bool stays) {
  return stays ? 2 * kMostRowsOfWideTiles : kMostRowsOfWideTiles;
}

// With much second-level cache (plan/whole_rows.hpp) so many, of a B that stays in it and whose
// rows keep apart, and of which workers are dealt columns. Granite Rapids, 2026-11, the time by a
// register tile of twelve rows over the time by wide tiles, one thread and two: f32
// 9×200×500 1.42, 1.14, 12×330×698 1.25, 1.20, 12×700×700 1.47 to 1.53, 1.45,
// 10×1000×500 1.37, 1.64, 12×64×800 1.48, 1.29, 11×150×300 1.11, 1.12; f64 9×200×500 1.40,
// 10×300×600 1.36, 12×330×698 1.14; on two threads with parts of 256 of k 10×500×500 0.80, and
// whole 1.37. Emerald Rapids, one thread, f32 12×500×500 1.26, 12×700×700 1.65, 9×200×500 0.96, f64
// 12×350×350 1.29; 14 to 24 rows 0.69 to 1.56 in f32, 1.12 to 1.64 in f64.
constexpr std::int64_t kRowsOfWideTilesFromL2 = 12;

// With a k this short, most of a large C's time is writing it: rows of it are written from end to
// end, by wide tiles of eight rows, while B stays in a near cache. Zen 5, one thread, 2026-11, the
// time by panels of C's columns (packed or packed in passing) over the time along its rows: f32
// 732×959×4 1.29, 1282×1544×5 1.19, 142×1190×19 1.16, 64×3000×12 1.18, 16×3000×8 1.13, 2464×1645×28
// 1.55, 3000×3000×16 1.44 to 2.2, 4096×4096×16 2.2, 1000×1000×32 1.06, f64 732×959×4 1.28,
// 2464×1645×28 1.44, 3000×3000×16 2.4; with more k 700×800×48 1.00, 3000×3000×64 0.88, 4096×4096×64
// 0.78. With a C of less than 512 KB 100×1000×8 0.97, 300×300×16 0.95, 60×1000×4 0.95; with columns
// for one vector 20000×8×8 0.69, for two 20000×20×8 1.23. Where there are half as many registers of
// half the width, it loses: 732×959×4 0.95, 3000×3000×16 0.69.
constexpr std::int64_t kShortDepth = 32;
constexpr std::int64_t kPartOfL2 = 2;

// A block of C where there are wide registers, `nr` columns of a register tile, and rows of B are
// dense. `cuts_rows`: workers share C's rows, and its columns may not be written so
// (core/passing_rule.hpp).
struct WrittenBlock {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t depth = 0;
  int nr = 0;
  int element_bytes = 0;
  int sum_bytes = 0;
  bool b_begins_at_lines = false;
  bool cuts_rows = false;
};

// A C that much second-level cache holds is written faster by register tiles that read B in place,
// where f32 begins at lines in each of its rows. Granite Rapids, one thread, operands in rows,
// 2026-11-30, the time along rows over the time so, C of 1.2 MB with k of 10 to 16 (four
// products) 1.3, with 22 and 30 1.16, of 1.8 MB 1.15, 1.0; of 2.6 to 4 MB 0.7, f64 with 1.5 MB 0.7.
// With less of k products may go the short way, whose form is kept for a B at any address.
inline bool suits_register_tiles(const WrittenBlock& c, std::int64_t scratchpad_bytes) {
  constexpr int kSize = 4;
  constexpr std::int64_t kLeastDepth = 9;
  return has_much_room(scratchpad_bytes) && c.b_begins_at_lines && c.element_bytes == kSize &&
         c.depth >= kLeastDepth && c.rows * c.cols * c.element_bytes <= scratchpad_bytes;
}

inline bool goes_along_rows(const WrittenBlock& c, std::int64_t scratchpad_bytes) {
  return !c.cuts_rows && c.depth <= kShortDepth && c.rows > kRowsOfOneWideTile &&
         2 * c.cols > c.nr && kPartOfL2 * c.rows * c.cols * c.sum_bytes >= scratchpad_bytes &&
         !suits_register_tiles(c, scratchpad_bytes);
}

// Whether the last cache does not hold so many bytes from one call to the next: a third of it, of
// which others have their share.
inline bool come_from_memory(double bytes, std::int64_t cache_bytes) {
  return 3 * bytes >= static_cast<double>(cache_bytes);
}

// Register tiles of fewer rows than this are those of short and few registers, as AVX2's are.
constexpr int kRowsOfNarrow = 8;

constexpr bool is_narrow_tile(int mr) {
  return mr < kRowsOfNarrow;
}

// A B in place that is interleaved or widened in registers has so many columns at least: narrow
// registers have no masks for elements so small, and a part of a vector comes with the columns
// before it.
inline std::int64_t least_columns_in_registers(int mr, int nr) {
  return is_narrow_tile(mr) ? nr / 2 : 1;
}

// A product as register tiles face it, in elements.
struct FacedSizes {
  RegisterTile tile;
  double rows = 0;
  double cols = 0;
  double depth = 0;
  int element_bytes = 0;
  int sum_bytes = 0;
};

// Whether C is so large, beside narrow register tiles, that it is best written once, from end to
// end, all of B passing by each row of them.
inline bool is_large_c(const FacedSizes& sizes, std::int64_t scratchpad_bytes) {
  constexpr double kScratchpads = 8;
  return is_narrow_tile(sizes.tile.mr) && sizes.rows * sizes.cols * sizes.sum_bytes >
                                              kScratchpads * static_cast<double>(scratchpad_bytes);
}

// Whether narrow register tiles come row by row of them the short way: so does a smaller C with
// long rows beside a B that stays in the nearest cache. Zen 3, one thread, f32, 2026-11, the time
// column by column over the time so: 319×1219×2 1.68, 1024×1024×2 1.88, 490×183×3 1.31,
// 346×239×4 1.30, 300×300×8 1.05, 51×516×13 1.03; 1228×104×3 0.9, 2821×64×2 0.7, 100×100×20 0.87.
inline bool walks_rows(const FacedSizes& sizes, std::int64_t scratchpad_bytes) {
  constexpr double kNearBytes = 16 << 10;
  constexpr double kLongRowBytes = 512;
  if (is_large_c(sizes, scratchpad_bytes)) return true;
  const double row_bytes = sizes.cols * sizes.sum_bytes;
  return is_narrow_tile(sizes.tile.mr) && row_bytes >= kLongRowBytes &&
         row_bytes * sizes.rows > 2 * kNearBytes &&
         sizes.cols * sizes.depth * sizes.element_bytes <= kNearBytes;
}

// A small product goes the short way (cpu/direct.hpp): one pass over k without more ado, operands
// in place or packed whole. Beyond some multiply-adds walking it in pieces that fit the caches
// matters more; narrow register tiles, which read panels no faster than rows of B that stay in L2,
// go it as long as both operands do, or k is short and C is large. Zen 3 (L2 of 512 KB), one
// thread, 2026-11, operands in rows, the time by packing over the time so, with m = 12, 34 and 100:
// f32 100×72 1.87, 1.44, 1.26; 300×128 1.63, 1.31, 1.10; 300×400 1.45, 1.14, 0.99; 1000×48 1.53,
// 1.39, 1.48; 1000×200 1.03, 0.81, 0.98; f64 300×128 1.49, 1.18, 1.09; rows whole pages apart
// 512×128 1.14, 0.93, 0.87. More rows, k = 16, 32, 64 and 128: f32 3000×300 1.48, 1.32, 1.12, 0.86;
// f64 1071×300 0.98, 1.11, 0.95, 0.75; f32 300³ 0.88; a large C row by row, f32 1071×1210 1.27,
// 1.14, 0.93, 1.00, f64 1.18, 1.01, 0.98, 0.98.
//
// Tile registers, which have done four times as much before blocks matter, go it further. Emerald
// Rapids, one thread, 2026-11, the time by blocks over the time so, i8 and bf16: 160³ 1.25, 1.11,
// 200³ 1.08, 1.06, 256³ 1.06, 1.02, 1000×100×100 1.08, 1.03, 128×512×256 1.05, 1.02, 64×1000×256
// 0.99, 1.00, f16 of nine 1.01; on two threads level.
inline bool suits_short_way(const FacedSizes& sizes, std::int64_t scratchpad_bytes) {
  constexpr double kSmall = 128.0 * 128.0 * 128.0;
  constexpr double kSmallOfTileRegisters = 8 * kSmall;
  constexpr double kShortRow = 128;
  const double most = has_tile_registers(sizes.tile) ? kSmallOfTileRegisters : kSmall;
  const bool is_small = sizes.rows * sizes.cols * sizes.depth <= most;
  if (is_small || !is_narrow_tile(sizes.tile.mr)) return is_small;
  if (is_large_c(sizes, scratchpad_bytes)) return sizes.depth * sizes.element_bytes <= kShortRow;
  const double bytes = (sizes.rows + sizes.cols) * sizes.depth * sizes.element_bytes;
  return 8 * bytes <= 7 * static_cast<double>(scratchpad_bytes);
}

// No more than so many bytes are packed for it; sums that do not lie in C may take as much again.
// Tile registers pack most of what they read: Granite Rapids, one thread, 2026-11, the time with 64
// KB over the time with 128, f16 70³ 1.13, 96³ 1.08, 128³ 1.06, A transposed 1.09, 1.13, 1.10, bf16
// 100×100×200 1.09 and 1.14.
inline std::int64_t short_way_bytes(const RegisterTile& tile, std::int64_t scratchpad_bytes) {
  constexpr std::int64_t kLeast = 64 << 10;
  if (has_tile_registers(tile)) return 2 * kLeast;
  return is_narrow_tile(tile.mr) && scratchpad_bytes > 2 * kLeast ? scratchpad_bytes / 2 : kLeast;
}

// Several threads take parts of its columns or of its rows (cpu/direct.hpp): multiples of `tile`
// but for the last part, and as equal as that allows. The size of a part; 0 where parts
// of it for all workers would be larger than the whole by more than the `parts_of_uneven`th of it.
inline std::int64_t size_of_part(std::int64_t size, int workers, int tile,
                                 std::int64_t parts_of_uneven = 8) {
  const std::int64_t each = (size + workers - 1) / workers;
  const std::int64_t part = (each + tile - 1) / tile * tile;
  return parts_of_uneven * (part * workers - size) <= size ? part : 0;
}

// Whether two blocks of B of so many bytes leave room in the second-level cache; where such a block
// is most of B's rows it comes in one piece of memory.
inline bool leave_room(double block_bytes, std::int64_t scratchpad_bytes) {
  return 3 * block_bytes <= static_cast<double>(scratchpad_bytes);
}

}  // namespace tessera
