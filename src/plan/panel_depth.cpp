#include "plan/panel_depth.hpp"

#include <algorithm>

#include "core/in_place_rule.hpp"
#include "core/passing_rule.hpp"
#include "core/piece_of_a.hpp"
#include "core/tile_registers_rule.hpp"
#include "plan/cpu_blocks.hpp"
#include "plan/half_vectors.hpp"

namespace tessera {
namespace {

// Tile registers: B's packed block is to stay in the second-level cache, while strips of A as deep,
// which stay in the nearest one, pass it by (cpu/isa_amx.cpp). One core of a Granite Rapids (2 MB
// of L2), 2026-11, GFLOP/s with one block of all columns and k, and so: bf16 2048³ 1290
// and 1490, 3000³ 1090 and 1440, 2048×4096×1024 1390 and 1580, 5000³ 1050 and 1230, i8 2048³ 2760
// and 3000, 3000³ 2270 and 3030, 8000×8000×2000 1780 and 2370; with blocks of 512 columns
// and 2048 bytes of k i8 2048³ 2800, of 2048 columns and 512 bytes 2510. Beside very few rows B
// passes by once, in blocks that stay as well: the time with 2048 columns and 640 bytes of k over
// the time so, bf16 16×4096×4096 1.16, 64×4096×4096 1.01, 64×11008×4096 1.08, i8 1.18, 1.14, 1.16;
// but i8 64×1500×5000 in two tiles 0.87.
constexpr std::int64_t kNearBytes = 1024;  // and a quarter more (choose_block_k)
// Parts of f16 come from the strip three times for two of B's. The same machine, the time with
// blocks of 320 of k over the time with 256: 1536×1792×6016 1.15, 3000³ 1.14, 1024×4096×4096 1.1.
constexpr std::int64_t kNearBytesOfParts = 820;
// Of f32's three parts blocks of 128 of k. Granite Rapids, one thread, 2026-11-30, 26 products of
// 128³ to 3000³ and with few rows or a long k: of 64, 96, 128, 160, 192 and 256 of k 1.16, 1.08,
// 1.02, 1.04, 1.17 and 1.16 times the time of the best.
constexpr std::int64_t kNearBytesOfThreeParts = 615;
constexpr std::int64_t kColumnsOfNearB = 512;
// Of f32 in three parts less of it stays, beside strips of six bytes for each element. The same
// machine, 2026-11-30, the time with all of that room over the time with so much, one thread and
// two: 3000³ 1.19, 1.32, 1500³ in one tile or two 1.03; with half of it 2500³ 1.08.
constexpr std::int64_t kSeventhsOfRoom = 6;
constexpr std::int64_t kVeryFewRows = 64;
constexpr std::int64_t kShortNearBytes = 410;  // and a quarter more
constexpr std::int64_t kColumnsBesideVeryFewRows = 1024;
constexpr std::int64_t kColumnsNotWorthCutting = 1536;
// A very large C whose rows lie whole pages apart, so that its lines drive each other out of the
// near caches, is written once, past them, if k is no longer than this. GFLOP/s with B near and so:
// i8 8192×8192×4096 2310 and 2600, bf16 8192×8192×2048 1150 and 1310; 4096³ 1350 and 1380, i8 2620
// and 2640; smaller ones are better near: bf16 3072³ 1455 and 1270, i8 3120 and 2350.
constexpr std::int64_t kMostBytesAtOnce = 8192;
constexpr std::int64_t kScratchpadsOfC = 24;
// Many workers share the last cache, which C passes through for every block of k where their parts
// of it do not stay in L2: blocks are deeper there, and B's does not stay. Emerald Rapids, 16
// threads, the time with blocks of 1024 bytes, or all of k, over the time so: bf16 3000³ 1.20 to
// 1.31, 4096³ 1.30 to 1.41, with B or A transposed 1.26, 1.17 and 1.30, 1.14, 5000³ 1.05,
// 4000×3000×2000 1.09, 6000×2000×3000 0.89, i8 3000³ 1.07 to 1.15, 6000×2000×3000 1.35; in one
// block 3000×3000×700 0.80, and 8192×4096×2048, written at once, in two 0.93. Eight products with 8
// threads 0.94.
constexpr int kManyWorkers = 12;
constexpr std::int64_t kDeepBytes = 2048;
constexpr std::int64_t kMostBytesAtOnceOfMany = 4096;
// With few strips of rows there is little time to fetch B's next panels, and the shorter they are
// the longer are the parts of rows that they consist of: f32 96×4096×4096 103 and 86 with 512 and
// 1024, i8 64×4096×4096 374 and 355 with 1024 and 2048; on a Zen 5 i8 658 and 604 with 512 and
// 1024, bf16 16×4096×4096 181, 170 and 157 with 256, 512 and 1024, f32 64×4096×4096 128, 115 and
// 95; AVX2 on Zen 3, f32 16×4096×4096 51 with 256 of k and 33 with 592, 64×4096×4096 70 and 55.
constexpr std::int64_t kFewStrips = 16;
// Of narrow register tiles, whose processors have small second-level caches, so many are few enough
// for panels half as deep: B's packed block is not fetched again for many pieces of A then. Zen 3,
// one thread, 2026-11, operands in rows, the time with 1024 of k over the time with 512: f32
// 97×2000×2000 1.11 to 1.19, 150×2000×2000 1.05 to 1.23, 250×2000×2000 1.06 to 1.12,
// 100×4096×4096 1.22 to 1.28, f64 1.23 to 1.30 with 256 and 512; 500×2000×2000 1.00, 1000³ 0.96.
// Not where that block stays near L2: 256×256×4096 1.01 to 1.05, 192×192×16384 0.97 to 0.99,
// 128×128×32768 0.96.
constexpr std::int64_t kSomeStripsOfNarrow = 48;

// Columns of B that lie along k are transposed as they are packed, a line of each at a time, and
// the farther each is followed the better, as long as all rows are one piece of A
// (core/piece_of_a.hpp): for a second one B's packed block is kept, and comes from beyond L2. One
// thread, 2026-11, the time with 1280 bytes of k, or of i8 640, over the time with as much as that
// leaves, Zen 4 and Emerald Rapids: f32 17×3000×3000 1.31, 1.17, 24×2048×2048 1.14, 1.05,
// 48× 1.06, 1.10, 64×3000×3000 1.09, 1.06, 96×2048×2048 1.06, 1.02, 180× 1.02, 1.04;
// f64 1.1, 1.11, 1.24, 1.14, 1.11, 1.10, 1.09, 1.08, 1.13, 1.11, 0.96, 1.06; Zen 4 bf16
// 48×2048×2048 1.04, 64×3000×3000 1.05, 96×2048×2048 1.10, 180× 1.05; i8 17×3000×3000 1.11,
// 24×4096×4096 1.13, 48×2048×2048 1.13, 96× 1.08, 192× 1.17; with more f32 96×2048×2048 0.92, 0.79,
// f64 64×3000×3000 0.89, 0.80, i8 64×2048×7168 0.90.
//
// But two to four workers with f32 and more than a few strips have shallow ones: Granite Rapids,
// two threads, 2026-11-30, 36 and 40 products of 73 to 300 rows, 256 to 2900 columns and k of 360
// to 3100, the time with deep panels over the time so, 1.02 and 1.01, A across 1.01
// (128×768×768 1.04, 128×768×3072 1.04, 101×911×1884 1.11, 86×385×2611 0.91), one thread 0.98, f64
// on one and two 0.96, 1.00; busy Emerald Rapids, the 36, two, four, eight and sixteen threads
// 1.03, 1.02, 1.00, 0.98. Smaller second-level caches were not measured.
constexpr std::int64_t kDeepestBytes = 4096;  // and a quarter more
constexpr std::int64_t kStripsOfShallow = 6;
constexpr int kMostWorkersOfShallow = 4;
// Of f32 in three parts likewise, and rows of A along k beside some columns, which are to take a
// fifth of L2. Granite Rapids, 2026-11-30, the time with 128 of k over the time so, B along k, one
// thread and two: 64×4096×4096 1.53, 128×4096×4096 1.63, 128×1000×1000 1.13, 1.11, 64×1024×1024
// 1.26, 1.20, 192×3000×3000 1.29, 1.26, 160×2000×2000 1.20, 1.09, 192×1000×1000 1.08, 1.02; with
// 256 rows 0.94 to 1.2; in rows, one thread, 4096×64×4096 1.42, 4096×128×4096 1.37, 2000×192×2000
// 1.6, 1000×128×1000 1.09, 256³ 0.95.
constexpr std::int64_t kMostRowsOfDeepParts = 224;
constexpr std::int64_t kPartOfL2ForDeepParts = 5;
constexpr std::int64_t kDeepestOfThreeParts = 512;
// Rows of B in bytes, of which 512 of k are a panel of half the bytes that others have, likewise
// beside several strips. Zen 4, one thread, 2026-11, the time with 512 or 640 over the time with
// twice that: 40×7168×2048 1.12, 48× 1.17, 64× 1.15, 64×2048×2048 1.04, 96× 1.04, 128× 1.01,
// 48×4096×4096 1.00, but 16×4096×4096 0.86 to 0.95, 24×4096×4096 0.98.
constexpr std::int64_t kStripsOfDeepBytes = 4;

// Of which k's blocks are multiples where there are several.
int depth_multiple(const KernelEntry& kernel) {
  return 64 / size_of(kernel.products > 1 ? kernel.multiplies : kernel.a);
}

int equal_blocks(std::int64_t k, const KernelEntry& kernel, std::int64_t splits,
                 std::int64_t most) {
  const std::int64_t blocks = std::max<std::int64_t>(1, pieces(k, most * splits)) * splits;
  return round_up_to(std::max<std::int64_t>(1, pieces(k, blocks)),
                     blocks > 1 ? depth_multiple(kernel) : 4);
}

double bytes_of_c(const GemmShape& facing) {
  return bytes_of(facing.m, facing.n, ElementType::f32);  // as of i32
}

// Of f32, panels are twice as deep where C, which every block of k reads and writes again, comes
// from memory with A and B, and pieces of A so deep leave room in a large second-level cache. The
// time with some 1024 of k over the time with 2048, 2026-11: Granite Rapids, one thread,
// 4096³ 1.05, 4000³ 1.05, 3000×4096×4096 1.03, 3000×5000×5000 1.06, 3000×8192×2048 1.04,
// 4096×4096×3000 1.00, 6000×3000×4000 1.00, smaller 2048×4096×4096 1.00, 2048³ 1.01, 3000³ 1.00,
// f64 2800×4096×2048 0.98 with 512 and 1024; Emerald Rapids, busy, means of 4096³, 4000³,
// 3000×4096×4096, 3000³ and 2048×4096×4096 with one thread 1.06 and 1.00, with two 1.04, four 1.06,
// sixteen 0.96.
bool is_far_f32(const KernelEntry& kernel, const GemmShape& facing, const Machine& machine,
                int workers) {
  const double bytes = bytes_of(facing.m, facing.k, kernel.a) +
                       bytes_of(facing.k, facing.n, kernel.b) + bytes_of_c(facing);
  return kernel.a == ElementType::f32 && workers < kManyWorkers && has_much_room(machine) &&
         come_from_memory(bytes, machine.cache_bytes);
}

// Whether all the workers' parts of C pass through the last cache.
bool c_is_shared(const GemmShape& facing, const Machine& machine, int workers) {
  return workers >= kManyWorkers &&
         bytes_of_c(facing) > static_cast<double>(machine.scratchpad_bytes) * workers;
}

std::int64_t near_bytes(const KernelEntry& kernel) {
  if (kernel.products == 1) return kNearBytes;
  if (splits_f64(kernel)) return kDepthByResidues * kernel.packed_size;
  return splits_f32(kernel) ? kNearBytesOfThreeParts : kNearBytesOfParts;
}

bool writes_c_at_once(const KernelEntry& kernel, const GemmShape& facing, const Machine& machine,
                      int workers) {
  const std::int64_t most =
      c_is_shared(facing, machine, workers) ? kMostBytesAtOnceOfMany : kMostBytesAtOnce;
  return !looks_at_elements(kernel) && rows_collide(facing.n * size_of(ElementType::f32)) &&
         facing.k * kernel.packed_size <= most &&
         bytes_of_c(facing) > kScratchpadsOfC * static_cast<double>(machine.scratchpad_bytes);
}

// k of blocks where few rows, or columns, are beside an operand that lies along k; 0 where that is
// no reason for deep ones.
std::int64_t deep_parts(const KernelEntry& kernel, const FacedProduct& product,
                        const Machine& machine) {
  std::int64_t beside = kMostRowsOfDeepParts + 1;
  if (product.b_lies_along_k) beside = product.shape.m;
  if (product.a_lies_along_k) beside = std::min(beside, product.shape.n);
  if (beside > kMostRowsOfDeepParts) return 0;
  const std::int64_t bytes = machine.scratchpad_bytes / kPartOfL2ForDeepParts;
  const std::int64_t fitting = bytes / (std::max<std::int64_t>(1, beside) * kernel.packed_size);
  return std::min(fitting, kDeepestOfThreeParts);
}

}  // namespace

std::int64_t panel_bytes_per_row(const KernelEntry& kernel, const GemmShape& facing,
                                 const Machine& machine, int workers) {
  const std::int64_t most = panel_bytes_per_row(kernel);
  if (has_tile_registers(kernel)) {
    if (facing.m <= kVeryFewRows && !looks_at_elements(kernel)) return kShortNearBytes;
    if (writes_c_at_once(kernel, facing, machine, workers)) return kMostBytesAtOnce;
    const bool is_deep = kernel.products == 1 && c_is_shared(facing, machine, workers) &&
                         facing.k * kernel.packed_size > at_most(kDeepBytes);
    return is_deep ? kDeepBytes : near_bytes(kernel);
  }
  const std::int64_t strips = pieces(facing.m, kernel.tile.mr);
  if (strips <= kFewStrips) return most / 4;
  if (is_far_f32(kernel, facing, machine, workers)) return 2 * most;
  const double block = static_cast<double>(facing.n) * static_cast<double>(most);
  const bool is_far = block >= 2 * static_cast<double>(machine.scratchpad_bytes);
  const bool are_some = is_narrow_tile(kernel.tile.mr) && strips <= kSomeStripsOfNarrow;
  return is_far && are_some ? most / 2 : most;
}

int choose_packed_block_k(const KernelEntry& kernel, const FacedProduct& product,
                          const Machine& machine, int workers, std::int64_t splits) {
  const GemmShape& shape = product.shape;
  const std::int64_t streamed = panel_bytes_per_row(kernel, shape, machine, workers);
  const int mr = kernel.tile.mr;
  const std::int64_t strips = std::max<std::int64_t>(1, pieces(shape.m, mr));
  const bool are_few = !has_tile_registers(kernel) && !is_narrow_tile(mr) && strips <= kFewStrips;
  const bool are_shallow = kernel.a == ElementType::f32 && has_much_room(machine) && workers > 1 &&
                           workers <= kMostWorkersOfShallow && strips > kStripsOfShallow;
  if (splits_f32(kernel)) {
    const std::int64_t least = at_most(streamed) / kernel.packed_size;
    const std::int64_t most = std::max(least, deep_parts(kernel, product, machine));
    return equal_blocks(shape.k, kernel, splits, most);
  }
  if (are_few && product.b_lies_along_k && !are_shallow) {
    const std::int64_t fitting = piece_of_a_bytes(machine.scratchpad_bytes) / (strips * mr);
    const std::int64_t most = std::min(fitting, at_most(kDeepestBytes)) / kernel.packed_size;
    const std::int64_t whole = most / depth_multiple(kernel) * depth_multiple(kernel);
    if (whole * kernel.packed_size > at_most(streamed)) {
      return equal_blocks(shape.k, kernel, splits, whole);
    }
  }
  const bool are_deep_bytes = are_few && !product.b_lies_along_k && kernel.packed_size == 1 &&
                              strips >= kStripsOfDeepBytes && multiplies_in_halves(machine, mr);
  return choose_block_k(shape.k, kernel, splits, are_deep_bytes ? 2 * streamed : streamed);
}

std::int64_t most_columns_beside_tile_registers(const KernelEntry& kernel, const GemmShape& facing,
                                                const Machine& machine, int workers) {
  if (facing.m <= kVeryFewRows) {
    return facing.n <= kColumnsNotWorthCutting ? kColumnsNotWorthCutting
                                               : kColumnsBesideVeryFewRows;
  }
  if (writes_c_at_once(kernel, facing, machine, workers)) return kWidestBlock;
  const std::int64_t depth = choose_block_k(facing.k, kernel, 1, near_bytes(kernel));
  std::int64_t room = near_b_bytes(machine.scratchpad_bytes);
  if (splits_f32(kernel)) room = room / 7 * kSeventhsOfRoom;
  const std::int64_t fitting = room / (depth * kernel.packed_size);
  return std::clamp(fitting, kColumnsOfNearB, kWidestBlock);
}

int choose_block_k(std::int64_t k, const KernelEntry& kernel, std::int64_t splits,
                   std::int64_t bytes) {
  return equal_blocks(k, kernel, splits, at_most(bytes) / kernel.packed_size);
}

}  // namespace tessera
