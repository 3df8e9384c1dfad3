#include "cpu/share_of_b.hpp"

#include <algorithm>

#include "core/in_place_rule.hpp"
#include "core/much_room.hpp"
#include "core/tile_registers_rule.hpp"
#include "cpu/cpuid.hpp"
#include "schedule/iteration_space.hpp"

namespace tessera::cpu {
namespace {

constexpr std::int64_t kDefaultL2 = 1 << 20;

// Whether few rows of C find the part of B in L2 that a worker with a part of k had in the call
// before. Granite Rapids, two threads, 2026-11-30, the time with all of B asked for over the time
// so, 20 to 24 products of one to eight rows beside a B of 2.1 to 4.2 MB: f32 1.26, A across 1.28,
// f64 1.24, 1.25, bf16 1.13, f16 1.19, i8 1.02, by AVX2 f32 1.11; of nine to sixteen rows 1.01, but
// of rows whole pages apart, which share few places in L2, 10×1024×700 0.72, 14×1024×900 0.61. More
// rows, smaller second-level caches and AMD's were not measured.
constexpr std::int64_t kMostRowsOfDividedK = 16;

bool stays_where_k_is_divided(const Plan& plan, const Product& product) {
  const std::int64_t rows = product.c.rows;
  const bool collide =
      rows > kRowsOfOneWideTile && rows_collide(product.b.row_stride * size_of(product.b.type));
  return has_two_units() && has_much_room(plan.machine) && plan.problem.groups.size() == 1 &&
         rows <= kMostRowsOfDividedK && !collide;
}

// Shares of a group's products drive each other out of L2, if they are not small beside it: Granite
// Rapids, 128 experts of 2048×768 with 64 rows, a few for each, one thread, 2026-11, milliseconds
// with each B taken for one that stays, walked by panels of its columns, and as rows that pass by:
// i8 13.7 and 4.3, bf16 8.8 and 8.4.
constexpr std::int64_t kPartOfL2InGroups = 4;

}  // namespace

bool is_one_piece(const Product& product, std::int64_t l2) {
  const std::int64_t cols = product.block_cols();
  const std::int64_t depth = product.code->padded(product.block_depth());
  return 2 * cols >= product.b.row_stride &&
         leave_room(static_cast<double>(depth * cols * size_of(product.b.type)), l2);
}

std::int64_t second_level_cache(const Plan& plan) {
  return plan.machine.scratchpad_bytes > 0 ? plan.machine.scratchpad_bytes : kDefaultL2;
}

bool lies_in_memory(const Plan& plan, std::int64_t bytes) {
  return come_from_memory(static_cast<double>(bytes), plan.machine.cache_bytes);
}

std::int64_t bytes_of_b(const Product& product) {
  return product.depth() * product.c.cols * size_of(product.b.type);
}

std::int64_t bytes_of_blocks(const Plan& plan, const Product& product) {
  const std::int64_t size = size_of(product.b.type);
  const std::int64_t cols = product.block_cols();
  const std::int64_t depth = std::max<std::int64_t>(1, product.block_depth());
  const std::int64_t tiles = ceil_div(product.c.cols, cols);
  const std::int64_t most = std::min(plan.schedule.workers, plan.machine.workers);
  const bool divides_k = plan.schedule.kind != ScheduleKind::data_parallel;
  const std::int64_t workers = divides_k ? most : std::min(most, tiles);
  const std::int64_t each = blocks_of_worker(tiles, ceil_div(product.depth(), depth), workers);
  return std::min(product.depth() * product.c.cols, each * depth * cols) * size;
}

// Emerald Rapids, 2026-11, columns that are dealt, the time with all of B asked for over the time
// so, 4, 8 and 16 threads: f32 4×1000×1000 3.3, 2.2, 2.4; 8×1000×1000 2.2, 2.9, 2.6; f64
// 8×500×1000 2.3, 2.9, 2.3.
std::int64_t bytes_of_share(const Plan& plan, const Product& product) {
  const std::int64_t size = size_of(product.b.type);
  const std::int64_t cols = product.block_cols();
  const std::int64_t tiles = ceil_div(product.c.cols, cols);
  const std::int64_t all = product.depth() * product.c.cols * size;
  if (product.c.rows > product.block_rows()) return all;
  if (plan.schedule.kind == ScheduleKind::data_parallel) {
    return tiles <= plan.schedule.workers ? product.depth() * cols * size : all;
  }
  return stays_where_k_is_divided(plan, product) ? bytes_of_blocks(plan, product) : all;
}

bool comes_from_l2(const Plan& plan, const Product& product, std::int64_t l2) {
  const std::int64_t bytes = bytes_of_share(plan, product);
  const bool all_stay = bytes * std::ssize(plan.problem.groups) <= l2;
  return bytes <= l2 && (all_stay || kPartOfL2InGroups * bytes <= l2);
}

}  // namespace tessera::cpu
