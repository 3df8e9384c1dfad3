#include "cpu/blocking.hpp"

#include <algorithm>

#include "core/in_place_rule.hpp"
#include "core/near_rule.hpp"
#include "core/passing_rule.hpp"
#include "core/piece_of_a.hpp"
#include "core/tile_registers_rule.hpp"
#include "cpu/cache_line.hpp"
#include "cpu/copied_rows.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/nearest_cache.hpp"
#include "cpu/rows_of_a.hpp"
#include "cpu/share_of_b.hpp"
#include "cpu/shared_units.hpp"
#include "cpu/steps.hpp"

namespace tessera::cpu {
namespace {

// Packed panels of B that take so many times the second-level cache are fetched again for every
// piece of A. Zen 4, one thread, 2026-11, GFLOP/s with this and without: f64 2048³ 55.4 (53.6),
// 1024³ 54.9 (53.2), f32 2048³ 113.5 (110.9), 1000³ 111.5 (109.9); with less of B it is lost: 512³
// 111.8 (112.6).
constexpr std::int64_t kPanelsTooFar = 2;

constexpr std::int64_t kChunkBytesOfB = 128 << 10;
constexpr std::int64_t kWidestStream = 8192;  // columns of sums that stay in L2
// Of A copied at a time beside a B in place. Zen 4, 192×192×16384 in f32, 2026-11: 103.0 GFLOP/s
// with all 16 strips, 105.3 with 2, 105.0 with 1. Zen 5, 128×128×32768: 5.52 ms with all 11, 5.50
// with 2, 5.23 with 1.
constexpr std::int64_t kStripsOfA = 1;

std::int64_t c_bytes(const Product& product) {
  return product.c.rows * product.c.cols * size_of(product.c.type);
}

// Whether a short k writes a C that is far: in memory, or in the last cache for narrow register
// tiles, which write a line of every row at a time, and on Intel's processors, whose last cache is
// slow. What is walked again for every strip has to stay in L2. Zen 3, one thread, 2026-11, the
// time by panels of columns over the time by strips of rows: f32 1071×1210×64 1.39, ×128 1.31, f64
// 3000×300×32 1.54, 1071×1210×16 2.60, bf16 1071×1210×64 1.78, i8 ×128 1.12; in L2 f32 300×300×64
// 0.99. Emerald Rapids, one thread, 40 random products with k up to 32 (of which few have such a
// C), B along k, and A across, too: f32 1.04 and 1.09, f64 1.16 and 1.10 (1432×694×7 3.5,
// 1111×751×5 2.7, 393×1828×7 2.4), bf16 and i8 level; two threads f32 1.08 and 1.06, f64 1.11,
// sixteen level. There with k of 33 to 128 and a C of 0.5 to 20 MB, twenty products, one thread, B
// along k, and A across, too, f32 1.07, 1.06, f64 1.12, 1.09 (2000×300×36 1.4, 1.5, 1432×694×50
// 1.4, 1.3), two threads 1.04, 1.04, 1.05, 1.06; without tile registers operands in rows, and B
// along k, bf16 1.05, 1.05, f16 1.05, 1.07, i8 1.29, 1.40, fourteen with k of 129 to
// 256 1.07, 1.04, of 257 to 512 level; with twice as much of k f32 and f64 0.97 to 1.00. Tile
// registers beside a B that is not near were measured up to a k of 32.
bool writes_far(const Launch& launch, const Product& product, const Blocking& blocking) {
  const KernelCode& code = *product.code;
  const std::int64_t l2 = second_level_cache(launch.plan);
  const std::int64_t depth = code.padded(std::min(blocking.depth, blocking.step));
  const std::int64_t cols = std::min(blocking.cols, product.block_cols());
  const std::int64_t short_depth =
      code.rows_together > 0 ? kShortDepth : kShortGroups * code.depth_step;
  const bool from_last_cache =
      is_narrow_tile(code.mr) || (has_two_units() && product.depth() <= short_depth);
  const bool is_far = lies_in_memory(launch.plan, c_bytes(product)) ||
                      (from_last_cache && kPartOfL2 * c_bytes(product) >= l2);
  return is_far && depth <= kShortGroups * code.depth_step &&
         2 * cols * depth * code.packed_size_b <= l2;
}

// Of tile registers, `depth` deep.
bool holds_b_near(const Product& product, std::int64_t depth, std::int64_t l2) {
  const KernelCode& code = *product.code;
  return code.rows_together > 0 && !product.b_in_place &&
         product.block_cols() * depth * code.packed_size_b <= near_b_bytes(l2);
}

// Rows of C that collide drive each other's lines out of the near caches, and A and B as well.
// Granite Rapids, one thread, 2026-11, GFLOP/s of tile registers through the caches and past them:
// bf16 2048³ 1110 and 1270, 4096³ 1080 and 1260, i8 2048³ 2670 and 2770; but i8 1024³, whose C is
// of 4 MB, 2370 and 2250, bf16 768³, whose lines do not collide, 1190 and 1125.
bool c_collides(const Product& product, std::int64_t l2) {
  return rows_collide(product.c.row_stride * size_of(product.c.type)) && c_bytes(product) > 2 * l2;
}

}  // namespace

bool may_pack_in_passing(const Product& product) {
  const bool are_dense =
      product.b.col_stride == 1 && (product.a.col_stride == 1 || product.a.row_stride == 1);
  return product.a_in_place && product.b_in_place && !product.is_dots &&
         product.code->passing_cols > 0 && are_dense;
}

namespace {

// As the planner knew them (plan/cpu_variants.cpp).
FewRows few_rows_of(const Plan& plan, const Product& product) {
  const OperandLayout& a = product.turned ? plan.problem.b : plan.problem.a;
  return {.rows = product.c.rows,
          .cols = product.block_cols(),
          .depth = product.block_depth(),
          .packed_size = product.code->packed_size_b,
          .b_row_bytes = product.b.row_stride * size_of(product.b.type),
          .b_bytes = static_cast<double>(bytes_of_blocks(plan, product)),
          .a_is_on_lines = product.a.col_stride == 1 && begin_at_lines(a.alignment),
          .c_is_on_lines = begin_at_lines(plan.problem.c.alignment)};
}

}  // namespace

bool packs_by_pieces(const Plan& plan, const Product& product) {
  const bool may_be = product.code->piece_depth > 0 && !product.b_in_place &&
                      product.packed_b == nullptr && product.b.col_stride == 1 &&
                      product.c.rows <= product.block_rows() && plan.problem.groups.size() == 1;
  return may_be && tessera::packs_by_pieces(few_rows_of(plan, product), second_level_cache(plan));
}

// By pieces the last strip of rows has as many as others, or fills its registers.
int tile_rows_of(const Plan& plan, const Product& product, bool by_pieces) {
  if (by_pieces) {
    const FewRows few = few_rows_of(plan, product);
    if (!fill_registers(few) || packs_strips(few)) return 0;
  }
  return rows_in_place(product);
}

bool needs_no_panels(const Plan& plan, const Product& product) {
  return may_pack_in_passing(product) && suits_passing(plan.machine, faced_block(product));
}

bool reads_near(const Plan& plan, const Product& product) {
  return may_pack_in_passing(product) &&
         tessera::reads_near(plan.machine, faced_block(product), places_of(product));
}

// Where C leaves the nearest cache, its rows are long, for short ones the processor looks ahead,
// and no other worker writes parts of them; and if they lie across lines, those of a register
// tile's rows, two or three each, find room in the nearest cache side by side. Granite Rapids, one
// thread, 2026-11, the time without over the time with it: i8 1000×1000×100 1.15, 500³ 1.10,
// 200×700×300 1.1, 600×200×384 1.12, bf16 1000×1000×100 1.15, 1630×302×38 1.16, 300³ 1.09; but
// short ones of bf16 507×104×64 0.9, rows that collide of i8 1023³ 0.9, a C of 40 KB 20×500×500
// 0.94, shared rows on two threads of i8 200×700×300 0.8, bf16 33×1000×1000 0.93.
constexpr std::int64_t kLeastRowBytesToFetch = 768;

// Rows on lines are worth it from so many steps of k on, those that collide with more alone.
// Emerald Rapids, one thread, 2026-11, the time without over the time with it, beside a busy
// hardware thread and with the core to itself: i8 512³ 1.07, 1.15, 768³ 1.08, 1.22, bf16
// 512³ 1.05, 1.11, 768³ 1.02, 1.05, 320×960×256 1.04, 1.12; with three steps i8
// 320×960×192 1.00, 1.14, bf16 320×960×96 0.96, 1.16, with two i8 320×960×128 0.90, 1.10,
// 512×512×128 0.91; of rows 4 KB apart with four i8 1024×1024×256 0.93, 0.95, with eight
// 1024×1024×512 1.07, 0.96, with twelve 2048×1024×768 1.11, with sixteen bf16
// 1024×1024×512 1.12, 1.02. The same limits for f16, which has four times as much to do in a step:
// 512³, with sixteen, 0.98 to 1.04.
constexpr std::int64_t kLeastStepsToFetchLines = 4;
constexpr std::int64_t kLeastStepsToFetchColliding = 12;

bool fetches_rows_of_c(const Plan& plan, const Product& product) {
  const KernelCode& code = *product.code;
  const MatrixView& c = product.c;
  const std::int64_t row_bytes = c.row_stride * size_of(c.type);
  if (code.rows_together == 0 || !product.sums_in_c() || shares_rows_of_c(plan, product) ||
      row_bytes < kLeastRowBytesToFetch ||
      !leaves_nearest(c_bytes(product), plan.machine.l1_bytes)) {
    return false;
  }
  if (!begin_at_lines(row_bytes, reinterpret_cast<std::uintptr_t>(c.data))) {
    return rows_keep_apart(c, code.mr, nearest_cache_ways());
  }
  const std::int64_t least =
      rows_collide(row_bytes) ? kLeastStepsToFetchColliding : kLeastStepsToFetchLines;
  return product.block_depth() > (least - 1) * code.depth_step;
}

namespace {

// Panels of a B that was packed before the call, and comes from beyond the second-level cache, are
// fetched so far ahead of what is multiplied: they are one stream, which the processor alone
// fetches at half of the rate. Granite Rapids, one thread, 2026-11-30, the time without over the
// time so: f32 8×4864×896 2.2, 16×2048×2048 2.2, 8×896×4864 2.1, 32×8192×2048 1.2, by tile
// registers bf16 8×4096×4096 1.2, i8 1.0; 1 KB ahead f32 8×4864×896 takes 1.3 times as long, 2 to
// 16 KB are level. Emerald Rapids, busy, geometric means of seven and fourteen products on one
// thread and 16: f32 by vectors 1.04, 1.20, bf16 and i8 by tile registers 1.22, 0.89.
constexpr int kBytesAhead = 4096;
constexpr int kMostWorkersWithTileRegisters = 4;  // that fetch so

int panels_ahead(const Launch& launch, const Product& product) {
  const KernelCode& code = *product.code;
  const bool are_many =
      code.rows_together > 0 && launch.plan.schedule.workers > kMostWorkersWithTileRegisters;
  if (product.packed_b == nullptr || !has_two_units() || are_many) return 0;
  const double bytes = static_cast<double>(product.depth()) *
                       static_cast<double>(product.c.cols * code.packed_size_b) *
                       static_cast<double>(launch.groups.size());
  return 2 * bytes > static_cast<double>(second_level_cache(launch.plan)) ? kBytesAhead : 0;
}

Blocking blocking_alone(const Launch& launch, const Product& product) {
  const KernelCode& code = *product.code;
  Blocking blocking;
  blocking.depth = product.block_depth();
  const std::int64_t depth = std::max<std::int64_t>(1, code.padded(blocking.depth));

  const std::int64_t l2 = second_level_cache(launch.plan);
  blocking.reads_near = reads_near(launch.plan, product);
  blocking.passes = !blocking.reads_near && needs_no_panels(launch.plan, product);
  const bool is_alone = product.b_in_place && !blocking.passes;
  const std::int64_t piece = is_alone ? l2 / 2 : piece_of_a_bytes(l2);
  const std::int64_t fitting = piece / (depth * code.packed_size_a);
  // By residues a plane of A's stays near at a time.
  const std::int64_t planes = code.cols_together > 0 ? code.packed_size_a : 1;
  const std::int64_t together =
      std::min<std::int64_t>(code.rows_together, planes * l2 / 2 / (depth * code.packed_size_a));
  std::int64_t wanted = launch.plan.tile.mc > 0 ? launch.plan.tile.mc : std::max(fitting, together);
  if (blocking.passes) wanted = std::min(wanted, rows_that_stay(product.a));
  const std::int64_t rows = product.block_rows();
  const int strip = blocking.passes ? kPassingRows : code.mr;
  blocking.rows = std::max<std::int64_t>(strip, wanted / strip * strip);
  // Nearly equal pieces, so that no sliver is left at the end.
  const std::int64_t pieces = (rows + blocking.rows - 1) / blocking.rows;
  blocking.rows = round_up((rows + pieces - 1) / std::max<std::int64_t>(1, pieces), strip);

  const Step step = step_of(launch.plan, product);
  blocking.step = step.depth;
  blocking.streams = step.streams;
  blocking.rows_ahead = step.rows_ahead;
  blocking.packs_by_pieces = packs_by_pieces(launch.plan, product);
  blocking.tile_rows = tile_rows_of(launch.plan, product, blocking.packs_by_pieces);
  const bool widens_a = product.widens_a();
  blocking.a_in_place = !widens_a && (blocking.tile_rows > 0 || blocking.rows_ahead > 0);
  const bool keeps_rows = keeps_rows_of_a(product) && !code.packing_copies_rows;
  if (!blocking.a_in_place && (product.is_dots || widens_a || keeps_rows)) {
    blocking.copied_stride = copied_stride(blocking.depth, product.copied_size_a());
  }
  blocking.keeps_b = product.c.rows > blocking.rows;
  blocking.fetches_panels = blocking.keeps_b && !product.b_in_place &&
                            product.block_cols() * depth * code.packed_size_b >= kPanelsTooFar * l2;
  const std::int64_t chunk = kChunkBytesOfB / (depth * code.packed_size_b) / code.nr * code.nr;
  blocking.cols = std::max<std::int64_t>(code.nr, chunk);
  blocking.b_is_far = !runs_ahead(product, rows) &&
                      lies_in_memory(launch.plan, bytes_of_b(product) * std::ssize(launch.groups));
  // Streams are wide, and dot products fetch columns after these, but none after the block.
  if (is_alone) blocking.cols = std::max(blocking.cols, kWidestStream / code.nr * code.nr);
  if (is_alone && !product.is_dots) {
    blocking.fetches_b = is_one_piece(product, l2);
    // B stays in L2, and a strip of A is enough to copy at a time.
    if (blocking.fetches_b && !blocking.a_in_place) {
      blocking.rows = std::min(blocking.rows, kStripsOfA * code.mr);
    }
  }
  if (code.cols_together > 0) blocking.cols = code.cols_together;
  if (product.packed_b != nullptr && rows <= code.panel_rows && has_two_units()) {
    blocking.cols = product.block_cols();
  }
  blocking.panels_ahead = panels_ahead(launch, product);
  blocking.steps_together = has_two_units();
  blocking.multiply_adds_load = has_spare_loads();
  blocking.fetches_near = !has_two_units();
  blocking.begins_at_pairs = !has_two_units();
  blocking.fetched_rows = blocking.rows;
  blocking.fetched_cols = blocking.cols;
  if (blocking.passes) {
    blocking.cols = product.block_cols();
    blocking.fetched_rows = kPassingRows;
    blocking.fetched_cols =
        panels_fetched_together(blocking.rows, blocking.fetches_near) * code.passing_cols;
  }
  blocking.fetches_sums = step.fetches_sums || fetches_rows_of_c(launch.plan, product);
  if (blocking.packs_by_pieces) {
    blocking.rows = round_up(rows, strip);
    blocking.cols = product.block_cols();
    blocking.keeps_b = false;
    blocking.fetches_panels = false;
    return blocking;
  }
  if (code.cols_together == 0 && holds_b_near(product, depth, l2)) {
    blocking.rows = round_up(rows, strip);
    // Nothing is packed for the next ones then, and tile registers are set up once. Granite Rapids,
    // one thread, 2026-11, the time by 128 rows over the time so: bf16 2334×49×78 1.13, 2782×48×96
    // 1.18, 2000×64×200 1.07, i8 2334×49×250 1.10, 700×90×310 1.04.
    if (!blocking.a_in_place || !goes_flat(product)) {
      blocking.rows = std::min<std::int64_t>(blocking.rows, code.rows_together);
    }
    blocking.cols = product.block_cols();
    blocking.keeps_b = product.c.rows > blocking.rows;
    blocking.sums_are_far = true;
    return blocking;
  }
  blocking.streams_sums = product.depth() <= blocking.step && c_collides(product, l2);
  blocking.sums_are_far = step.goes_along_rows || writes_far(launch, product, blocking);
  return blocking;
}

}  // namespace

Blocking blocking_of(const Launch& launch, const Product& product) {
  Blocking blocking = blocking_alone(launch, product);
  choose_units(launch, product, blocking);
  return blocking;
}

PanelSizes panel_sizes(const Launch& launch) {
  PanelSizes sizes;
  const bool splits = launch.layout.slots > 0;
  for (const Operands& operands : launch.groups) {
    const Product product = product_of(operands, launch.plan, launch.code);
    if (product.c.rows == 0 || product.c.cols == 0) continue;
    const KernelCode& code = *product.code;
    const Blocking blocking = blocking_of(launch, product);
    sizes.shares |= blocking.unit > 0;
    const std::int64_t block_cols = product.block_cols();
    if (launch.multiplies() && !blocking.a_in_place) {
      const std::int64_t panels = blocking.rows / code.mr;
      const std::int64_t bytes =
          blocking.copied_stride > 0
              ? blocking.rows * blocking.copied_stride * product.copied_size_a()
              : panels * code.panel_bytes_a(blocking.depth);
      sizes.a = std::max(sizes.a, line_up(bytes));
    }
    if (launch.multiplies() && blocking.passes) {
      sizes.b = std::max(sizes.b, line_up(code.panel_bytes_passing(blocking.depth)));
    }
    if (launch.multiplies() && blocking.packs_by_pieces) {
      sizes.b = std::max(sizes.b, line_up(code.panel_bytes_b(code.piece_depth)));
    } else if (launch.multiplies() && !product.b_in_place && product.packed_b == nullptr) {
      const std::int64_t cols = blocking.keeps_b ? block_cols : std::min(block_cols, blocking.cols);
      const std::int64_t panels = (cols + code.nr - 1) / code.nr;
      sizes.b = std::max(sizes.b, line_up(panels * code.panel_bytes_b(blocking.depth)));
    }
    if (launch.multiplies()) {
      sizes.room = std::max(sizes.room, line_up(code.room_bytes));
    }
    const bool collects = splits || product.depth() > blocking.step || blocking.needs_sums();
    if (!product.sums_in_c() && collects) {
      sizes.sums = std::max(sizes.sums, line_up(product.block_rows() * padded_columns(block_cols) *
                                                size_of(code.accumulator)));
    }
  }
  return sizes;
}

}  // namespace tessera::cpu
