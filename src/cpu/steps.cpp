#include "cpu/steps.hpp"

#include <algorithm>

#include "core/in_place_rule.hpp"
#include "core/passing_rule.hpp"
#include "cpu/blocking.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/nearest_cache.hpp"
#include "cpu/share_of_b.hpp"

namespace tessera::cpu {
namespace {

// How many rows of a large B in place a few rows of A read as streams; 0 where none are. From
// memory several rows of A had better be in registers: Emerald Rapids, one thread, 2026-11,
// milliseconds with sixteen streams and with register tiles twelve deep, f32 4×8192×8192 20.3
// and 17.7, 8 rows 21.4 and 18.9, 4×11008×8192 25.9 and 23.6, 8 rows 26.4 and 27.2, f64
// 4×4096×4096 9.2 and 7.9; one row of 4096×4096 in f64 7.0 and 7.0, from the last cache f32
// 4×4096×4096 2.57 and 2.97.
constexpr std::int64_t kStripDepthFromMemory = 12;

// From Zen 5 on AMD's processors look so far ahead by themselves that lines had better not be
// fetched for a single row of A. GB/s of B, n = k = 4096, f32, fetched and not, m = 1 42 and 46, 3
// 32 and 29, 4 33 and 28; two rows of A are level on one thread, and on two take 2 to 9 % longer
// (2026-11). A Zen 4 needs it (streams.hpp).
constexpr int kFamilyOfZen5 = 0x1a;

bool looks_far() {
  static const bool is_so = is_amd() && processor_family() >= kFamilyOfZen5;
  return is_so;
}

// Intel's follow columns that lie along k by themselves where one or two rows need so many bytes
// of B for each multiply-add: Emerald Rapids, one row of 3000×3000 to 11008×4096, eight products on
// one, four and 16 threads, time without lines fetched over time with them: f32 0.98, 0.96, 0.98,
// f64 0.88, 0.92, 0.79.
constexpr std::int64_t kFollowedBytes = 4;

// How many rows of B few rows of C fetch ahead where they walk it by wide tiles; 0: they do not,
// and streams or register tiles are better. That is so where rows of B collide in the nearest
// cache, so that few can be fetched: with short registers, with one or two rows of C, and from
// memory, for which many lines have to be under way. Zen 5, one thread, 2026-11, the time before
// over the time by wide tiles: f32 n = k = 1024, m = 1 0.84, 2 0.97, 3 1.16, 8 1.60; n = 11008, k =
// 4096 1 0.93, 4 1.19, 6 1.38, 7 0.98, 8 0.95; n = k = 4096, m = 2 0.96, 4 0.76, 8 0.55; AVX2 n = k
// = 1024, m = 4 0.72. A Zen 4 has not been measured, and reads from memory as before. On Intel's
// they are for what stays in L2: Emerald Rapids, f32 n = k = 512 1.04, 1.46, 1.68, 1.54 with m = 1
// to 4, 1.39 with 8, n = k = 1000 1.11, 1.12, 1.12, 1.04 and 0.77, n = k = 4096, m = 6 0.54.
// Several narrow tiles are there, too: AVX2, f32, the time by packing over the time by streams and
// by wide tiles, 9×1000×1000 1.28, 1.57; 16×1000×1000 1.15, 1.32; 10×2400×305 1.30, 1.34;
// 20×700×1000 1.07, 1.31; 13×363×2488 1.27, 1.22.
constexpr int kMostRowsAhead = 64;
constexpr int kRowsAheadFromCaches = 16;
constexpr int kRowsAheadOfColliding = 4;
constexpr std::int64_t kRowsThatStream = 2;

// More rows than a wide tile holds take B from L2 again, and are better so where it comes from the
// caches. Of 13 to 16 a register tile of twelve leaves few for the second. The same, f32: n = 330,
// k = 698, m = 9 1.25, 12 1.14, 14 1.55, 16 1.40, 24 1.16, 48 1.14; n = k = 1000 1.15, 1.09, 1.29,
// 1.19, 1.06, 1.05; 512 1.07, 1.01, 1.20, 1.12, 0.96, 1.01; 1024 0.89, 0.99, 1.19, 1.17, 0.92,
// 0.73; n = 5008, k = 3001 0.91, 0.79, 0.98, 1.01, 0.95, 0.90.
constexpr std::int64_t kMostRowsOfTwoWideTiles = 16;

int enough_rows_ahead(std::int64_t rows, int strip) {
  if (rows > kMostRowsOfTwoWideTiles) return kRowsAheadFromCaches;
  return rows <= strip ? 2 * kRowsAheadOfColliding : 0;
}

// Of a B that stays in the nearest cache, more rows than this are multiplied as well by
// small_kernel.hpp, and nothing else is asked: asking how rows lie took a product of 16³ 200 ns
// more. Zen 5, one thread, f32, 2026-11, the time by that over the time by wide tiles, m = 1, 2, 3,
// 4, 5, 8: 64×64 1.31, 1.32, 1.22, 0.98, 1.02, 0.96; 100×50 1.22, 1.27, 1.06, 0.88, 0.97, 0.96;
// 128×128 1.47, 1.43, 1.29, 1.06, 1.07, 0.98; 330×698 1.08, 1.39, 1.78, 1.89, 2.10, 1.59.
constexpr std::int64_t kRowsOfWideTilesNear = 3;

// Beside so many bytes of B.
std::int64_t most_wide_rows(const Product& product, std::int64_t bytes, std::int64_t l2) {
  const KernelCode& code = *product.code;
  if (!is_narrow_tile(code.mr)) return most_rows_of_wide_tiles(bytes <= l2);
  const bool suits = suits_narrow_wide_tiles(product.depth(), static_cast<double>(bytes), l2);
  return suits ? code.wide_rows : kRowsOfOneWideTile;
}

int wide_rows_ahead(const Plan& plan, const Product& product) {
  const std::int64_t rows = product.block_rows();
  const KernelCode& code = *product.code;
  const std::int64_t bytes = bytes_of_share(plan, product);
  const std::int64_t l2 = second_level_cache(plan);
  const bool stays = bytes <= l2;
  const bool is_one_tile = rows <= kRowsOfOneWideTile;
  const bool is_narrow = is_narrow_tile(code.mr);
  if (code.wide_rows == 0 || rows > most_wide_rows(product, bytes, l2)) return 0;
  const bool are_narrow_tiles = is_narrow && !is_one_tile;
  const bool may_walk = stays && rows <= kRowsOfWideTilesFromL2;
  if (has_two_units() && !are_narrow_tiles && !may_walk) return 0;
  if (bytes <= plan.machine.l1_bytes) {
    return rows <= kRowsOfWideTilesNear ? kRowsAheadFromCaches : 0;
  }
  const bool is_far = lies_in_memory(plan, bytes_of_b(product) * std::ssize(plan.problem.groups));
  int ahead = is_far ? kMostRowsAhead : kRowsAheadFromCaches;
  while (ahead > kRowsAheadOfColliding &&
         !rows_keep_apart(product.b, std::int64_t{2} * ahead, kNearestWays)) {
    ahead /= 2;
  }
  const bool collide = ahead == kRowsAheadOfColliding;
  if (is_far) {
    const std::int64_t enough = rows == 1 ? kMostRowsAhead : (5 * rows + 1) / 2;
    const bool suits = looks_far() && is_one_tile && !is_narrow;
    return suits && !collide && ahead >= enough ? ahead : 0;
  }
  if (!is_one_tile && ahead < enough_rows_ahead(rows, code.mr)) return 0;
  const bool streams_rather = is_narrow || (rows <= kRowsThatStream && !stays);
  return collide && streams_rather ? 0 : ahead;
}

bool goes_along_rows(const Plan& plan, const Product& product) {
  const KernelCode& code = *product.code;
  if (!product.a_in_place || code.wide_rows == 0 || is_narrow_tile(code.mr)) return false;
  const int size = size_of(product.b.type);
  const WrittenBlock block{
      .rows = product.block_rows(),
      .cols = product.block_cols(),
      .depth = product.depth(),
      .nr = code.nr,
      .element_bytes = size,
      .sum_bytes = size_of(code.accumulator),
      .b_begins_at_lines = begin_at_lines(product.b.row_stride * size,
                                          reinterpret_cast<std::uintptr_t>(product.b.data)),
      .cuts_rows = shares_rows_of_c(plan, product) && !may_cut_written_rows(plan.machine)};
  return tessera::goes_along_rows(block, second_level_cache(plan));
}

int streams_of(const Plan& plan, const Product& product) {
  const KernelCode& code = *product.code;
  const std::int64_t rows = product.block_rows();
  if (!has_two_units()) return rows <= code.few_stream_rows ? kFewStreams : 0;
  if (rows > 1 && lies_in_memory(plan, bytes_of_b(product))) return 0;
  return rows <= code.many_stream_rows ? kManyStreams : 0;
}

// A large B read in place comes in as rows side by side, which the processor's prefetching follows,
// while the sums of C's few rows wait in the nearest cache: so many k at a time. The deeper the
// fewer times the sums are read and written, as long as the rows' lines keep apart in that cache,
// whose sets have 8 ways or more. Zen 5, one thread, 2026-11, microseconds with 8, 16, 64, 128 and
// 256 of k: rows of 4160 elements, k = 4096: i8 m = 4 1180, 803, 562, 519, 513, bf16 1271, 888,
// 933, 760, 813, f32 2415, 2606, 2462, 2254, 1990 (12×5648×610 in f32 with 64, 128 and 256 406,
// 440, 382, f64 830, 904, 827); of 4096 elements, which do not keep apart: 958, 895, 1077, 1061,
// 1070; 1241, 1050, 1580, 1562, 1503; 2274, 3041, 2761, 2935, 2972. There f32 with m = 8 takes 2070
// with 16 and 3190 with 64, m = 12 3110 and 2890, f64 5420 and 5640, 7130 and 6040, f32 with m = 16
// 3500 with 64, 3640 with 128 and 4040 with 256; where rows are interleaved there is more to do for
// each of them: with 16, 64 and 256 bf16 m = 8 1150, 1240, 1410 and m = 12 2010, 1500, 1490, i8
// 1770, 1300, 1250. A B whose blocks are one piece of memory comes in as one stream anyway:
// 4×96×16384 105 GFLOP/s with all of a block at a time, and 57 with 8 (Zen 4).
//
// Emerald Rapids, one thread, f32, 2026-11, milliseconds with 32, 48, 64, 96 and 256 of k: n =
// 5001, k = 3001: m = 12 3.02, 2.95, 3.21, 3.35, 3.76; 20 4.86, 4.69, 4.65, 5.12, 5.70;
// 32 7.65, 7.38, 7.41, 8.07, 8.41; 40 9.66, 9.28, 9.20, 10.3, 10.8; n = 5008, k = 3008:
// 16 3.50, 3.51, 3.85, 4.05, 4.19; n = k = 4096: 10 3.30, 3.28, 3.22, 3.35, 3.26;
// 20 5.96, 5.68, 5.51, 5.60, 5.70; 32 8.84, 8.59, 8.31, 8.22, 8.65;
// 40 11.2, 11.0, 10.4, 10.5, 11.0.
//
// Rows further apart than 32 KB come in slowly unless they are few. Granite Rapids, one thread,
// 2026-11, GFLOP/s with 16, 24, 32, 48 and 64 of k: f32 12×11008×4096 74, 72, 34, 31, 31,
// 24×11008×4096 102, 104, 65, 54, 50, 40×11008×4096 106, 106, 71, 65, 64, 40×12288×4096 85, 85, 74,
// 67, 65, 12×16384×2048 92, 91, 90, 87, 42, 40×16384×2048 91, 99, 107, 114, 118 (Emerald Rapids 39
// with 64, of 24 rows 42, and 89 with 24), 12×32000×2048 89, 83, 81, 73, 44, 40×32000×2048 117,
// 118, 124, 122, 125, 12×9000×2048 111, 110, 111, 102, 102; f64 12×5504×2048 49, 43, 33, 27, 26,
// 12×8192×2048 45, 44, 42, 38, 22, 40×11008×2048 46, 43, 32, 31, 30; but rows of 32 KB f32
// 12×8192×2048 102, 116, 117, 117, 113.
constexpr std::int64_t kMostRowsOfStrips = 48;
constexpr std::int64_t kStripDepth = 48;
constexpr std::int64_t kStripDepthOfColliding = 64;
constexpr std::int64_t kStripDepthOfFar = 24;
constexpr std::int64_t kFarRowBytes = 32 << 10;

// Zen 4 with wide registers, rows whole pages apart, one thread, 2026-11, microseconds with 16, 32,
// 64, 128 and 256 of k: n = k = 4096 f32 m = 6 2760, 2704, 2343, 2249, 2546, 8 3848, 3024, 2933,
// 2756, 2716, 12 5609, 5283, 4546, 4045, 3849, 16 8119, 6439, 5729, 5772, 5162, f64 8 7120, 6565,
// 6311, 5709, 6270; up to four rows level; bf16 1 1024, 1263, 1238, 1256, 1425, 3 1307, 1338, 1194,
// 1206, 1978, 4 1516, 1325, 1187, 1129, 1249, 8 2221, 1730, 1604, 1417, 1376, 12 3520, 2768, 2327,
// 2099, 2028; i8 with n = k = 2048 1 165, 196, 215, 217, 218, 4 238, 225, 203, 188, 176, 8 471,
// 352, 279, 245, 230, with 4096 4 1592, 1434, 1496, 1585, 1587,
// between which 64 is a compromise. Interleaved rows that keep apart, with 128 and 256: i8
// 1×1000×1000 27.2 and 27.9, 4 36.9 and 37.2, bf16 1×300×1000 11.6 and 13.8, 4×1000×1000 47.3
// and 52.4, 8×300×1000 26.1 and 25.3.
constexpr std::int64_t kDeep = 256;
constexpr std::int64_t kRowsOfInterleaved = 4;

std::int64_t depth_of_few(const KernelCode& code) {
  return std::max(8, 4 * code.depth_step);
}

// A Zen 4 with wide registers: no later one (looks_far()), and none of Intel's.
bool looks_near(const KernelCode& code) {
  return !has_two_units() && !looks_far() && !is_narrow_tile(code.mr);
}

std::int64_t depth_of_near(std::int64_t rows, const KernelCode& code) {
  if (rows <= kRowsThatStream) return depth_of_few(code);
  if (rows > kRowsOfOneWideTile) return kDeep;
  const bool is_byte = code.depth_step == 4;
  return rows <= kRowsOfInterleaved && is_byte ? kDeep / 4 : kDeep / 2;
}

std::int64_t streamed_depth(const Product& product) {
  constexpr std::int64_t kWhole = std::int64_t{1} << 40;
  const KernelCode& code = *product.code;
  const std::int64_t rows = product.block_rows();
  if (has_two_units() && !code.interleaves && rows <= kMostRowsOfStrips) {
    if (rows <= code.many_stream_rows) return kStripDepthFromMemory;
    if (product.b.row_stride * size_of(product.b.type) > kFarRowBytes) return kStripDepthOfFar;
    return rows_keep_apart(product.b, kStripDepth, kNearestWays) ? kStripDepth
                                                                 : kStripDepthOfColliding;
  }
  if (rows > 16) return kWhole;
  const bool is_near = looks_near(code);
  const std::int64_t shallow = is_near     ? depth_of_near(rows, code)
                               : rows <= 4 ? depth_of_few(code)
                                           : (rows <= 8 ? 16 : 64) * (code.interleaves ? 4 : 1);
  const bool is_shallower = is_near && code.interleaves && rows <= kRowsOfInterleaved;
  const std::int64_t deep = is_shallower ? kDeep / 2 : kDeep;
  for (std::int64_t depth = deep; depth > shallow; depth /= 2) {
    if (rows_keep_apart(product.b, depth, kNearestWays)) return depth;
  }
  return shallow;
}

// One or two rows of C leave little to do for each element of B, so that streams are faster from
// where B takes a third of L2. Zen 4, L2 of 1 MB, one thread, 2026-11, microseconds with register
// tiles and with streams: f32 1×256×256 2.9, 4.2; 300×300 5.1, 5.2; 400×400 9.3, 7.2; 512×512 18.3,
// 12.3; f64 1×256×256 8.0, 5.8; f32 2×384×384 8.7, 8.1 at best; 2×512×512 18.5, 15.0; 4×512×512
// 21.8, 26.0; 1×192×2000 28.9, 30.7. Emerald Rapids, 2 MB, f32 1×512×512 18.9, 12.7; 700×700
// 64, 41.
constexpr std::int64_t kLeastStreamedColumns = 256;

bool streams_near(const Product& product, std::int64_t l2) {
  return product.block_rows() <= kRowsThatStream && product.block_cols() >= kLeastStreamedColumns &&
         3 * bytes_of_b(product) > l2;
}

// Whether wide tiles that write C's rows from end to end fetch their lines first: not where the
// arithmetic takes as long as waiting for those, nor rows so far apart. Emerald Rapids, one thread,
// 2026-11-29, the time without over the time with it, A in rows and across, k of 1, 2, 4, 6, 8, 12
// and 16: f32 700² 1.85, 1.94, 1.70, 1.39, 1.40, 1.20, 1.05 and 1.61, 1.61, 1.71, 1.52, 1.39, 1.00,
// 1.18, 2464×1645 1.53, 1.49, 1.50, 1.34, 1.24, 1.06, 1.03 and 1.48, 1.42, 1.41, 1.33, 1.15, 1.01,
// 1.02, 3000² 1.40, 1.43, 1.35, 1.25, 1.22, 1.07, 1.09 and 1.42, 1.33, 1.23, 1.20, 1.10, 1.14,
// 1.23; f64 700² with k of 1, 2, 4, 6, 8 and 12 1.32, 1.31, 1.23, 1.11, 1.07, 0.93 and 1.32, 1.28,
// 1.18, 1.07, 0.99, 0.89; of rows of 16 and 24 KB f32 500×4000 1.05, 1.13, 0.99, 0.90, 0.92, 0.91,
// f64 64×3000×4 0.81, 0.88. Nor short parts of rows that other workers write on, whose lines the
// processor would fetch, too (share_of in direct.hpp); of 3 KB 700×1500 on two threads with k of 1,
// 2, 4, 6 and 8 1.6, 1.5, 1.3, 1.3, 1.3. Other Intel processors were not measured, nor AMD's, which
// are left alone.
bool fetches_written_rows(const Plan& plan, const Product& product) {
  constexpr std::int64_t kMostStepBytes = 48;
  constexpr std::int64_t kMostRowBytes = 12 << 10;
  constexpr std::int64_t kLeastPartBytes = 2 << 10;
  const int size = size_of(product.code->accumulator);
  const bool is_short_part =
      shares_rows_of_c(plan, product) && product.block_cols() * size < kLeastPartBytes;
  return has_two_units() && product.sums_in_c() && !is_short_part &&
         product.depth() * size <= kMostStepBytes && product.c.row_stride * size <= kMostRowBytes;
}

}  // namespace

bool shares_rows_of_c(const Plan& plan, const Product& product) {
  return plan.schedule.workers > 1 && product.block_cols() < product.c.cols;
}

bool runs_ahead(const Product& product, std::int64_t rows) {
  const bool follows_columns =
      product.is_dots && has_two_units() && kFollowedBytes * rows <= size_of(product.b.type);
  return follows_columns || (looks_far() && rows == 1);
}

Step step_of(const Plan& plan, const Product& product) {
  const std::int64_t depth = std::max<std::int64_t>(1, product.block_depth());
  if (!product.b_in_place || product.is_dots || needs_no_panels(plan, product)) return {depth};
  if (goes_along_rows(plan, product)) {
    return {depth, 0, 1, true, fetches_written_rows(plan, product)};
  }
  if (const int rows_ahead = wide_rows_ahead(plan, product); rows_ahead > 0) {
    return {depth, 0, rows_ahead};
  }
  const std::int64_t l2 = second_level_cache(plan);
  const int streams = streams_of(plan, product);
  const bool stays = comes_from_l2(plan, product, l2) || is_one_piece(product, l2);
  if (stays && (streams == 0 || !streams_near(product, l2))) return {depth};
  return {std::min<std::int64_t>(depth, streams > 0 ? streams : streamed_depth(product)), streams};
}

}  // namespace tessera::cpu
