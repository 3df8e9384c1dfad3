#include "cpu/shared_units.hpp"

#include <algorithm>
#include <cstdint>

#include "core/passing_rule.hpp"
#include "core/tile_registers_rule.hpp"
#include "cpu/open_tiles.hpp"

namespace tessera::cpu {
namespace {

// What is handed over together is some microseconds of work, far more than that takes, and more
// than packing again what the other thread has packed for itself: of an operand that is packed for
// the rows that follow, so many rows at least.
constexpr std::int64_t kWorkOfUnit = 1 << 18;  // multiply-adds
constexpr std::int64_t kWorkOfUnitInTileRegisters = 1 << 22;
constexpr std::int64_t kRowsOfUnit = 64;
constexpr std::int64_t kRowsOfUnitInTileRegisters = 128;
// Where B is packed in passing, by the first strip of rows.
constexpr std::int64_t kRowsOfUnitInPassing = 24;
// So many units of columns are taken without asking whether rows would be more. An Emerald Rapids'
// 16 cores, unlike, 2026-11, the time by columns of four panels or else 64 rows over the time so,
// 19 products: f32 1.06 (64×4096×4096 1.37, 200×300×400 1.21), f64 1.05.
constexpr std::int64_t kEnoughUnits = 4;
constexpr std::int64_t kShortDepthBytes = 256;
// Tile registers lose by pieces of columns what few threads, which are less often unlike, do not
// win by sharing them. Granite Rapids, two quiet threads, 2026-11, the time without sharing over
// the time by columns and by rows: bf16 512³ 0.89 and 0.97, 1536×1792×6016 0.91 and 1.04, i8 512³
// 0.93 and 0.99, 1024³ 0.85 and 1.01, 256×1024×1024 0.86 and 0.96.
constexpr int kLeastForColumns = 4;

int strip_of(const Product& product, const Blocking& blocking) {
  return blocking.passes ? kPassingRows : product.code->mr;
}

// Of a B that was packed before the call each unit of rows reads all, from the last cache or memory
// where it does not stay near; a unit of columns packs all of A, if it is packed, which is too much
// for the narrow types from some rows on, and for the others where many threads take units. The
// time by rows over the time by columns, two threads of a Granite Rapids; 2, 4, 8 and 16 of an
// Emerald Rapids that others used, 2026-12: f32 16×2048×2048 1.40; 1.27, 1.20, 1.05, 1.00,
// 13×4864×896 1.48; 1.39, 1.46, 1.22, 1.27, f64 64×4096×4096 1.57; 1.39, 1.25, 1.04, 1.02, bf16
// 64×4096×4096 1.28; 1.41, 1.63, 1.53, 1.12, i8 128×4096×4096 1.54; 1.63, 1.43, 1.33, 1.43. More
// rows on two threads: bf16 and i8 200×2000×2000 0.92, 0.94, f64 1.24, 500×1500×1500 1.33.
constexpr std::int64_t kMostNarrowRowsByColumns = 128;
constexpr int kNarrowBytes = 4;                              // packed, f16's parts among them
constexpr std::int64_t kLeastColumnsBesidePackedRows = 128;  // which each unit packs
constexpr int kFewSharers = 4;
constexpr std::int64_t kMostRowsOfManySharers = 64;

bool shares_packed_columns(const Launch& launch, const Product& product, const Blocking& blocking) {
  if (product.packed_b == nullptr) return false;
  const std::int64_t pieces = (product.block_rows() + blocking.rows - 1) / blocking.rows;
  const std::int64_t blocks = (product.depth() + blocking.depth - 1) / blocking.depth;
  if (pieces * blocks > OpenTiles::kMostPasses) return false;
  const KernelCode& code = *product.code;
  const bool is_narrow = code.rows_together > 0 && code.packed_size_a <= kNarrowBytes;
  if (is_narrow) return product.block_rows() <= kMostNarrowRowsByColumns;
  return launch.sharers <= kFewSharers || product.block_rows() <= kMostRowsOfManySharers;
}

}  // namespace

// Of nearly equal rows, so that no sliver is left at the end; of columns the last ones may be
// nearly twice as many, for a panel of few columns takes longer.
Units units_of(const Product& product, const Blocking& blocking, const TileExtent& tile) {
  const std::int64_t each = blocking.unit;
  if (blocking.units_are_cols) {
    return {tile.cols, each, static_cast<int>(std::max<std::int64_t>(1, tile.cols / each))};
  }
  if (each == 0) return {tile.rows, tile.rows};
  const std::int64_t wanted = (tile.rows + each - 1) / each;
  const std::int64_t equal =
      round_up((tile.rows + wanted - 1) / wanted, strip_of(product, blocking));
  return {tile.rows, equal, static_cast<int>((tile.rows + equal - 1) / equal)};
}

int passes_of_block(const Blocking& blocking, const TileExtent& tile) {
  if (!blocking.units_are_cols) return 1;
  return static_cast<int>((tile.rows + blocking.rows - 1) / blocking.rows);
}

// Columns where no thread then packs what another has packed, each panel of B being one thread's
// and A in place; and where B was packed before, though A may be packed by each. Elsewhere, and
// where there are too few of them, rows.
void choose_units(const Launch& launch, const Product& product, Blocking& blocking) {
  const KernelCode& code = *product.code;
  const bool is_plain = blocking.step >= product.block_depth() && blocking.streams == 0 &&
                        blocking.rows_ahead == 0 && !product.is_dots && product.depth() > 0;
  if (launch.sharers == 0 || !launch.multiplies() || !is_plain) return;
  const bool has_tile_registers = code.rows_together > 0;
  const std::int64_t depth_bytes = product.block_depth() * size_of(product.a.type);
  // Few columns read each row of A once, of many rows together.
  if (has_tile_registers && blocking.a_in_place &&
      reads_rows_once(product.block_rows(), product.block_cols(), depth_bytes)) {
    return;
  }
  const std::int64_t work = has_tile_registers ? kWorkOfUnitInTileRegisters : kWorkOfUnit;
  const auto count_for = [&](std::int64_t other_side) {
    return work / std::max<std::int64_t>(1, other_side * product.block_depth()) + 1;
  };
  const bool packs_b = !product.b_in_place && product.packed_b == nullptr;
  // With a short k most of the time is C's, which tile registers had better write from end to end.
  const bool is_short = depth_bytes <= kShortDepthBytes;
  const bool may_be_cols =
      packs_b && blocking.a_in_place && !is_short && launch.sharers >= kLeastForColumns;
  const std::int64_t least = blocking.passes                                ? kRowsOfUnitInPassing
                             : !packs_b || (is_short && has_tile_registers) ? 1
                             : has_tile_registers ? kRowsOfUnitInTileRegisters
                                                  : kRowsOfUnit;
  const std::int64_t rows =
      round_up(std::max(least, count_for(product.block_cols())), strip_of(product, blocking));
  // A single unit of rows is not shared.
  const bool are_rows_shared = product.block_rows() > std::min(rows, blocking.rows);
  if (blocking.passes || may_be_cols ||
      (are_rows_shared && shares_packed_columns(launch, product, blocking))) {
    std::int64_t panel = has_tile_registers ? 2 * code.nr : code.nr;
    if (blocking.passes) {
      // Panels that are fetched together stay so where there are enough columns.
      const bool is_wide = product.block_cols() >= kEnoughUnits * blocking.fetched_cols;
      panel = is_wide ? blocking.fetched_cols : code.passing_cols;
    }
    const std::int64_t least_cols =
        std::max(blocking.passes || blocking.a_in_place ? 1 : kLeastColumnsBesidePackedRows,
                 product.block_cols() / OpenTiles::kMostUnits + 1);
    const std::int64_t enough = count_for(std::min(product.block_rows(), blocking.rows));
    const std::int64_t cols = round_up(std::max(enough, least_cols), panel);
    const std::int64_t units = product.block_cols() / cols;
    if (units >= kEnoughUnits || (units > 1 && units * rows >= product.block_rows())) {
      blocking.unit = cols;
      blocking.units_are_cols = true;
      // The last ones of a tile are taken together.
      blocking.cols = std::max(blocking.cols, 2 * cols);
      blocking.fetched_cols = std::min(blocking.fetched_cols, cols);
      return;
    }
  }
  if (!are_rows_shared || blocking.packs_by_pieces) return;
  blocking.unit = std::min(rows, blocking.rows);
  // Pieces of rows are smaller then, and each needs all of B's block.
  if (!blocking.passes) blocking.keeps_b = true;
}

}  // namespace tessera::cpu
