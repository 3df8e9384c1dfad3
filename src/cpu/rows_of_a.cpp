#include "cpu/rows_of_a.hpp"

#include <algorithm>
#include <numeric>

#include "core/tile_registers_rule.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/nearest_cache.hpp"

namespace tessera::cpu {
namespace {

// Fewer columns of B do not make up for copying A.
constexpr std::int64_t kColumnsWorthCopying = 256;

// Where two units do all vectors' work, as on Intel's processors, A's rows are packed for so many
// columns: twelve rows that enter their next lines at once keep the multiply-adds waiting, and a
// sign that is flipped in passing takes a multiply-add's place. Emerald Rapids, one thread,
// 2026-11, GFLOP/s in place or copied, and packed: f32 512³ 150 and 159, 1024³ 146 and 157,
// 384×384×3000 103 and 110, 1000×64×1000 138 and 98, f64 512³ 70 and 74, 1000×64×1000 71 and 63; i8
// 512³ 465 and 663, 128³ 410 and 485, 1000×32×1000 482 and 452. Not measured with tile registers,
// which read rows themselves.
constexpr std::int64_t kColumnsWorthPacking = 256;
constexpr std::int64_t kColumnsWorthFlipping = 64;

// Where a vector's multiply-add takes two passes, as on a Zen 4, a sign flipped in passing may take
// one's place as well, and rows are packed for more columns. Zen 4, i8, one and two threads,
// 2026-11, time in place over time packed: 18 products in rows 1.03 and 1.02, B along k 1.03 and
// 1.03 (1024³ 1.02, 64×4096×4096 1.04, 777×1333×99 1.07), 128 to 256 columns 0.95 to 1.02.
constexpr std::int64_t kColumnsWorthFlippingInHalves = 384;

// Tile registers read rows in place that end in a part of a group (isa_amx.cpp) for so few columns;
// for more it pays to copy the rows to where they start on lines. Granite Rapids, one thread,
// 2026-11, the time by copying over the time in place: bf16 1500×64×400 1.8, 700×70×400 1.5,
// 1000×128×400 1.5, 700×64×1000 1.6, 2000×33×700 1.6, 1000×200×300 1.13, 500×256×700 0.97 to 1.03,
// i8 1.1; with more columns 400×400×210 0.93, i8 0.89, 200×1000×250 0.97.
constexpr std::int64_t kColumnsForEndsOfRows = 256;

// Beside a few panels tile registers read rows in place that collide, too, though their lines leave
// the nearest cache before the next panel wants them. Emerald Rapids, one thread, 2026-11, the time
// by copying over the time in place, 32 to 300 rows of 2 to 16 KB in two runs: i8 with 80 columns
// 1.04 to 1.35, 96 1.01 to 1.15, 128 0.98 to 1.14, 160 0.96 to 1.27, 192 0.92 to 1.13, 256 0.89 to
// 1.12, bf16 0.96 to 1.54, 0.91 to 1.54, 0.90 to 1.35, 0.90 to 1.32, 0.90 to 1.09, 0.89 to 1.10,
// without one time each of 64×128×4096 and 128×96×4096, 0.65 and 2.55 where the other is 1.01 and
// 1.06; 1000 rows with up to 128 columns 0.97 to 1.10, two of bf16 1.29 and 1.57 once; rows of 32
// KB and more level on one thread, 128×128×32768 0.95 to 0.99 on two.
constexpr std::int64_t kColumnsBesideCollidingRows = 160;
constexpr std::int64_t kLongestCollidingRowBytes = 16 << 10;

bool packs_rows(const Product& product) {
  const KernelCode& code = *product.code;
  const bool flips_signs = code.packed_size_a == 1 && code.panel_extra_b > 0;
  if (flips_signs && multiply_add_pipes().multiply_adds_per_cycle == 1) {
    return product.block_cols() >= kColumnsWorthFlippingInHalves;
  }
  if (!has_two_units() || !(code.reads_in_place || code.interleaves)) return false;
  return product.block_cols() >= (flips_signs ? kColumnsWorthFlipping : kColumnsWorthPacking);
}

// Whether so many rows of A find room side by side in the nearest cache, where they stay while k
// runs along a line of each. A quarter of a set's ways is left to the lines of B that pass by, and
// to whoever shares the core: while another guest of the machine was on the other hardware thread,
// lines that took all twelve ways of a set on a Zen 5 drove each other out, and 128×128×32768 took
// 1.7 times as long (docs/notebook_cpu.md). Bits do not depend on it.
bool keeps_apart(const Product& product, int rows) {
  return rows_keep_apart(product.a, rows, nearest_cache_ways() * 3 / 4);
}

}  // namespace

bool goes_flat(const Product& product) {
  if (product.code->rows_together == 0) return false;
  const int size = size_of(product.a.type);
  const std::int64_t cols = product.block_cols();
  const bool is_short = product.depth() <= product.specs.a.block_cols &&
                        suits_flat_blocks(product.depth() * size, cols);
  return is_short || reads_rows_once(product.block_rows(), cols, product.block_depth() * size);
}

bool keeps_rows_of_a(const Product& product) {
  const KernelCode& code = *product.code;
  if (!code.keeps_rows || product.a.col_stride != 1 || packs_rows(product)) return false;
  if (code.depth_step == 1) return true;
  if (product.b_in_place) return false;
  if (goes_flat(product)) return true;
  const bool ends_anywhere =
      code.rows_together > 0 && product.block_cols() <= kColumnsForEndsOfRows;
  const std::int64_t block = product.specs.a.block_cols;
  const bool is_one = product.depth() <= block;
  const std::int64_t last = is_one ? product.depth() : (product.depth() - 1) % block + 1;
  const auto suits = [&](std::int64_t depth) {
    return depth % code.depth_step == 0 || ends_anywhere ||
           (code.ends_rows && depth > code.depth_step);
  };
  // Of several blocks all but the last are whole groups.
  return suits(last) && (is_one || block % code.depth_step == 0);
}

// Rows of an odd multiple of 2 KB, in place against copied, on a Zen 4, f32, 2026-11: 512x512x1536
// 102.8 and 99.7 GFLOP/s, 512³ on two threads 222 and 215. Rows of a multiple of 4 KB on a Zen 5,
// nobody beside, microseconds with twelve in place, eight, and copied: i8 128×128×32768 1332, 1313,
// 1419, 192×192×16384 1454, 1442, 1506, 256×256×4096 622, 642, 636; bf16 2643, 2622, 2701; 2871,
// 3020, 2970; 1251, 1314, 1293.
int rows_in_place(const Product& product) {
  const KernelCode& code = *product.code;
  if (product.a_in_place) return code.mr;
  if (product.is_dots || !keeps_rows_of_a(product)) return 0;
  // Beside so few columns each line of A is wanted once, or nearly, and had better not be copied:
  // Granite Rapids, one thread, 2026-11, the time by copying over the time in place, bf16
  // 200×16×4096 1.2, 4096×16×4096 with blocks of k 1.4.
  const bool is_short = product.a.row_stride * size_of(product.a.type) <= kLongestCollidingRowBytes;
  const std::int64_t few = is_short ? kColumnsBesideCollidingRows : kColumnsTogether;
  const bool are_few = code.rows_together > 0 && product.block_cols() <= few;
  if (are_few || keeps_apart(product, code.mr)) return code.mr;
  const bool copies_for_few = product.block_cols() < kColumnsWorthCopying;
  return copies_for_few && keeps_apart(product, code.few_rows) ? code.few_rows : 0;
}

// L2's sets repeat every 128 KB: a quarter of each one's 16 ways. Fewer than `kLeastRows` would
// pack B too often. Emerald Rapids, f32, one thread, 2026-11, per cent of the peak with 64, 128,
// 256 and 512 rows that lie a multiple of 4 KB apart: 512×512×1024 92.4, 94.6, 94.5, 92.2;
// 256×256×4096 90.7, 93.5, 93.8, 93.6; 192×192×16384 87.9, 90.8, 92.8, 92.7.
std::int64_t rows_that_stay(const ConstMatrixView& a) {
  constexpr std::int64_t kSetBytes = 128 << 10;
  constexpr std::int64_t kWays = 4;
  constexpr std::int64_t kLeastRows = 256;
  const std::int64_t stride = a.row_stride * size_of(a.type);
  const std::int64_t places = stride != 0 ? kSetBytes / std::gcd(stride, kSetBytes) : 1;
  return std::max(kLeastRows, kWays * places);
}

}  // namespace tessera::cpu
