// How few rows of C, or many, walk a B in place: rules that follow cpu/steps.cpp, and how
// workers share it; and what is widened first instead.
#include <algorithm>
#include <optional>

#include "core/in_place_rule.hpp"
#include "core/tile_registers_rule.hpp"
#include "core/work.hpp"
#include "plan/cpu_blocks.hpp"
#include "plan/cpu_variants.hpp"
#include "plan/half_vectors.hpp"
#include "plan/panel_depth.hpp"
#include "plan/passing.hpp"
#include "plan/passing_pays.hpp"
#include "plan/whole_rows.hpp"

namespace tessera {
namespace {

// Rows of C that a B in place streams by for (cpu/steps.cpp), and how much of each of its rows
// comes at a time: at least a page, and no more where the rows of a dense B lie whole pages apart
// and drive each other out of the nearest caches, but for one row of C, for narrow register tiles
// and where k is divided, which take long rows. Zen 5, one thread, 2026-11, microseconds with 4, 8
// and 16 KB: f32 16×4096×4096 3610, 3810, 3850, 12×4096×4096 2840, 2910, 3140, f64 12×4096×4096
// 6120, 6470, 8500; rows that keep apart: f32 12×5648×610 413, 400, 394, f64 7×5648×610 714, 674,
// 632. One row of 4096×4096 in f32 2438 with 4 KB and 1667 with 16, four on AVX2 2900 and 2500.
constexpr std::int64_t kSomeRows = 16;
// Whole rows, where as many as come at a time (cpu/steps.cpp) leave room in L2. Emerald Rapids,
// one thread, f32, 2026-11, milliseconds by 16 KB and by whole rows: 8×11008×2048 3.93 and 3.69,
// 4×16384×1024 2.63 and 2.54, 4×5001×3001 2.52 and 2.30, 4×32000×1000 6.26 and 6.87 (in two 6.25);
// 12×5001×3001 3.78 and 3.65, 12×8192×2048 3.45 and 3.79.
constexpr std::int64_t kWholeRowBytesOfStreams = 64 << 10;
constexpr std::int64_t kWholeRowBytes = 24 << 10;
constexpr std::int64_t kDepthOfWholeRows = 2048;
// Workers divide k rather than rows of B as long as adding up C's parts takes less than it gains:
// as many additions for each row of B. Emerald Rapids, f32, n = k = 4096, 2026-11, with rows
// divided over with k divided, two workers 1.07 with m = 1 and 1.07 with 16, four 1.5 with 4, 1.2
// with 8 and 0.94 with 16, sixteen 1.0 with 1, 0.87 with 8, 0.8 with 16 (the last two hosts busy).
constexpr double kAdditionsPerRowCut = 150;

// Products up to 64³ are one tile and one pass over k.
constexpr double kSmallProduct = 64.0 * 64.0 * 64.0;

}  // namespace

// Whether B is interleaved or widened where it lies.
bool CpuVariants::reads_in_registers() const {
  return (kernel.interleaves || kernel.widens) && product.b_rows_are_dense &&
         product.shape.n >= least_columns_in_registers(kernel.tile.mr, kernel.tile.nr);
}

// Beyond a few rows B is interleaved or widened again and again. One thread, 2026-11, the time by
// packing over the time in place, operands in rows. Zen 3: f16 8×60×1000 1.81, 8×1000×1000 1.74,
// 10×1000×1000 0.95, 16×1000×1000 0.85, 10×256×256 0.89, 8×4096×4096 2.02, 16×4096×4096 1.23,
// 24×4096×4096 1.03; bf16 8×1000×1000 1.45, 10×1000×1000 0.87, 16×4096×4096 1.43, 24×4096×4096
// 0.82; i8 6×60×1000 1.56, 7×256×256 0.91, 8×1000×1000 0.93, 10×4096×4096 0.93. Emerald Rapids: f16
// 8×256×256 1.74, 16×256×256 1.01, 24×60×1000 1.08, 48×60×1000 0.95, 8×1000×1000 1.20, 10×1000×1000
// 0.88, 8×4096×4096 1.47, 16×4096×4096 1.04; widened bf16 16×256×256 1.23, 10×1000×1000 1.30,
// 12×1000×1000 0.93, 8×4096×4096 1.49, 12×4096×4096 0.74.
std::int64_t CpuVariants::most_rows_in_registers() const {
  constexpr std::int64_t kRowsFromMemory = 16;
  constexpr std::int64_t kRowsFromL2 = 24;
  const int mr = kernel.tile.mr;
  if (converts_beside_halves()) {
    constexpr std::int64_t kRows = 48;
    constexpr std::int64_t kRowsOfBytes = 36;
    constexpr std::int64_t kLeastOfSecondStrip = 4;
    constexpr std::int64_t kRowsWidenedFromMemory = 24;
    if (size_of(kernel.b) > 1) return kernel.widens && b_is_far() ? kRowsWidenedFromMemory : kRows;
    if (packs_few_rows_that_collide()) return 0;
    // Fewer in a second strip win on one thread and lose on two.
    const bool is_worth_it = product.shape.m >= mr + kLeastOfSecondStrip;
    return rows_of_b_collide() || !is_worth_it ? mr : kRowsOfBytes;
  }
  if (!widens_halves(kernel)) return mr;
  const double bytes = bytes_of(product.shape.k, product.shape.n, kernel.b);
  if (!is_narrow_tile(mr)) {
    const bool is_near = 2 * bytes <= static_cast<double>(request.machine.scratchpad_bytes);
    return is_near ? kRowsFromL2 : kRowsOfOneWideTile;
  }
  // Widening bf16 takes two instructions.
  const bool widens_at_once = kernel.b == ElementType::f16;
  if (widens_at_once && walks_narrow_wide_tiles()) return kMostRowsOfNarrowWideTiles;
  return come_from_memory(bytes, request.machine.cache_bytes) ? kRowsFromMemory
                                                              : kRowsOfOneWideTile;
}

// Whether small products of f16 or bf16 are multiplied from copies that are widened as a whole
// (cpu/direct.cpp), which costs each element a vector's store and load but leaves what f32 has in
// place, where that costs less than transposing A into panels and widening B again for each of
// them. Few rows beside a B that is widened in registers only where that B is small, or an A across
// k is dear to gather beside few columns.
//
// Emerald Rapids, one thread, f16 by AVX-512, 2026-11-29, the time before over the time so. In
// rows, k of 2, 8, 16, 32, 64, 128 and 256: 16×64 1.45, 1.58, 1.37, 1.37, 1.21, 1.06, 1.04, 32×32
// 1.58, 1.87, 1.32, 1.31, 1.29, 1.21, 0.94, 64×128 1.53, 1.61, 1.24, 0.98, 1.01, 1.00, 1000×12
// 1.76, 2.18, 1.39, 1.32, 0.97, 1.07; few rows 14×250 1.51, 1.47, 1.21, 1.21, 1.14, 1.03, 1.11,
// 12×250 1.32, 1.45, 1.01, 1.01, 0.96, 0.81, 0.79, 6×60 1.25, 1.31, 1.13, 1.10, 0.95, 0.70, 0.81,
// 4×250 1.33, 1.02, 0.95, 0.55, 0.52, 0.50, 0.48, 3×60 1.00, 0.99, 0.90, 0.84, 0.77, 0.44, 0.41. A
// across 12×16 1.51, 1.46, 1.94, 1.62, 2.27, 2.84, 2.33, 8×60 1.14, 1.30, 1.31, 1.40, 1.42, 1.02,
// 1.09, 12×250 1.26, 1.26, 1.11, 1.06, 1.06, 0.94, 0.92, 4×60 1.07, 1.16, 1.11, 1.17, 1.23, 0.75,
// 0.76. B along k, packed, 32×64 1.37, 1.39, 1.21, 1.00, 0.99, 0.99, 0.95; dot products, where they
// suit, are faster.
//
// 144 products that the rule was not fitted to (awkward ones, a short k, few rows, few columns, 30
// to 300 a side, 1 to 3000) in rows, B along k and A across 1.17, 1.11 and 1.18; by AVX2's kernels
// on the same machine, 96 of f16 1.14, 1.11, 1.12, of bf16 1.20, 1.12, 1.18, by AVX-512's 64 of
// bf16 1.17, 1.10, 1.15. AMD's processors were not measured; where 512 bits are multiplied in two
// halves, rows that are widened beside the arithmetic still are.
bool CpuVariants::copies_widened(const TileConfig& packed, int workers, int splits) const {
  constexpr std::int64_t kRowsInRegisters = 12;
  constexpr std::int64_t kRowsWorthCopies = 4;
  constexpr double kFewElementsOfB = 2048;
  constexpr std::int64_t kColumnsForEachRow = 8;
  if (!widens_halves(kernel) || splits > 1 || !goes_short_way(packed, workers)) return false;
  const GemmShape& shape = product.shape;
  const double bytes = bytes_of(shape.m + shape.n, shape.k, kernel.multiplies);
  if (2 * bytes > static_cast<double>(request.machine.scratchpad_bytes)) return false;
  const std::int64_t most = most_rows_in_registers();
  const std::int64_t in_registers = is_in_halves() ? most : std::min(kRowsInRegisters, most);
  if (!reads_in_registers() || shape.m > in_registers) return true;
  if (shape.m < kRowsWorthCopies) return false;
  const double elements = static_cast<double>(shape.k) * static_cast<double>(shape.n);
  return elements <= kFewElementsOfB ||
         (!product.a_lies_along_k && shape.n <= kColumnsForEachRow * shape.m);
}

bool CpuVariants::is_in_halves() const {
  return multiplies_in_halves(request.machine, kernel.tile.mr);
}

// Whether B's rows are interleaved or widened beside arithmetic that takes so long that they come
// at no cost: 512 bits are multiplied in two halves (plan/half_vectors.hpp). Zen 4, one thread and
// two, 2026-11, the time packed over the time in place, operands in rows, m = 13, 24, 36 and 48:
// bf16 300×300 1.16, 1.14, 1.05, 1.04; 1000×1000 1.17, 1.17, 1.12, 1.09, two
// threads 1.05, 1.16, 1.11, 1.02; 4096×4096 1.27, 1.17, 1.12, 1.09; 72 rows 1.01 to 1.06, of
// 60×1000 0.96; f16 (m = 12 first) 1.32, 1.14, 1.09, 1.06; 1000×1000 1.28, 1.12, 1.07, 1.05;
// 4096×4096 1.08, 1.03, 1.00, 0.97; i8 with 13, 16, 24 and 36 300×300 1.13, 1.11, 1.06, 0.98;
// 1000×1000 1.04, 1.08, 1.14, 1.05; 2000×2000 of two threads 0.89, –, 1.08; whole pages apart
// 4096×4096 0.61, 0.64, 0.85, 0.78. With a column-major A f16 25×8×33 0.39, 40×126×2646 0.81; with
// little to do i8 21×372×10 0.73, 13×1742×14 0.88.
bool CpuVariants::converts_beside_halves() const {
  constexpr std::int64_t kLeastDepth = 65;
  const GemmShape& shape = product.shape;
  return is_in_halves() && product.a_lies_along_k && shape.k >= kLeastDepth && !is_small();
}

// Blocks of B need not be short along k then. One thread, 512 of k at a time over all of 1000: i8
// 1×60 1.30, 4×60 1.26, 16×60 1.16, 1×1000 1.09, 24×300 1.03; bf16 4×60 1.20, 24×300 1.03.
bool CpuVariants::converts_whole_rows() const {
  return reads_in_registers() && converts_beside_halves() && !drives_out_deep_columns() &&
         product.shape.m <= most_rows_in_registers();
}

// But where further strips of rows come back to a panel's part of each row, of a line and less, far
// more of those than the near caches hold, and of bytes where rows lie so far apart that they share
// few places there. Zen 4, one thread, 2026-11, all of k or 2048 of it over 512 of k: bf16
// 17×4096×4096 1.41, 28× 1.43, 40× 1.28, 32×2048×2048 1.26, 24×7168×2048 1.01, 48 products 1.07;
// f16 17×4096×4096 1.16, 24×3000×3000 1.05, 48 1.02; i8 28×2048×2048 1.18, 32×7168×2048 1.32,
// 24×5120×1500 1.08, 36 1.10 and 1.12. Up to 16 rows level (f16 13 to 16×4096×4096 0.91 to 0.99),
// i8 with n of 600, 1500 and 3000 0.99.
bool CpuVariants::drives_out_deep_columns() const {
  constexpr std::int64_t kDeepBytes = 2560;  // 2048 and a quarter, which is one block rather
  constexpr std::int64_t kFarApart = 1024;
  const GemmShape& shape = product.shape;
  if (shape.m <= kSomeRows) return false;
  if (size_of(kernel.b) > 1) return shape.k * size_of(kernel.b) > kDeepBytes;
  return shape.n % kFarApart == 0 && shape.k > kDeepBytes / 2;
}

// 8-bit integers whose rows lie whole pages apart are packed, little of k at a time. Zen 4, one
// thread, 2026-11, the time in place over the time so: n = k = 4096, m = 1 1.31, 2 1.07, 4 1.07, 8
// 0.98; 4×8192×2048 1.35.
bool CpuVariants::packs_few_rows_that_collide() const {
  constexpr std::int64_t kRows = 4;
  return size_of(kernel.b) == 1 && kernel.interleaves && product.b_rows_are_dense &&
         rows_of_b_collide() && !b_stays() && product.shape.m <= kRows && converts_beside_halves();
}

// Wide tiles come down few columns of all rows anyway, so that workers need not have parts of rows
// as long as pages, nor divide k, where each one's part of B stays in its L2, and is worth sending
// for. Emerald Rapids, 2026-11, the time otherwise over the time so, 2, 4, 8 and 16 threads, f16
// 1×1000×1000 2.2, 3.0, 2.3, 1.6; 8×1000×1000 2.7, 4.7, 4.9, 10; 4×2048×2048 with 8 1.7, with 16
// 2.2; f32 4×500×1000 2.8, 2.1, 1.7, 2.1; with 4, 8 and 16 1×1000×1000 3.1, 1.5, 1.3; 4×1000×1000
// 3.2, 3.8, 5.0; 8×1000×1000 2.5, 4.0, 5.8; with 16 4×2000×2000 2.4, 4×1000×4000 1.7; f64
// 2×500×1000 1.4, 1.04, 1.04; 8×500×1000 1.6, 2.6, 3.5. Of parts beyond L2 f16 with 4 0.59,
// 4×4096×4096 with 16 0.65; of little B 6×256×256 0.76 to 0.88. The time packed over the time so,
// f32 9×1000×1000 with 4, 8 and 16 1.6, 1.7, 1.5, 12×2000×2000 with 16 1.7, 11×1500×1500 1.6, with
// 8 2.6 (k divided).
bool CpuVariants::deals_columns(const TileConfig& packed, int workers, int splits) const {
  const std::int64_t most_rows =
      may_read_whole_rows() ? kRowsOfWideTilesFromL2 : kRowsOfOneWideTile;
  const bool is_one_tile = kernel.reads_in_place && product.shape.m <= most_rows;
  return (kernel.widens || is_one_tile) && walks_wide_tiles(workers) &&
         columns_stay(packed, workers, splits);
}

double CpuVariants::bytes_of_part_of_b(int workers) const {
  return bytes_of(product.shape.k, product.shape.n, kernel.b) / workers;
}

// Whether each worker has one tile, of all rows: then it takes the columns that it is dealt, also
// where they are few, but for half a page or less of far rows, and for those that are interleaved
// and collide in the nearest cache (i8 2×4096×64 0.54, 6×1024×200 0.83, 10×1024×4096 0.67). Two
// threads of a Zen 4, 2026-11, the time as planned without over the time so: f32 2×1158×312 2.2,
// 12×1184×59 1.37, 15×63×719 1.54, 14×414×340 1.51, 8×1000×1000 1.07, 12×2000×2000 1.15,
// 16×300×500 1.30; bf16 4×800×800 1.21, i8 4×800×800 1.48, 12×1000×1000 1.53, f16 4×800×800 1.69.
// Of a Zen 3, with the cost of rows cut (plan/worker_time_cpu.cpp): f32 3×1254×342 1.6, 1×3000×300
// 1.7, 8×1500×400 1.6, 5×2000×500 1.9, 7×500×289 1.6; f64 8×1500×400 1.2; 36 products of 1 to 16
// rows f32 1.03, f64 1.00, bf16 1.06, i8 1.05. More rows had better not be dealt so there:
// 9×1716×144 0.79, 14×307×580 0.78. Of interleaved bytes by whole vectors as well, in parts of
// a line and more that take a quarter of L2 at most (Zen 5 and L2 of less than 2 MB not measured):
// Granite Rapids, two threads, 2026-11-30, i8, 3×1028×211 1.26, 2×576×333 1.36, 7×556×341 1.29,
// 5×640×1264 1.21, half a line of 6×49×3561 0.83; larger parts 3×3200×1516 1.48, 7×1728×891 1.17,
// 4×1238×1794 0.87, 6×1216×3598 0.81; Emerald Rapids 3×1028×211 1.10, 2×763×223 1.18, larger ones
// 4×1238×1794 0.74, 7×998×2489 0.74, 4×2790×1542 on four 0.84, 2×3968×1888 on eight 0.63,
// 3×3200×1516 1.61.
bool CpuVariants::are_shares(const TileConfig& tile, int workers, int splits) const {
  const GemmShape& shape = product.shape;
  constexpr std::int64_t kLineBytes = 64;
  const bool are_bytes =
      kernel.interleaves && size_of(kernel.b) == 1 && tile.block_n >= kLineBytes &&
      4 * bytes_of_part_of_b(workers) <= static_cast<double>(request.machine.scratchpad_bytes);
  const bool suits =
      is_in_halves() || ((is_narrow_tile(tile.mr) || are_bytes) && shape.m <= kRowsOfOneWideTile);
  const bool is_long = tile.block_n * size_of(kernel.b) > kPageBytes / 2;
  const bool collide =
      kernel.interleaves && shape.n % (kCollidingRowBytes / size_of(kernel.b)) == 0;
  return workers > 1 && splits == 1 && !collide && suits && is_one_product() &&
         tile.block_m >= shape.m && pieces(shape.n, tile.block_n) == workers &&
         (is_long || !b_is_far());
}

// Whether a tile is a worker's part of columns in one pass over k, of a product that stays in L2:
// its rows of B are read there, and need not be as long as a page. Granite Rapids, two threads,
// f32, 2026-11-30, the time packed over the time so: 13×656×155 1.68, 13×656×200 1.54,
// 13×500×155 1.42, 14×700×140 1.47, 16×512×150 1.72, 13×900×100 1.47, 14×1114×95 1.40, A
// across 1.48. Smaller second-level caches were not measured.
bool CpuVariants::is_part_of_short_way(const TileConfig& tile, int workers, int splits) const {
  const GemmShape& shape = product.shape;
  return workers > 1 && splits == 1 && kernel.reads_in_place && has_much_room(request.machine) &&
         tile.block_m >= shape.m && tile.block_k >= shape.k &&
         size_of_part(shape.n, workers, tile.nr) > 0 && goes_short_way(tile, workers);
}

// Whether B comes from memory in every call.
bool CpuVariants::b_is_far() const {
  double elements = 0;
  for (const ShapeRun& run : request.runs) elements += elements_of_b(run);
  return come_from_memory(elements * size_of(kernel.b), request.machine.cache_bytes);
}

// How many parts of B workers have that come back to each in the next call: of one product's B as
// many as workers, where none has another's columns, too.
int CpuVariants::parts_of_b(const TileConfig& tile, int workers) const {
  return is_one_product() && tile.block_m >= product.shape.m ? workers : 1;
}

// Whether each worker's part of B stays in its L2, and is worth sending for. More rows than a wide
// tile's have more to do for each element that does not: 12×2000×2000 with parts of 2.0 of 2.1 MB
// is level on an Emerald Rapids, 10×500×2000 on two threads of a Granite Rapids 0.85 to 0.95.
bool CpuVariants::parts_of_b_stay(int workers) const {
  const Machine& machine = request.machine;
  const double part = bytes_of_part_of_b(workers);
  const double most = product.shape.m > kRowsOfOneWideTile ? 0.75 : 0.5;
  return workers > 1 && part >= 2 * static_cast<double>(machine.l1_bytes) &&
         part <= most * static_cast<double>(machine.scratchpad_bytes);
}

// The same of columns that few rows walk where they lie, and of as much of k as each has. Behind
// its part of a row the processor fetches on, some 512 bytes of other workers' columns, which take
// room as well, and for very few rows are most of the time. Emerald Rapids, f32, 2026-11-30,
// microseconds by columns of all k and with k divided, under wider ones, and what parts take of L2
// so: with 16 threads 3×655×2204 19, 22 (0.8), 8×443×2585 26, 26 (0.8), 12×2000×2000 88, 90 (1.0),
// 8×2000×2000 60, 67 (1.0), 2×351×3241 26, 17 (1.0), 4×1713×2153 36 in one hour and 127 in another,
// 46 (1.05), with eight 3×832×1790 19 and 58, 21 (0.9). Granite Rapids, two threads, 2×448×1277
// 1.12 times as fast by columns (0.85), 8×560×1130 1.08 (0.9), 3×397×1449 0.74 (1.0), 4×320×1962
// 0.76 (1.1). Few bytes are not worth packing either: 16 threads, packed and in place 5×640×242 13,
// 10, 4×192×1109 14, 10.
//
// Not so where k may not be divided instead, nor where rows lie whole pages apart and share few
// places of L2 (4×1024×730 on two threads 0.62, with 0.7 of it).
bool CpuVariants::columns_stay(const TileConfig& packed, int workers, int splits) const {
  constexpr std::int64_t kFetchedOn = 512;
  constexpr std::int64_t kVeryFewRows = 4;
  const bool may_divide_k = is_one_product() && may_split();
  if (!may_read_whole_rows() || rows_of_b_collide() || !may_divide_k) {
    return parts_of_b_stay(workers);
  }
  const GemmShape& shape = product.shape;
  const std::int64_t cols = std::max<std::int64_t>(1, cols_of(packed));
  const std::int64_t fetched = cols < shape.n ? cols + kFetchedOn / size_of(kernel.b) : cols;
  const std::int64_t each = pieces(pieces(shape.n, cols) * splits, workers);
  const double most = shape.m <= kVeryFewRows ? 0.7 : 0.85;
  return workers > 1 &&
         3 * bytes_of_part_of_b(workers) >= static_cast<double>(request.machine.l1_bytes) &&
         static_cast<double>(each) * bytes_of(pieces(shape.k, splits), fetched, kernel.b) <=
             most * static_cast<double>(request.machine.scratchpad_bytes);
}

// Whether few rows of C are dealt though columns of B could be, which stay in L2 so: workers with
// the same columns read all of them, and have more of them each.
bool CpuVariants::deals_few_rows(const TileConfig& tile, int workers) const {
  const bool has_columns = product.shape.n >= std::int64_t{workers} * kernel.tile.nr;
  return is_one_product() && may_read_whole_rows() && may_pass_here() && has_columns &&
         product.shape.m <= kFewRowsInPassing && tile.block_m < product.shape.m &&
         parts_of_b_stay(workers);
}

// Whether the schedule may divide k.
bool CpuVariants::may_split() const {
  const std::optional<ScheduleKind>& wanted = request.options.schedule;
  return !wanted || *wanted != ScheduleKind::data_parallel;
}

bool CpuVariants::is_one_product() const {
  return request.is_one_product();
}

bool CpuVariants::may_read_whole_rows() const {
  return reads_whole_rows(request.machine, kernel.interleaves);
}

// Dense ones lie whole pages apart.
bool CpuVariants::rows_of_b_collide() const {
  return product.shape.n % (kPageBytes / size_of(kernel.b)) == 0;
}

// In the second-level cache.
bool CpuVariants::b_stays(int parts) const {
  return bytes_of_part_of_b(parts) <= static_cast<double>(request.machine.scratchpad_bytes);
}

// Whether few rows of C read a large B in place by whole rows. Packing is no match for it then,
// also where both wait for memory by prediction.
bool CpuVariants::reads_far_rows() const {
  const GemmShape& shape = product.shape;
  const std::int64_t most = is_narrow_tile(kernel.tile.mr) ? kMostRowsOfNarrow : kSomeRows;
  return shape.m <= most && kernel.reads_in_place && product.b_rows_are_dense &&
         may_read_whole_rows() && !b_stays();
}

// Beyond the rows of a wide tile, where each worker's part of B stays in its L2, packing that takes
// less than adding up parts of k, which leave workers without any where k is short; of those that
// wide tiles do not walk, and that are too few to be packed in passing. Emerald Rapids,
// f32, 16 threads, 2026-11, the time with k divided over the time so: 9×1000×1000 4.1, 16×1000×1000
// 3.6, 13×1000×2000 2.3, 12×2000×2000 2.1, 16×640×5000 1.6; 11 products with 8 threads 1.29, with 4
// 1.04; but of a megabyte of rows whole pages apart 16×1024×4096 0.93.
bool CpuVariants::packs_what_stays(const TileConfig& packed, int workers, int splits) const {
  const auto l2 = static_cast<double>(request.machine.scratchpad_bytes);
  const bool finds_room = !rows_of_b_collide() || 4 * bytes_of_part_of_b(workers) <= l2;
  return may_read_whole_rows() && product.shape.m > kRowsOfOneWideTile &&
         parts_of_b_stay(workers) && finds_room && !deals_columns(packed, workers, splits);
}

// Of whole rows in place little of k is enough: of 8×1131×1023 in f32 four threads had two parts,
// of 6×1792×1638 eight had four (Emerald Rapids, 2026-11-30: 104 µs, and 70 with four; 132, and 50
// with eight).
std::int64_t CpuVariants::least_depth_of_split() const {
  constexpr std::int64_t kLeastOfWholeRows = 64;
  return reads_far_rows() ? kLeastOfWholeRows : kLeastSplitBytes / size_of(kernel.a);
}

// Whether workers had better divide k than rows of B (plan/worker_time_cpu.cpp has what that costs,
// which predictions of products that wait for memory leave out).
bool CpuVariants::splits_rather(const TileConfig& tile, int workers, int splits) const {
  const GemmShape& shape = product.shape;
  const double additions = static_cast<double>(shape.m) * static_cast<double>(shape.n);
  const bool cuts_whole_rows = reads_far_rows() && !deals_columns(tile, workers, splits) &&
                               tile.block_n < std::min<std::int64_t>(shape.n, widest_block() / 2);
  return may_split() && is_one_product() && workers > 1 &&
         (cuts_whole_rows || cuts_far_rows_that_collide(tile, workers)) &&
         additions * workers * workers <= kAdditionsPerRowCut * static_cast<double>(shape.k) &&
         shape.k >= workers * least_depth_of_split();
}

// Where rows lie whole pages apart in memory, and k may be divided. Zen 4,
// two threads, f32, 2026-11, the time with columns divided over the time with k divided, m =
// 2 1.09, 4 1.41, 6 1.15, 8 1.07 to 1.3, of 4096×4096; 4×2048×8192 1.33, 4×8192×2048 1.07; one row
// 0.96, 12 and 16 rows 0.99 to 1.04.
bool CpuVariants::cuts_far_rows_that_collide(const TileConfig& tile, int workers) const {
  constexpr int kWorkersMeasured = 2;
  const GemmShape& shape = product.shape;
  const bool cuts_rows = pieces(shape.n, tile.block_n) > pieces(shape.n, widest_block());
  return is_in_halves() && workers <= kWorkersMeasured && kernel.reads_in_place &&
         product.b_rows_are_dense && cuts_rows && rows_of_b_collide() && b_is_far() &&
         shape.m > 1 && shape.m <= kRowsOfOneWideTile;
}

// Of whole rows some come at a time anyway (cpu/steps.cpp), and long blocks divide equally.
int CpuVariants::whole_row_block_k(int splits) const {
  const std::int64_t each = pieces(product.shape.k, splits);
  return round_up_to(pieces(each, pieces(each, kDepthOfWholeRows)), kManyStreams);
}

// Of all the products together.
double CpuVariants::elements_of_b(const ShapeRun& run) const {
  const std::int64_t cols = product.is_turned ? run.shape.m : run.shape.n;
  return static_cast<double>(run.count) * static_cast<double>(cols) *
         static_cast<double>(run.shape.k);
}

// As the backend does (cpu/steps.cpp) with rows as far apart as they are long: from memory those
// that lie whole pages apart come otherwise, and less deep.
bool CpuVariants::walks_wide_tiles(int parts) const {
  const GemmShape& shape = product.shape;
  const bool collide = rows_of_b_collide();
  const bool is_far = b_is_far();
  const bool may_walk =
      !may_read_whole_rows() || (b_stays(parts) && shape.m <= kRowsOfWideTilesFromL2);
  const bool suits =
      shape.m <= kRowsOfOneWideTile ? !(collide && is_far) : !collide && !is_far && may_walk;
  return (kernel.reads_in_place || widens_halves(kernel)) &&
         shape.m <= most_rows_of_wide_tiles(b_stays()) && suits;
}

// More rows than one such tile has.
bool CpuVariants::walks_narrow_wide_tiles() const {
  const GemmShape& shape = product.shape;
  return is_narrow_tile(kernel.tile.mr) && shape.m <= kMostRowsOfNarrowWideTiles &&
         suits_narrow_wide_tiles(shape.k, bytes_of(shape.k, shape.n, kernel.b),
                                 request.machine.scratchpad_bytes) &&
         walks_wide_tiles();
}

std::int64_t CpuVariants::widest_block() const {
  if (is_passed_once() || splits_f64(kernel)) return kWidestBlock;
  if (const int depth = given_block_k(); depth > 0 && has_tile_registers(kernel)) {
    // As wide as stays near with that depth, four panels at least.
    const std::int64_t fitting =
        near_b_bytes(request.machine.scratchpad_bytes) / (std::int64_t{depth} * kernel.packed_size);
    return std::clamp<std::int64_t>(fitting, 4 * kernel.tile.nr, kWidestBlock);
  }
  if (reads_rows_of_a_once()) return kColumnsTogether;
  if (has_tile_registers(kernel)) {
    return most_columns_beside_tile_registers(kernel, product.shape, request.machine,
                                              most_workers());
  }
  const std::int64_t rows = product.shape.m;
  const bool passes = rows >= least_rows_of_passing(bytes_of_part_of_b(1), most_workers(),
                                                    is_one_product(), request.machine);
  if (passes || !may_read_whole_rows()) {
    return kWidestBlock;
  }
  const std::int64_t bytes = rows <= kRowsOfManyStreams ? kWholeRowBytesOfStreams : kWholeRowBytes;
  return bytes / size_of(kernel.b);
}

// Of so many rows of A or columns of B, with all of k.
double CpuVariants::panel_bytes(std::int64_t count) const {
  const double elements = bytes_of(count, product.shape.k, kernel.a) / size_of(kernel.a);
  const std::int64_t ranges =
      splits_f32(kernel) ? pieces(count, kernel.tile.mr) * kRangeBytesOfPanel : 0;
  return elements * kernel.packed_size + static_cast<double>(ranges);
}

bool CpuVariants::is_small() const {
  return multiply_adds(product.shape) <= kSmallProduct;
}

// A small product does, as long as panels of all k leave room in the second-level cache; of bytes,
// which take the longest to widen and add up for every block, a middling one as well. Zen 4,
// 2026-11, the time in blocks of 512 bytes of k over the time so: 43 products up to 64³ with k of
// 600 to 8000, operands in rows, i8 1.13 (1×15×1641 1.42, 4×60×1000 1.27, 2×6×4006 0.92),
// f16 1.05, bf16 1.01, f32 and f64 level, A transposed i8 1.16, bf16 1.13, B transposed level; 43
// of up to sixteen times that i8 1.04 (50×15×820 1.25, 20×30×1000 1.22, 60×14×629 0.92), others and
// larger ones level; with AVX2 there the first 43 i8 1.05, bf16 1.04, A transposed 1.44 and 1.18.
// Tile registers have blocks of their own.
bool CpuVariants::goes_over_k_once() const {
  constexpr double kMiddlingOfBytes = 16 * kSmallProduct;
  const GemmShape& shape = product.shape;
  const bool is_byte = size_of(kernel.b) == 1;
  const std::int64_t rows = round_up_to(shape.m, kernel.tile.mr);
  const std::int64_t cols = round_up_to(shape.n, kernel.tile.nr);
  return !has_tile_registers(kernel) && is_one_product() &&
         multiply_adds(shape) <= (is_byte ? kMiddlingOfBytes : kSmallProduct) &&
         leave_room(panel_bytes(rows + cols), request.machine.scratchpad_bytes);
}

// B in place, and A with it or not.
TileConfig CpuVariants::in_place(TileConfig tile, bool a_too, int workers, int splits) const {
  const GemmShape& shape = product.shape;
  tile.a_in_place = a_too;
  tile.b_in_place = true;
  // In one pass over k, by the short way. Zen 5, f32, 2026-11, in blocks over in one pass: 8×8×500
  // 2.4, 8×16×500 2.7, 8×32×500 1.4, 5×6×1237 2.1, 2×8×2000 1.3. B alone in place, Zen 4, 41
  // products of 1 to 8 rows: f64 1.04, f16 1.04 (1×53×1221 1.35 and 1.34), f32, bf16, i8 level.
  if (is_small()) {
    const bool leaves_room =
        leave_room(panel_bytes(round_up_to(shape.m, tile.mr)), request.machine.scratchpad_bytes);
    if (a_too || (splits == 1 && leaves_room)) {
      tile.block_k = round_up_to(std::max<std::int64_t>(1, shape.k), 4);
    }
    return tile;
  }
  // All of k where that is a quarter more at most: 124×16×274 in f32 takes 6.3 µs in one block,
  // and 7.5 in two (Zen 5, 2026-11).
  const auto most = static_cast<int>(kDepthBytesInPlace / size_of(kernel.b));
  tile.block_k = streamed_block_k(splits);
  const bool is_one_block = tile.block_k >= shape.k && tile.block_k <= at_most(most);
  // A block of B that leaves room in L2 comes in one piece of memory (cpu/share_of_b.hpp).
  const bool is_one_piece =
      leave_room(bytes_of(most, shape.n, kernel.b), request.machine.scratchpad_bytes);
  const bool is_long = may_read_whole_rows() && !is_one_block && !is_one_piece;
  const std::int64_t page = kPageBytes / size_of(kernel.b);
  const bool are_dealt = are_shares(tile, workers, splits);
  if (is_long || walks_wide_tiles() || ((workers == 1 || are_dealt) && converts_whole_rows())) {
    tile.block_k = whole_row_block_k(splits);
  } else if (!is_one_block) {
    tile.block_k = std::min(tile.block_k, most);
  }
  const bool keeps_short = rows_of_b_collide() && !is_for_few_rows(1) &&
                           (splits == 1 || !is_in_halves()) && !is_narrow_tile(tile.mr) &&
                           !may_read_whole_rows();
  const bool may_stay = are_dealt || is_part_of_short_way(tile, workers, splits);
  if (shape.m <= kSomeRows && !may_stay && (tile.block_n < page || keeps_short)) {
    tile.block_n = choose_block(shape.n, std::max<std::int64_t>(1, shape.n / page), tile.nr);
  }
  return tile;
}

// `packed` is a worker's. Small products go over k once.
bool CpuVariants::reads_near_here(const TileConfig& packed, int workers, int splits) const {
  const bool is_one_pass = goes_short_way(packed, workers) &&
                           in_place(packed, true, workers, splits).block_k >= product.shape.k;
  return !is_one_pass &&
         reads_near(product, packed, kernel, request.machine, rows_of(packed), cols_of(packed));
}

TileConfig CpuVariants::near(TileConfig tile, int splits) const {
  const std::int64_t depth_bytes =
      product.b_begins_at_lines ? kDepthBytesNear : kDepthNearOffLines * size_of(kernel.b);
  tile.a_in_place = true;
  tile.b_in_place = true;
  tile.block_k = choose_block_k(product.shape.k, kernel, splits, depth_bytes);
  const std::int64_t strips = pieces(product.shape.m, tile.block_m);
  if (strips > 1) {
    const int rows = rows_of_part(tile.mr, true, request.machine);
    tile.block_m = choose_block(product.shape.m, strips, rows);
  }
  return tile;
}

// B alone in place, its columns as they were dealt where workers keep theirs.
TileConfig CpuVariants::b_in_place(const TileConfig& packed, int workers, int splits) const {
  TileConfig tile = in_place(packed, false, workers, splits);
  if (deals_columns(packed, workers, splits)) {
    tile.block_n = packed.block_n;
    tile.block_k = whole_row_block_k(splits);
  }
  return tile;
}

bool CpuVariants::is_for_few_rows(std::int64_t most) const {
  double few = 0;
  double all = 0;
  for (const ShapeRun& run : request.runs) {
    const std::int64_t rows = product.is_turned ? run.shape.n : run.shape.m;
    const double b = rows > 0 ? elements_of_b(run) : 0;
    all += b;
    few += rows <= most ? b : 0;
  }
  return few > 0 && 2 * few >= all;
}

}  // namespace tessera
