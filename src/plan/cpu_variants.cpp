#include "plan/cpu_variants.hpp"

#include <algorithm>

#include "core/in_place_rule.hpp"
#include "core/piece_of_a.hpp"
#include "core/tile_registers_rule.hpp"
#include "plan/cpu_blocks.hpp"
#include "plan/few_rows.hpp"
#include "plan/panel_depth.hpp"
#include "plan/passing.hpp"
#include "plan/passing_pays.hpp"

namespace tessera {
namespace {

// Strips of rows up to which B is read in place, for each strip reads it again; and A where both
// operands fill half of L2 at most. Beyond, reading packed panels wins back the packing. Zen 4, n =
// k = 4096, f32, 2026-11: 100 against 76 GFLOP/s with 64 rows, 101 against 100 with 256. What has
// to be interleaved each time is for one strip: Zen 5, in place and packed, bf16 with 4, 12, 24 and
// 64 rows 118, 188, 244 and 250 against 52, 166, 291 and 350; i8 148, 335, 241 against 124, 331,
// 545.
constexpr std::int64_t kMostStripsInPlace = 16;

// Few rows of C beside packed bytes whose rows lie whole pages apart. Zen 4, one thread, i8, n = k
// = 4096, 2026-11, microseconds with 128, 256 and 640: m = 1 897, 975, 1198, 2 1210, 1431, 1610, 4
// 1341, 1487, 1758, 8 1481, 1584, 1675.
constexpr int kDepthOfColliding = 128;

// Few rows of C, which are multiplied as dot products where B lies along k, and how much of k at a
// time that many are: deeper, and rows of A leave the near caches. Zen 4, n = k = 4096, 2026-11,
// GFLOP/s against packing B: f32 m = 1 11.7 (5.4), 4 32 (17), 16 48 (43); bf16 1 32 (13), 16 105
// (91); i8 1 83 (28), 4 261 (105), 16 267 (170). With 32 rows in f32 63, and packing is faster.
constexpr std::int64_t kMostRowsOfDots = 16;
constexpr std::int64_t kDotBytes = 4096;
// Of a product turned round workers are dealt so many of B's columns, for they are no vectors, nor
// C's; others' are whole panels, which may be packed ahead all the same (cpu/packed.cpp): Zen 4,
// two threads, 2026-11, 40 products of 2 to 20 columns beside an A in rows, time by whole panels of
// 32 over the time so: f32 1.02, f64 1.02, bf16 1.01.
constexpr int kDotColumnsDealt = 8;
// The least k that is worth adding up lanes: for a C whose rows are no vectors, which is better
// written so anyway, and for one whose rows are, more for each of them, for which columns are
// packed once; fewer columns than a panel is wide are packed for nothing. Zen 5, one thread,
// 2026-11, the time by packing over the time by dots. f32, 1000 columns, 2 rows, k = 16 0.79,
// 32 1.46; 4 rows, 32 0.87, 64 1.32; 8 rows, 64 0.97, 96 1.10; 16 rows, 128 0.95, 200 1.10; 16
// columns, 8 rows, 64 0.97; 8 columns, 8 rows, 16 0.95, 16 rows, 32 1.08. f64, 1000 columns, 8
// rows, 32 0.90, 64 1.24; 16 columns 0.88, 1.11; bf16 8 rows, 128 0.91, 200 1.03; i8 4 rows,
// 128 1.07, 8 rows, 256 0.97, 512 1.32, 8 columns, 64 1.09. Few columns of a row-major C, f32
// 200×8×16 1.23, 200×4×24 1.73, 1000×2×30 3.2, bf16 50×4×48 2.6, but i8, whose offset takes
// multiply-adds of its own, 200×8×64 0.72, 300×6×100 0.80.
constexpr std::int64_t kLeastDotBytes = 64;
constexpr std::int64_t kDotBytesForEachRow = 32;
constexpr std::int64_t kFewColumns = 8;  // of 4 bytes of sums

// The same where registers are half as wide. Zen 3, one thread, 2026-11, 300 columns, the time by
// packing over the time by dots: f32, 1 row, k = 8 0.89, 16 1.30; 2 rows, 16 0.87, 24 1.17; 4 rows,
// 48 0.91, 64 1.35; 8 rows, 48 0.72, 64 1.06; 16 rows, 64 0.81, 128 1.06; f64 1 row, 8 1.66; 4
// rows, 16 0.96, 32 1.60; 16 rows, 32 0.99, 48 1.07; bf16 1 row, 8 1.17; 4 rows, 32 0.84, 64 1.40;
// 8 rows, 64 0.97, 128 1.15; 16 rows, 256 0.97 and 14×1625×244 0.86; i8 1 row, 8 0.90, 16 1.47; 4
// rows, 32 1.15; 8 rows, 64 1.00; 16 rows, 64 0.73, 128 1.00.
std::int64_t least_narrow_dot_bytes(std::int64_t rows, int size) {
  constexpr std::int64_t kLeast = 16;
  if (size == 1) return std::max(kLeast, 10 * rows);
  const std::int64_t most = 32 * rows;
  if (size == 2) return rows <= 8 ? most : 48 * rows;
  return std::max(most, std::min<std::int64_t>(64 * rows, 256));
}

}  // namespace

int CpuVariants::most_workers() const {
  return request.most_workers();
}

// Of a B that is packed ahead. For tile registers all of k, as long as the rows of A leave room in
// the second-level cache: B passes by once, and so does C then. Granite Rapids, one thread,
// 2026-11-30, microseconds with 256 bytes of k, 512, 1024 and all, i8: 64×4096×4096 1639, 1556,
// 1378, 1260, 128×4096×4096 3229, 2777, 2315, 2170, 64×1024×1024 56, 41, all 36, 16×4096×4096 744,
// 817, 838, 791, 32×3072×768 104, 117, all 133, 16×2048×2048 169, 169, 191, 184; bf16 64×4096×4096
// 4312, 4069, 3698, 3743, 16×4096×4096 1889, 2262, 2278, 1872, 32×3072×768 215, 244, 264, 258. Up
// to 32 rows with 256 bytes on two threads take longer than with all: over oneDNN's time, bf16
// 32×2048×8192 1.13 and 0.87, 16×2048×2048 1.10 and 0.98, i8 8×896×4864 1.40 and 1.18. In parts,
// and by vectors, panels are as deep as other vectors' are: f32 in parts 64×4096×4096 with 128,
// 512, 1024 and 2048 of k 13.8, 11.9, 11.4, 12.3 ms.
int CpuVariants::block_k_beside_packed(std::int64_t splits) const {
  std::int64_t bytes = panel_bytes_per_row(kernel);
  if (has_tile_registers(kernel) && kernel.products == 1) {
    constexpr std::int64_t kLeastBytes = 256;
    const std::int64_t room = request.machine.scratchpad_bytes / 8 * 3;
    bytes = std::max(kLeastBytes, room / std::max(product.shape.m, kRowsOfOneStrip));
  }
  return choose_block_k(product.shape.k, kernel, splits, bytes);
}

// The depth of a B that is packed already; 0 of another.
int CpuVariants::given_block_k() const {
  const std::optional<TileConfig>& tile = request.options.tile;
  return product.b_is_packed && tile ? tile->block_k : 0;
}

// Whether tile registers have panels of a B that is packed ahead pass by once. More rows have
// blocks of B in the second-level cache, as others have.
bool CpuVariants::is_passed_once() const {
  return product.b_is_packed && has_tile_registers(kernel) && product.shape.m <= kRowsBesidePacked;
}

int CpuVariants::packed_block_k(std::int64_t splits) const {
  if (const int given = given_block_k(); given > 0) return given;
  const bool by_vectors = !has_tile_registers(kernel);
  if (is_passed_once() || (product.b_is_packed && by_vectors)) return block_k_beside_packed(splits);
  if (!reads_rows_of_a_once() && !goes_over_k_once() && !adds_up_few_columns_at_once()) {
    return choose_packed_block_k(kernel, product, request.machine, most_workers(), splits);
  }
  const std::int64_t k = std::max<std::int64_t>(1, product.shape.k);
  return choose_block_k(k, kernel, splits, k * kernel.packed_size);
}

// Of operands that stream by.
int CpuVariants::streamed_block_k(std::int64_t splits) const {
  const GemmShape& shape = product.shape;
  return choose_block_k(shape.k, kernel, splits,
                        panel_bytes_per_row(kernel, shape, request.machine, most_workers()));
}

// Whether tiles of up to kColumnsTogether columns, whose sums stay in tile registers over all of k
// so that each row of A is read once for them, beside a B that stays in the second-level cache, are
// better than blocks of k. More columns take several such tiles, for which long rows of A come
// again from beyond that cache; more than two workers wait for it there. Granite Rapids, 2026-11,
// the time by blocks of k over the time so, one thread and two: bf16 4096×96×4096 1.40, 1.25,
// 4096×128×4096 1.43, 1.42, 4096×192×4096 1.15, 1.19, 11008×128×4096 1.5, 1.4,
// 1000×128×4096 1.30, 1.38, i8 on one 1.26, 1.28, 1.12, 1.35, 1.18; but 4096×256×4096 1.04, with
// shorter rows 2000×200×2000 0.87, 0.82, 4096×128×1000 1.02, 0.85, i8 0.69, 0.99. Emerald Rapids,
// busy, with one thread, four and sixteen, geometric means of eleven: bf16 1.07, 0.90, 0.95, with B
// transposed 1.10, 1.01, 1.05.
bool CpuVariants::reads_rows_of_a_once() const {
  constexpr int kFewWorkers = 2;
  const GemmShape& shape = product.shape;
  const auto l2 = static_cast<double>(request.machine.scratchpad_bytes);
  if (!has_tile_registers(kernel) || kernel.products > 1 || !product.a_lies_along_k) return false;
  const std::int64_t cols = std::min(shape.n, kColumnsTogether);
  const std::int64_t row_bytes = shape.k * size_of(kernel.a);
  const bool is_one_tile = cols == shape.n;
  const bool comes_again = most_workers() <= kFewWorkers && shape.n <= kColumnsBesideLongRows &&
                           row_bytes >= kBytesOfLongRows &&
                           bytes_of(shape.m, shape.k, kernel.a) >= 2 * l2;
  const bool stays = 2 * bytes_of(shape.k, cols, kernel.b) <= l2;
  return stays && (is_one_tile || comes_again) &&
         reads_rows_once(shape.m / most_workers(), cols, row_bytes);
}

// Whether the sums of few columns, beside an A in rows, stay in tile registers over all of a k that
// is not long. Granite Rapids, 2026-11-30, the time with blocks of 512 to 1024 bytes of k over the
// time so, operands in rows (m of 100 to 1500), and few rows of B along k, turned round: bf16 5×700
// 1.17, 11×700 1.17, 15×2000 1.22, 40×800 1.23, turned 8 of 2000 of k 1.18, 16 1.16, 16 and 48 of
// 800 1.32, 1.20; two threads 1.11, 1.06, 1.19, 1.11, 1.13, 1.06, 1.09, 1.13; i8 of 2000 of k, 15
// 1.09, turned 8 1.10, 16 1.06, of 4096 100×8 and 200×16 1.21, 1.22, two threads 1.21, 1.09,
// shorter level. But bf16 200×16×4096 0.89, 60×900 0.91, 0.91, and with two threads of 1500 rows,
// which leave L2, 32 and 48 of 900 0.90, 0.84.
bool CpuVariants::adds_up_few_columns_at_once() const {
  constexpr std::int64_t kFew = 16;
  constexpr std::int64_t kTwoPages = 8192;
  constexpr std::int64_t kSome = 48;
  constexpr std::int64_t kMostBytesBesideSome = 2048;
  const GemmShape& shape = product.shape;
  if (!has_tile_registers(kernel) || kernel.products > 1 || !product.a_lies_along_k ||
      !is_one_product()) {
    return false;
  }
  const std::int64_t row_bytes = shape.k * size_of(kernel.a);
  if (shape.n <= kFew) return row_bytes < kTwoPages;
  const bool stays =
      bytes_of(shape.m, shape.k, kernel.a) <= static_cast<double>(request.machine.scratchpad_bytes);
  return size_of(kernel.a) > 1 && shape.n <= kSome && row_bytes <= kMostBytesBesideSome && stays;
}

bool CpuVariants::may_pass_here() const {
  return may_pass(kernel, product) && has_passing(request.machine, kernel.tile.mr);
}

// Of C, under a tile.
std::int64_t CpuVariants::rows_of(const TileConfig& tile) const {
  return std::min<std::int64_t>(tile.block_m, product.shape.m);
}

std::int64_t CpuVariants::cols_of(const TileConfig& tile) const {
  return std::min<std::int64_t>(tile.block_n, product.shape.n);
}

// `packed` is a worker's. Of an A across k whose columns collide in the nearest cache, or whose
// rows are far more than B's columns, packing is faster: Zen 5, one thread, f32, 2026-11, packed
// over in passing 512³ 0.96, and of others 75×233×1467 1.23, 117×221×1914 1.19, 64×4096×4096 1.11,
// 128×128×32768 1.07, 256³ 1.02, f64 64×4096×4096 1.18, 118×326×1759 1.16, 500×128×1024 1.00;
// 1760×25×158 0.93, 500×30×250 0.93, 400×60×250 0.95, on an Emerald Rapids f64 521×37×1055 0.82.
// There few columns gain more (f32 128×128×32768 1.27, 117×221×1914 1.26, 256³ 1.11), and many
// lose: f64 100×1000×1000 0.92, f32 64×4096×4096 0.84.
bool CpuVariants::suits_passing_here(const TileConfig& packed, int workers) const {
  constexpr std::int64_t kCollidingBytes = 2 << 10;
  constexpr std::int64_t kTall = 5;
  constexpr std::int64_t kBroad = 512;
  const std::int64_t rows = rows_of(packed);
  if (!product.a_lies_along_k) {
    const bool collides = product.shape.m * size_of(kernel.a) % kCollidingBytes == 0;
    const bool is_tall = kTall * cols_of(packed) < rows;
    const bool is_broad = may_read_whole_rows() && cols_of(packed) > kBroad;
    if (collides || is_tall || is_broad) return false;
  }
  return may_pass(kernel, product) && !goes_short_way(packed, workers) &&
         suits_passing(request.machine, faced_sizes(product, packed, kernel, request.machine, rows,
                                                    cols_of(packed))) &&
         passing_pays(product.shape, {rows, parts_of_b(packed, workers), workers, is_one_product()},
                      size_of(kernel.b), request.machine);
}

// Whether the backend multiplies it without more ado (cpu/direct.cpp), several workers by parts of
// its columns or rows.
bool CpuVariants::goes_short_way(const TileConfig& packed, int workers) const {
  const Problem& problem = request.problem;
  const GemmShape& shape = product.shape;
  const bool is_plain = problem.epilogue == Epilogue{} && problem.alpha != 0;
  const ElementType sum = accumulator_of(problem.types);
  const bool sums_fit = problem.types.c == sum || bytes_of(shape.m, shape.n, sum) <=
                                                      static_cast<double>(short_way_bytes(
                                                          register_tile(packed, request.machine),
                                                          request.machine.scratchpad_bytes));
  const bool are_in_place = kernel.reads_in_place || widens_halves(kernel);  // or copies are
  const int rows_each = rows_of_part(packed.mr, are_in_place, request.machine);
  const bool are_dealt =
      workers == 1 || (is_one_product() && (size_of_part(shape.n, workers, packed.nr) > 0 ||
                                            size_of_part(shape.m, workers, rows_each) > 0));
  return is_plain && sums_fit && are_dealt &&
         may_go_short_way(product, packed, kernel, request.machine);
}

// The same with a B that is in place where its rows keep apart in L2 and leave room there, or is
// packed whole; and an A whose lines, of which a register tile takes a part in every step of k
// where they lie across, leave room, too: Zen 3, one thread, 2026-11, the time by packing over the
// time in place, A column-major, f64, k = 200, 100×20 0.99, 100×40 1.35, 250×20 0.95, 250×40 0.97,
// 250×100 0.79. One or two rows are streams before B takes all of L2 (cpu/steps.cpp).
bool CpuVariants::goes_short_way_of_narrow(const TileConfig& packed, int workers) const {
  constexpr std::int64_t kRowsThatStream = 2;
  const GemmShape& shape = product.shape;
  if (!is_narrow_tile(packed.mr) || !kernel.reads_in_place) return false;
  if (!goes_short_way(packed, workers)) return false;
  const auto l2 = static_cast<double>(request.machine.scratchpad_bytes);
  const double bytes = bytes_of(shape.k, shape.n, kernel.b);
  if (!product.a_lies_along_k && 8 * bytes_of(shape.m, shape.k, kernel.a) > 3 * l2) return false;
  if (!product.b_rows_are_dense) {
    return bytes <= static_cast<double>(short_way_bytes(register_tile(packed, request.machine),
                                                        request.machine.scratchpad_bytes));
  }
  if (shape.m <= kRowsThatStream) return 3 * bytes <= l2;
  return (rows_of_b_collide() ? 4 * bytes : bytes) <= l2;
}

// A in place, and B where its rows are vectors, all of k at once: as the short way takes them.
TileConfig CpuVariants::in_one_pass(TileConfig tile) const {
  tile.a_in_place = true;
  tile.b_in_place = product.b_rows_are_dense;
  tile.block_k = round_up_to(std::max<std::int64_t>(1, product.shape.k), 4);
  return tile;
}

// Panels that are used once or twice are not worth packing, nor is an A that meets them alone,
// unless it lies across and is so large that its lines are fetched again for every register tile.
// Zen 3, one thread, 2026-11, the time by packing over the time in place, k = 1000, operands in
// rows, m = 300, 1000, 3000: f32 16 columns 1.97, 2.01, 1.25; 20 1.26, 1.19, 1.17; 50 0.95, 0.88,
// 0.55; f64 16 1.39, 1.24, 1.27; 20 1.17, 1.08, 1.01; A column-major f32 16 columns 1.32, 1.35,
// 0.31; 20 1.03, 0.34, 0.48; f64 9 1.19, 0.56, 0.37, with k = 400 1.20, 1.11, 0.38.
bool CpuVariants::reads_few_columns_in_place(const TileConfig& packed) const {
  constexpr std::int64_t kMostColumns = 20;
  constexpr double kScratchpadsOfA = 5;
  const GemmShape& shape = product.shape;
  const bool a_is_near = bytes_of(shape.m, shape.k, kernel.a) <=
                         kScratchpadsOfA * static_cast<double>(request.machine.scratchpad_bytes);
  return is_narrow_tile(packed.mr) && kernel.reads_in_place && product.b_rows_are_dense &&
         shape.n <= kMostColumns && shape.m > kMostRowsOfNarrow &&
         (product.a_lies_along_k || a_is_near);
}

// Nor is an A that meets panels of few columns or is short along k, if the columns are too many to
// be read in place themselves: register tiles that are narrow anyway read its rows as fast as
// panels. Zen 3, one thread, 2026-11, the time with A packed over the time with A in place,
// operands in rows: f32 859×23×178 1.26, 119×27×1071 1.21, 1000×32×300 1.28, 200×40×500 1.22,
// 98×55×818 1.13, 1000×64×200 1.14, 500×96×200 1.06, 500×128×500 1.08; 2618×30×61 1.31,
// 32×2511×49 1.13, 1000×1000×64 1.08; 1000×200×300 1.01, 512³ 0.92, 48×2000×2000 0.79; f64
// 300×24×1000 1.20, 200×40×500 1.11, 300×64×1000 1.06; 500×128×500 0.99, 1000×1000×64 0.96,
// 200×1000×200 0.86; B transposed alike. A column-major, whose lines a register tile takes parts
// of: f32 of up to 512 KB 700×25×150 1.19, 2000×31×40 1.30, 200×40×500 1.13, 500×96×200 1.08, but
// 150×120×800 0.71; of more 60×26×3000 1.07, 400×28×900 0.78; f64 900×56×60 1.07, 150×22×400 0.97,
// 200×40×500 0.74. Two workers, which may both read all of A: f32 128×128×2000 1.07, 64×64×20000
// 0.75 to 0.97, 128×128×32768 0.91, f64 128×128×2000 1.08, 96×96×10000 0.92, 64×64×20000 0.85. That
// was while panels' tiles stored their last vector by a mask (cpu/ops_avx2.hpp). Since then, A in
// rows and more columns: f32 1000×300×100 1.08, 1500×150×110 1.18, 600×500×115 1.11, 600×2000×100
// 1.06, k = 160 0.87 to 1.01, k = 300 0.69 to 1.03; f64 k = 60 1.11 to 1.20, 100 1.02 to 1.14, 160
// 0.87 to 1.10.
bool CpuVariants::reads_a_beside_panels(const TileConfig& packed, int workers) const {
  constexpr std::int64_t kFewColumnBytes = 512;
  constexpr double kShortRowBytes = 480;
  constexpr double kMostBytesAcross = 2048;  // along k; beyond, the backend takes other code
  constexpr double kScratchpadsOfA = 4;
  if (!is_narrow_tile(packed.mr) || !kernel.reads_in_place) return false;
  const GemmShape& shape = product.shape;
  const double row_bytes = bytes_of(1, shape.k, kernel.a);
  const double bytes = bytes_of(shape.m, shape.k, kernel.a);
  const auto l2 = static_cast<double>(request.machine.scratchpad_bytes);
  if (workers > 1 && bytes > kScratchpadsOfA * l2) return false;
  const bool is_few = cols_of(packed) * size_of(kernel.b) <= kFewColumnBytes;
  if (product.a_lies_along_k) return is_few || row_bytes <= kShortRowBytes;
  return is_few && row_bytes <= kMostBytesAcross && bytes <= l2;
}

// Whether a strip of A that lies across k is better packed before it goes by several panels of B:
// in place each step of k is on a line of its own, far from the last one's. Emerald Rapids, one
// thread, both operands transposed, 2026-11, the time in place over the time packed: f32
// 1169×40×155 1.22, 425×1051×60 1.25, 300×300×100 1.19, 640×781×32 1.21, 500×500×200 1.24,
// 100×1000×100 1.22, f64 241×2111×55 1.16, 300×300×100 1.21, 640×781×32 1.21; beside one panel f32
// 125×17×58 0.63, f64 48×6×258 0.61. What stays in the nearest cache, and smaller second-level
// caches, were not measured.
bool CpuVariants::strides_beside_panels(const TileConfig& packed) const {
  const GemmShape& shape = product.shape;
  return !product.a_lies_along_k && has_much_room(request.machine) && shape.n > packed.nr &&
         2 * bytes_of(shape.m, shape.k, kernel.a) > static_cast<double>(request.machine.l1_bytes);
}

bool CpuVariants::goes_along_rows_here(const TileConfig& packed, int workers) const {
  const bool are_shared = workers > 1 && cols_of(packed) < product.shape.n;
  const int size = size_of(kernel.a);
  const WrittenBlock block{.rows = rows_of(packed),
                           .cols = cols_of(packed),
                           .depth = product.shape.k,
                           .nr = packed.nr,
                           .element_bytes = size,
                           .sum_bytes = size,
                           .b_begins_at_lines = product.b_begins_at_lines,
                           .cuts_rows = are_shared && !may_cut_written_rows(request.machine)};
  return kernel.reads_in_place && !is_narrow_tile(packed.mr) && product.b_rows_are_dense &&
         goes_along_rows(block, request.machine.scratchpad_bytes);
}

// From so much of k on panels write a C faster that would be written along its rows. Granite
// Rapids, 2026-11-30, the time along rows over the time packed, C of 1.2 to 12 MB under 300 to 1900
// columns, one thread, 96 products, B's rows off lines with k of 5 to 8 0.95, of 10 to 16 1.08, of
// 22 and 30 1.12, at lines 0.98, 1.04, 1.0; off lines with A across and k of 10 to 28 1.15 to 1.27,
// on two threads 1.14 to 1.27.
bool CpuVariants::packs_short_depth(const TileConfig& packed) const {
  constexpr std::int64_t kLeastDepth = 8;
  return has_much_room(request.machine) && product.shape.k >= kLeastDepth &&
         cols_of(packed) <= kMostPackedColumns;
}

// Whether B is one panel that is nearly full, beside rows of A from beyond L2: copies of these come
// sooner than their parts. Granite Rapids, one thread and two, 2026-11-30, the time in place over
// the time packed, k of 2 to 16 KB, 24 products of 24 to 32 columns of f32 1.09, 1.09 (1220×31×1245
// 1.3), of 12 to 16 of f64 1.11, 1.03; f32 of 17 to 22 columns 1.0, of 38 and 39 0.88 to 0.97, of
// 42 to 76 0.92 to 1.07. More workers and groups were not measured.
bool CpuVariants::fills_a_panel(const TileConfig& packed) const {
  constexpr std::int64_t kLeastRowBytes = 2 << 10;
  constexpr std::int64_t kMostRowBytes = 16 << 10;
  constexpr std::int64_t kManyRows = 48;
  constexpr int kFewWorkers = 2;
  const GemmShape& shape = product.shape;
  const std::int64_t row_bytes = shape.k * size_of(kernel.a);
  const bool is_full = shape.n <= packed.nr && 4 * shape.n >= 3 * packed.nr;
  const bool is_far =
      bytes_of(shape.m, shape.k, kernel.a) > static_cast<double>(request.machine.scratchpad_bytes);
  return is_full && is_far && kernel.reads_in_place && !is_narrow_tile(packed.mr) &&
         has_much_room(request.machine) && is_one_product() && most_workers() <= kFewWorkers &&
         product.a_lies_along_k && product.b_rows_are_dense && shape.m > kManyRows &&
         row_bytes >= kLeastRowBytes && row_bytes <= kMostRowBytes;
}

// As many blocks of rows as of the packed tile, and equal parts of its k-blocks.
TileConfig CpuVariants::in_passing(TileConfig tile, int workers, int splits) const {
  tile.a_in_place = true;
  tile.b_in_place = true;
  const std::int64_t rows = product.shape.m;
  tile.block_m = round_up_to(pieces(rows, pieces(rows, tile.block_m)), kPassingRows);
  const int parts_of_all = parts_of_b(tile, workers);
  const int depth =
      passing_depth(rows_of(tile), cols_of(tile), product.shape.n,
                    parts_of_all > 1 && b_stays(parts_of_all), size_of(kernel.b), request.machine);
  if (product.shape.k <= deepest_passing(depth)) return tile;
  const std::int64_t whole =
      rows <= kFewRowsInPassing ? pieces(product.shape.k, splits) : tile.block_k;
  const std::int64_t parts = whole <= deepest_passing(depth) ? 1 : pieces(whole, depth);
  tile.block_k = round_up_to(pieces(whole, parts), 64 / size_of(kernel.a));
  return tile;
}

// How much of k at a time: the fewer rows there are the more of each, for lanes are added up less
// often. Zen 4, one thread, 2026-11, the time with 4096 bytes over the time so, two lists of 43
// and 57 products with k of 750 to 11000, A in rows beside 1 to 12 columns: f32 1.05, f64 1.09 and
// 1.08, i8 1.01 (f32 7×1×3535 1.9, 4×3×2042 1.3, 57×3×6179 0.9, f64 0.81; f64 7×2×741 1.9,
// 97×1×1132 1.2); with more columns level. Zen 3, 40 such products of k from 300 on: f32 1.01,
// f64 1.05, bf16 1.02, i8 1.00 (f32 50×1×1781 1.3, 4×2×3518 1.5).
//
// Beside columns from memory, and short registers, a row of A stays in the nearest cache while they
// pass by, or half of that cache is for a part of it: Zen 3, one thread, the time otherwise over
// the time so, nine products of 1 to 4 rows with k of 9000 to 30000 f32 1.22, f64 1.06, bf16 0.99,
// i8 1.02 (1×500×12000 in f32 1.9). Columns in caches are level.
//
// Several workers share products of few columns by blocks of k as well. With 64 columns and more
// for each of them, the time with 4096 bytes over the time so: Zen 3, two threads, 21 products of 1
// to 16 rows f32 1.11, f64 1.13, bf16 1.11, f16 1.09, i8 1.01, twelve of 1 to 8 columns beside A in
// rows f32 1.09, f64 1.09, bf16 1.06; Emerald Rapids, 2, 4 and 16 threads, eleven of the former,
// f32 1.03, 1.02, 1.02, f64 1.02, 1.01, 1.00, bf16 0.99, 0.99, 0.98, i8 0.96, 0.96, 1.02; with
// AVX2, 2 and 16, f32 1.06, 1.04, f64 1.05, 1.03, bf16 1.06, 1.02, i8 1.00, 1.03.
std::int64_t CpuVariants::dot_bytes(int workers) const {
  constexpr std::int64_t kManyColumns = 64;
  const GemmShape& shape = product.shape;
  const bool is_narrow = is_narrow_tile(kernel.tile.mr);
  const bool may_be_deep =
      workers == 1 || (shape.n >= kManyColumns * workers && (is_narrow || size_of(kernel.a) > 2));
  if (!may_be_deep) return kDotBytes;
  const std::int64_t deep = kDotBytes * kMostRowsOfDots / std::max<std::int64_t>(1, shape.m);
  const std::int64_t near = request.machine.l1_bytes;
  const bool leaves_nearest = is_narrow && b_is_far() && shape.k * size_of(kernel.a) > near;
  return std::max(kDotBytes, leaves_nearest ? std::min(deep, near / 2) : deep);
}

// Whether C's few columns, a vector of them at most, are multiplied by tall register tiles, of
// which each worker has rows enough; those that had better make dot products have been turned round
// for it, but for columns that lie along k either way.
bool CpuVariants::makes_tall_tiles(const TileConfig& packed) const {
  const GemmShape& shape = product.shape;
  const RegisterTile tile = register_tile(kernel.tile, request.machine);
  const StoredProduct stored{
      shape.m, shape.n, shape.k, size_of(kernel.a), product.a_lies_along_k, product.b_lies_along_k};
  return kernel.reads_in_place && rows_of(packed) >= kLeastRowsOfTall &&
         may_take_tall_tiles(stored, tile) &&
         (product.b_rows_are_dense || suits_tall_tiles(stored, tile));
}

// As deep as leaves tall tiles rows enough in a piece of A (cpu/blocking.cpp). Emerald Rapids, one
// thread, f32, 2026-11, the time with 512 and 1024 of k over the time with all of it,
// 3000×16×3000 1.24, 1.09, 1000×12×1500 1.11, 1.06, 500×14×6000 1.13, 1.07; with B packed where it
// lies along n 1.03 to 1.06.
TileConfig CpuVariants::tall(TileConfig tile, int splits) const {
  constexpr std::int64_t kRowsOfPiece = 48;
  tile.a_in_place = true;
  tile.b_in_place = product.b_rows_are_dense;
  const std::int64_t piece = piece_of_a_bytes(request.machine.scratchpad_bytes);
  tile.block_k = choose_block_k(product.shape.k, kernel, splits, piece / kRowsOfPiece);
  return tile;
}

bool CpuVariants::suits_dots() const {
  const GemmShape& shape = product.shape;
  if (shape.m > kMostRowsOfDots) return false;
  const int size = size_of(kernel.b);
  const bool is_narrow = is_narrow_tile(kernel.tile.mr);
  const bool is_across = !product.c_rows_are_dense && (size > 1 || is_narrow);
  const std::int64_t rows = is_across ? 1 : shape.m;
  const std::int64_t columns = std::min<std::int64_t>(shape.n, kWidestBlock) *
                               size_of(accumulator_of(request.problem.types)) / 4;
  const std::int64_t for_each_row =
      std::min(kDotBytesForEachRow, std::max(columns, 4 * columns - 3 * kFewColumns));
  const std::int64_t least = is_narrow ? least_narrow_dot_bytes(rows, size)
                                       : std::max(kLeastDotBytes, for_each_row * rows);
  const bool copies_bytes = size == 1 && !is_narrow && !product.a_lies_along_k;
  return kernel.multiplies_dots && product.b_lies_along_k && shape.k * size >= least &&
         (!copies_bytes || shape.k >= kDotBytesForEachCopied * shape.m);
}

// More rows beside few columns, which leave lanes of panels empty, or few enough rows that packing
// B is dear; rows that lie across k are copied for many columns. In a group, where most of B is for
// few rows, such as experts have. Which is faster predictions say, but for what was turned round
// for it (core/orientation_rule.hpp). Zen 4, one thread, 2026-11, weights along k, rows dealt by a
// flat Dirichlet, the time by packing over the time so, f32, bf16, i8: 64 rows for 8 experts of
// 7168×2048 1.29, 1.41, 1.54, 128 rows 1.10, 1.25, 1.23, 1024 for 128 of 2048×768 1.34, 1.58, 1.64,
// 256 1.12, 1.01, 0.98, 64 for 32 of 256×256 1.00, 0.96, 0.99.
bool CpuVariants::may_make_dots_of_many_rows() const {
  constexpr std::int64_t kLeastBytes = 256;
  constexpr std::int64_t kMostOfFewer = 64;
  const GemmShape& shape = product.shape;
  if (!kernel.multiplies_dots || is_narrow_tile(kernel.tile.mr) || has_tile_registers(kernel) ||
      !product.b_lies_along_k || shape.m <= kMostRowsOfDots ||
      shape.k * size_of(kernel.b) < kLeastBytes) {
    return false;
  }
  if (!is_one_product() && product.a_lies_along_k && is_for_few_rows(kMostRowsOfDots)) return true;
  return (is_one_product() || !product.c_rows_are_dense) &&
         (product.a_lies_along_k || kRowsForEachCopied * shape.m <= shape.n) &&
         std::min(shape.m, shape.n) <= kMostOfFewer;
}

// Rows that pass by all columns, a few of these at a time, stay in a quarter of L2: with a half
// 347×63×2215 in bf16 took 1.5 times as long on a Zen 4.
TileConfig CpuVariants::as_dots(TileConfig tile, int workers, int splits) const {
  const GemmShape& shape = product.shape;
  tile.a_in_place = product.a_lies_along_k;
  tile.b_in_place = true;
  const int dealt = product.is_turned ? kDotColumnsDealt : tile.nr;
  tile.block_n = choose_block(shape.n, 1, dealt, tile.block_n);
  tile.block_k = choose_block_k(shape.k, kernel, splits, dot_bytes(workers));
  const std::int64_t row_bytes = std::int64_t{tile.block_k} * size_of(kernel.a);
  const std::int64_t stay = request.machine.scratchpad_bytes / 4 / row_bytes;
  tile.block_m = choose_block(rows_of(tile), 1, tile.mr, std::max<std::int64_t>(stay, tile.mr));
  return tile;
}

// Of a B of few columns in place, all of k of a product alone while that stays in the second-level
// cache from one strip of A to the next, and else blocks of which two leave room there: larger ones
// the backend takes for rows that pass by once (cpu/steps.cpp), a few of k at a time. Zen 3,
// 2026-11, the time with blocks of half that cache, or five eighths, over the time so, one thread
// and two: f32 48×16×20000 4.4, 4.2, 24×12×30000 1.28, 1.25, 200×16×10000 4.3, 4.8, 64×20×8000 3.7,
// 4.5, f64 the same 2.8, 4.5, 1.33, 1.25, 2.6, 4.2, 3.0, 3.1, 100×8×20000 3.4, 4.4, 1000×16×6000
// 2.4, 1.1; f32 3000×16×3000 and 2000×16×5000, which stay, 0.82 to 0.87 in smaller blocks.
int CpuVariants::depth_beside_few_columns(std::int64_t cols, std::int64_t splits) const {
  const GemmShape& shape = product.shape;
  if (!product.a_lies_along_k) return choose_block_k(shape.k, kernel, splits, kDepthBytesInPlace);
  const std::int64_t l2 = request.machine.scratchpad_bytes;
  const bool stays = splits == 1 && is_one_product() &&
                     bytes_of(shape.k, cols, kernel.b) <= static_cast<double>(at_most(l2 / 2));
  // With the quarter more of at_most() a third, which leave_room() asks for.
  const std::int64_t block = stays ? l2 / 2 : 4 * l2 / 15;
  return choose_block_k(shape.k, kernel, splits, block / cols);
}

// As the backend does (cpu/blocking.cpp) with rows as far apart as they are long.
bool CpuVariants::packs_by_pieces_here(const TileConfig& packed, int workers, int splits) const {
  const GemmShape& shape = product.shape;
  const bool may_be = has_tile_registers(kernel) && kernel.products == 1 &&
                      product.b_rows_are_dense && is_one_product() && packed.block_m >= shape.m;
  if (!may_be) return false;
  const std::int64_t cols = std::max<std::int64_t>(1, cols_of(packed));
  const std::int64_t tiles = pieces(shape.n, cols);
  const std::int64_t each = blocks_of_worker(tiles, splits, workers);
  const FewRows few =
      few_rows_of(product, request.problem, kernel, cols, pieces(shape.k, splits), each);
  return packs_by_pieces(few, request.machine.scratchpad_bytes);
}

// Whether rows of C are dealt though columns of B could be, which are packed by pieces then, or a
// long k: Granite Rapids, two threads, 2026-11-30, microseconds by rows and by k 64×40×5000 48, 30,
// 64×100×8000 177, 97; by rows and, a panel or two for each, by columns 64×64×800 10.1, 5.3,
// 48×96×800 12.6, 7.3, 64×96×832 13.7, 8.2, 96×64×832 12.9, 9.8.
bool CpuVariants::deals_rows_of_pieces(const TileConfig& packed, int workers) const {
  constexpr std::int64_t kDepthForEach = 1024;
  const GemmShape& shape = product.shape;
  if (packed.block_m >= shape.m || shape.m > kMostRowsByPieces) return false;
  TileConfig uncut = packed;
  uncut.block_m = choose_block(shape.m, 1, packed.mr);
  if (may_split() && shape.k >= kDepthForEach * workers) {
    uncut.block_n = choose_block(shape.n, 1, packed.nr, widest_block());
    return packs_by_pieces_here(uncut, workers, workers);
  }
  uncut.block_n = choose_block(shape.n, workers, packed.nr, widest_block());
  return shape.n >= workers * kernel.tile.nr &&
         deals_columns_by_pieces(shape.m, shape.k, request.problem.c.alignment) &&
         packs_by_pieces_here(uncut, workers, 1);
}

// With B packed ahead A alone may be read in place, and the blocks of B are as wide as tiles are.
std::vector<TileConfig> CpuVariants::beside_packed(const TileConfig& packed, int workers) const {
  std::vector<TileConfig> tiles;
  TileConfig tile = packed;
  const bool is_narrow = product.shape.n <= packed.nr;
  if (reads_a_beside_panels(packed, workers) ||
      (kernel.reads_in_place && is_narrow && !strides_beside_panels(packed))) {
    tile.a_in_place = true;
    tiles.push_back(tile);
    tile.a_in_place = false;
  }
  tiles.push_back(tile);
  return tiles;
}

std::vector<TileConfig> CpuVariants::of(const TileConfig& packed, int workers, int splits) const {
  const GemmShape& shape = product.shape;
  std::vector<TileConfig> tiles;
  if (product.b_is_packed) return beside_packed(packed, workers);
  if (deals_few_rows(packed, workers) || deals_rows_of_pieces(packed, workers)) return tiles;
  if (makes_tall_tiles(packed)) {
    tiles.push_back(tall(packed, splits));
    return tiles;
  }
  if (suits_dots()) {
    tiles.push_back(as_dots(packed, workers, 1));
    // Nothing else is worth a look, whatever predictions of narrow panels say.
    if (shape.n <= packed.nr) return tiles;
  } else if (may_make_dots_of_many_rows()) {
    tiles.push_back(as_dots(packed, workers, splits));
    if (!product.c_rows_are_dense) return tiles;
  }
  if (copies_widened(packed, workers, splits)) {
    tiles.push_back(in_one_pass(packed));
    return tiles;
  }
  if (reads_in_registers() && shape.m <= most_rows_in_registers()) {
    tiles.push_back(b_in_place(packed, workers, splits));
    // What is packed would be widened as well.
    if (kernel.widens) return tiles;
  }
  const bool goes_along_rows = goes_along_rows_here(packed, workers);
  if (fills_a_panel(packed) || (goes_along_rows && packs_short_depth(packed))) {
    tiles.push_back(packed);
    return tiles;
  }
  if (goes_along_rows) {
    tiles.push_back(in_place(packed, true, workers, splits));
    return tiles;
  }
  if (goes_short_way_of_narrow(packed, workers)) {
    tiles.push_back(in_one_pass(packed));
    return tiles;
  }
  if (reads_few_columns_in_place(packed)) {
    TileConfig tile = packed;
    tile.a_in_place = true;
    tile.b_in_place = true;
    tile.block_k = depth_beside_few_columns(cols_of(packed), splits);
    tiles.push_back(tile);
    return tiles;
  }
  if (reads_a_beside_panels(packed, workers)) {
    TileConfig tile = packed;
    tile.a_in_place = true;
    tiles.push_back(tile);
    if (shape.m > kMostRowsOfNarrow && !walks_narrow_wide_tiles()) return tiles;
  }
  if (splits_rather(packed, workers, splits)) return tiles;
  if (reads_near_here(packed, workers, splits)) {
    tiles.push_back(near(packed, splits));
    return tiles;
  }
  if (suits_passing_here(packed, workers)) {
    tiles.push_back(in_passing(packed, workers, splits));
    return tiles;
  }
  if (kernel.reads_in_place) {
    const double bytes =
        bytes_of(shape.m, shape.k, kernel.a) + bytes_of(shape.k, shape.n, kernel.b);
    const bool is_narrow = is_narrow_tile(packed.mr);
    const bool both_stay =
        !is_narrow && bytes * 2 <= static_cast<double>(request.machine.scratchpad_bytes);
    const bool a_may = both_stay || shape.n <= packed.nr;
    const bool few_strips = is_narrow ? shape.m <= kMostRowsOfNarrow || walks_narrow_wide_tiles()
                                      : shape.m <= kMostStripsInPlace * packed.mr;
    const bool b_may = product.b_rows_are_dense && (few_strips || both_stay);
    if (b_may && a_may) tiles.push_back(in_place(packed, true, workers, splits));
    if (b_may) tiles.push_back(b_in_place(packed, workers, splits));
    if (a_may && !strides_beside_panels(packed)) {
      TileConfig tile = packed;
      tile.a_in_place = true;
      tiles.push_back(tile);
    }
  }
  if (reads_far_rows() && !packs_what_stays(packed, workers, splits)) return tiles;
  TileConfig tile = packed;
  if (packs_by_pieces_here(packed, workers, splits)) {
    const std::int64_t depth =
        depth_by_pieces(shape.m, kernel.packed_size, request.machine.scratchpad_bytes);
    tile.block_k = choose_block_k(shape.k, kernel, splits, depth * kernel.packed_size);
  }
  const bool is_deep = packed.block_k * kernel.packed_size > kDepthBytesInPlace;
  tile.block_n = choose_block(
      packed.block_n, 1, packed.nr,
      is_narrow_tile(packed.mr) && is_deep ? kMostPackedColumnsOfNarrow : kMostPackedColumns);
  if (packs_few_rows_that_collide()) tile.block_k = std::min(tile.block_k, kDepthOfColliding);
  tiles.push_back(tile);
  return tiles;
}

}  // namespace tessera
