#include "cpu/shared_units.hpp"

#include <algorithm>
#include <cstdint>

#include "core/passing_rule.hpp"
#include "core/tile_registers_rule.hpp"

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

// Columns where no thread then packs what another has packed: each panel of B is one thread's, and
// A lies in place. Elsewhere, and where there are too few of them, rows.
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
  if (blocking.passes || may_be_cols) {
    std::int64_t panel = has_tile_registers ? 2 * code.nr : code.nr;
    if (blocking.passes) {
      // Panels that are fetched together stay so where there are enough columns.
      const bool is_wide = product.block_cols() >= kEnoughUnits * blocking.fetched_cols;
      panel = is_wide ? blocking.fetched_cols : code.passing_cols;
    }
    const std::int64_t cols =
        round_up(count_for(std::min(product.block_rows(), blocking.rows)), panel);
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
  const std::int64_t unit = std::min(rows, blocking.rows);
  if (unit >= product.block_rows() || blocking.packs_by_pieces) return;
  blocking.unit = unit;
  // Pieces of rows are smaller then, and each needs all of B's block.
  if (!blocking.passes) blocking.keeps_b = true;
}

}  // namespace tessera::cpu
