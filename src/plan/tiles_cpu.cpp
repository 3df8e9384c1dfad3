// CPU tiles: the catalogue gives the register tile; the blocks around it are chosen here, so that
// each worker has one tile or a few equal ones, packing is shared by many rows and columns, and a
// k-block of A and B fits its cache. What is read in place instead: cpu_variants.cpp and
// cpu_in_place.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/tile_registers_rule.hpp"
#include "core/work.hpp"
#include "plan/candidates.hpp"
#include "plan/cpu_blocks.hpp"
#include "plan/cpu_variants.hpp"
#include "plan/few_rows.hpp"
#include "plan/invariant.hpp"
#include "plan/parts_pay.hpp"
#include "plan/passing.hpp"
#include "plan/row_of_c_cut.hpp"

namespace tessera {
namespace {

// Work that each worker must have for so many to be tried, about 0.4 µs of it. Which number is
// best, and whether to wake any, predictions say: a team's threads start and are awaited all,
// however few have work. Emerald Rapids, 16 threads, 2026-11, the time with 3 µs, and of C's
// elements one multiply-add each, over the time with 0.8: 20 products of 0.1 to 16 million
// f32 1.05, bf16 1.11, i8 1.01; of them f32 478×134×2 1.2, 88×416×15 1.34, 92×19×403 1.44,
// 1733×16×19 1.33, 1187×65×10 1.3, bf16 1733×16×19 1.8, 2×739×190 1.4, i8 478×134×2 1.7,
// 567×2×323 1.7. Two threads of a Granite Rapids: 478×134×2 1.4 to 1.75, 31 others of f32, f64,
// bf16 and i8 level.
constexpr double kLeastWork = 16384;
// Where each has so much, fewer can only lose: 50 µs.
constexpr double kMuchWork = 128 * kLeastWork;

// The tiles of a kernel, and where they go.
struct Enumeration {
  CpuVariants variants;
  TileChoices& choices;

  // `tile` is the kernel's view.
  void add(const TileConfig& tile, int workers) {
    const TileConfig as_posed = variants.product.is_turned ? turned(tile) : tile;
    for (const TileCandidate& known : choices.accepted) {
      const bool is_same = known.tile == as_posed && known.workers == workers;
      if (is_same && known.kernel == &variants.kernel) return;
    }
    choices.accepted.push_back({&variants.kernel, as_posed, workers});
  }

  // As they may be read, and packed, by so many of the workers.
  void add_variants(const TileConfig& packed, int workers, int busy, int splits) {
    for (const TileConfig& tile : variants.of(packed, busy, splits)) add(tile, workers);
  }
};

// As many multiply-adds as reading an operand that no L2 holds takes, which is most of the work
// beside few rows or columns of the other. Where there are fewer workers than threads it comes to
// another L2 in every call, too. Emerald Rapids, 16 threads, 2026-11, the time without this over
// the time with it: f32 1×1000×1000 3.5, 1×500×2000 3.2, 2×1000×1000 2.2, 1000×1×1000 2.4, f64
// 1×1000×1000 5.0, 1×600×600 2.2, 2×1000×1000 2.4; with 2 and 4 threads level, but f64 1×600×600
// with 4 2.3.
double work_of_reading(const GemmShape& shape, const PlanRequest& request) {
  const GemmTypes& types = request.problem.types;
  const double a = bytes_of(shape.m, shape.k, types.a);
  const double b = bytes_of(shape.k, shape.n, types.b);
  const double larger = std::max(a / size_of(types.a), b / size_of(types.b));
  const auto l2 = static_cast<double>(request.machine.scratchpad_bytes);
  return std::max(a, b) > l2 ? kWorkOfElement * larger : 0;
}

// Worker counts to try: as many as the caller says, or one, all, and powers of two between; no more
// than there is work for.
std::vector<int> worker_counts(const PlanRequest& request) {
  if (request.options.workers) return {*request.options.workers};
  double least = 0;  // for which the backend starts threads
  double work = 0;
  for (const ShapeRun& run : request.runs) {
    const auto count = static_cast<double>(run.count);
    const double each = work_of(run.shape, request.problem.types, request.machine);
    if (each == 0) continue;  // an empty product reads nothing
    least += count * each;
    work += count * std::max(each, work_of_reading(run.shape, request));
  }
  if (least < kWorkWorthThreads) return {1};
  const int most = request.machine.workers;
  if (most > 1 && work >= kMuchWork * most) return {most};
  std::vector<int> counts = {1};
  for (int count = 2; count < most && count * kLeastWork <= work; count *= 2) {
    counts.push_back(count);
  }
  if (most > 1 && most * kLeastWork <= work) counts.push_back(most);
  return counts;
}

// All ways to deal C's rows and columns to `workers`, as numbers of parts of the rows. Those come
// first that leave a worker the least of A and B: where predictions are alike, that choice stands,
// and many workers share the last cache's bandwidth, which no prediction counts. Of two that leave
// as much the one with more parts of the columns comes first. Where they may pack B in passing, a
// byte of A counts as two of B (plan/worker_time_cpu.cpp), and more parts of the rows come first,
// as where rows of C are dear to share.
std::vector<int> cuts_of_plane(const GemmShape& shape, int workers, bool may_pass, bool are_dear) {
  std::vector<int> cuts;
  for (int across_m = 1; across_m <= workers; ++across_m) {
    if (workers % across_m == 0) cuts.push_back(across_m);
  }
  if (may_pass || are_dear) std::ranges::reverse(cuts);
  std::ranges::stable_sort(cuts, {}, [&](int across_m) {
    return (may_pass ? 2 : 1) * static_cast<double>(shape.m) / across_m +
           static_cast<double>(shape.n) * across_m / workers;
  });
  return cuts;
}

// Each worker gets an equal tile: all ways to cut C's rows and columns, and k, into `workers`
// parts.
void add_equal_shares(Enumeration& tiles, int workers) {
  const GemmShape& shape = tiles.variants.product.shape;
  const KernelEntry& kernel = tiles.variants.kernel;
  const auto strips = [](std::int64_t size, int width) {
    return std::max<std::int64_t>(1, pieces(size, width));
  };
  const PlanRequest& request = tiles.variants.request;
  const bool may_pass = tiles.variants.may_pass_here();
  const bool are_dear =
      row_of_c_cut_by_tile_registers(&kernel, shape, request.problem, request.machine, workers) > 0;
  for (int across_k = 1; across_k <= workers; ++across_k) {
    if (workers % across_k != 0) continue;
    if (across_k > 1 && shape.k < across_k * tiles.variants.least_depth_of_split()) break;
    const int in_plane = workers / across_k;
    for (const int across_m : cuts_of_plane(shape, in_plane, may_pass, are_dear)) {
      // Where there are fewer strips than parts each is one, if most workers have some so.
      const auto parts_m = std::min<std::int64_t>(across_m, strips(shape.m, kernel.tile.mr));
      const auto parts_n =
          std::min<std::int64_t>(in_plane / across_m, strips(shape.n, kernel.tile.nr));
      if (2 * parts_m * parts_n <= in_plane) continue;
      TileConfig tile = kernel.tile;
      tile.block_m = choose_block(shape.m, parts_m, tile.mr);
      tile.block_n = choose_block(shape.n, parts_n, tile.nr, tiles.variants.widest_block());
      tile.block_k = tiles.variants.packed_block_k(across_k);
      tiles.add_variants(tile, workers, static_cast<int>(parts_m * parts_n) * across_k, across_k);
    }
  }
}

// Middling tiles that balance by their number, for groups and for shapes that do not divide.
void add_middling(Enumeration& tiles, int workers) {
  struct Block {
    std::int64_t m;
    std::int64_t n;
  };
  // A single row of C streams B, and the longer the parts of B's rows are the better. Zen 5, groups
  // of 1 to 5 rows, n = 2048, k = 768, two thirds of them single, with 1024 columns and with all,
  // 2026-11: f32 11.5 and 10.4 ms, on two threads 8.6 and 8.0; single rows alone 10.7 and 9.2.
  constexpr std::array<Block, 4> kBlocks = {
      {{256, kWidestBlock}, {256, 1024}, {256, 512}, {128, 256}}};
  const GemmShape& shape = tiles.variants.product.shape;
  // B's block of a tile with tile registers stays in L2.
  const bool is_near = has_tile_registers(tiles.variants.kernel);
  const std::int64_t widest = is_near ? tiles.variants.widest_block() : kWidestBlock;
  for (const Block& block : kBlocks) {
    if (block.n == kWidestBlock && !tiles.variants.is_for_few_rows(1)) continue;
    TileConfig tile = tiles.variants.kernel.tile;
    tile.block_m = choose_block(shape.m, 1, tile.mr, block.m);
    tile.block_n = choose_block(shape.n, 1, tile.nr, std::min(block.n, widest));
    tile.block_k = tiles.variants.packed_block_k(1);
    tiles.add_variants(tile, workers, workers, 1);
  }
}

// The size of each side that no product exceeds.
GemmShape largest_sides(const PlanRequest& request) {
  GemmShape largest;
  for (const ShapeRun& run : request.runs) {
    largest.m = std::max(largest.m, run.shape.m);
    largest.n = std::max(largest.n, run.shape.n);
    largest.k = std::max(largest.k, run.shape.k);
  }
  return largest;
}

// Of a product that has any.
std::int64_t mean_rows(const PlanRequest& request) {
  double rows = 0;
  double products = 0;
  for (const ShapeRun& run : request.runs) {
    if (run.shape.m == 0) continue;
    rows += static_cast<double>(run.count) * static_cast<double>(run.shape.m);
    products += static_cast<double>(run.count);
  }
  return products > 0 ? static_cast<std::int64_t>(rows / products) : 0;
}

// The caller's blocks; what is 0 in them is chosen.
void add_callers(const TileConfig& wanted, Enumeration& tiles, int workers) {
  const GemmShape& shape = tiles.variants.product.shape;
  const bool rows_alike = tiles.variants.request.options.batch_invariant;
  TileConfig tile = tiles.variants.product.is_turned ? turned(wanted) : wanted;
  tile.mr = tiles.variants.kernel.tile.mr;
  tile.nr = tiles.variants.kernel.tile.nr;
  if (tile.block_m == 0) tile.block_m = choose_block(shape.m, 1, tile.mr);
  if (tile.block_n == 0) tile.block_n = choose_block(shape.n, 1, tile.nr);
  if (tile.block_k == 0) {
    tile.block_k = rows_alike        ? invariant_cpu_tile(tiles.variants.kernel).block_k
                   : tile.b_in_place ? tiles.variants.streamed_block_k(1)
                                     : tiles.variants.packed_block_k(1);
  }
  tile.rows_alike = rows_alike;
  if (rows_alike) {  // in place, how much of k comes at a time depends on the rows
    tile.a_in_place = false;
    tile.b_in_place = false;
  }
  tiles.add(tile, workers);
}

// Tile registers want a packed B, and an A in place whose rows lie along k: fewer rows or columns
// than this read the other operand where it lies, and what is small and short is done before it is
// packed. A large C they write faster from a few of k on. One core of a Granite Rapids, 2026-11,
// the time of the vector kernels over theirs, operands in rows, with k of 4, 8, 16, 32, 64, 200 and
// 1000: bf16 4×1000 0.23, 0.37, 0.61, 1.09, 1.14, 1.08, 1.34; 5×1000 0.27, 0.42, 0.73, 1.25, 1.39,
// 1.33, 1.52; 8×1000 0.32, 0.51, 0.93, 1.58, 1.64, 1.98, 1.88; 16×1000 0.59, 0.87, 1.48, 2.77,
// 3.06, 3.19, 3.33; 20×20 0.55, 0.78, 1.24, 2.04, 3.26, 4.79, 3.51; 40×40 0.64, 1.05, 1.78, 3.34,
// 5.4, 4.4, 4.6; 100×100 1.03, 1.60, 2.96, 5.6, 8.1, 6.9, 7.4; i8 8×1000 0.21, 0.24, 0.37, 0.58,
// 0.91, 0.70, 1.21; 16×1000 0.44, 0.50, 0.63, 0.80, 1.35, 1.30, 1.73; 20×20 0.44, 0.46, 0.58, 0.80,
// 1.16, 0.81, 1.31; 40×40 0.41, 0.49, 0.70, 1.07, 1.79, 2.58, 2.29; 100×100 0.66, 0.83, 1.11, 1.79,
// 2.14, 2.49, 3.43. Many rows along k: bf16 1000×2 1.17, 1.85, 3.02, 2.96, 2.79, 1.08, 0.89; 1000×4
// 1.16, 1.64, 2.95, 8.75, 4.94, 2.04, 1.64; 200×3 0.87, 1.37, 2.31, 5.0, 2.96, 1.38, 1.37; 1000×6
// 1.15, 1.66, 2.88, 7.5, 10.3, 3.23, 2.76; 60×6 0.50, 0.69, 1.18, 2.12, 3.49, 2.31, 1.79; 100×12
// 0.61, 0.94, 1.55, 3.01, 4.54, 4.00, 5.2; i8 1000×2 0.81, 0.86, 1.24, 1.94, 5.6, 3.35, 1.34, with
// B's columns along k, too, 0.48 at last; 200×8 0.59, 0.64, 0.91, 1.44, 3.02, 2.68, 1.83; 100×12
// 0.45, 0.49, 0.62, 1.04, 1.90, 2.31, 2.33. With a column-major A bf16 1000×8 with k of 16, 24, 200
// 0.86, 1.23, 1.60, i8 with 48, 64 0.92, 1.20.
//
// Since a k of less than 64 bytes ends where it does in the registers (cpu/tile_packing.hpp),
// Emerald Rapids, one thread, the same, with k of 2, 4, 6, 8, 12, 16 and 24: bf16 40×40 0.59, 0.78,
// 0.95, 1.10, 1.43, 1.72, 1.79; 100×100 0.76, 1.25, 1.45, 1.7, 2.0, 2.4, 3.2; 20×500
// 0.89, 1.10, 1.22, 1.31, 1.67, 1.85, 2.3; 400×1000 0.98, 1.20, 1.47, 1.9, 2.3, 2.9, 3.7; with 4,
// 6, 8, 12, 16 and 20 16×500 1.12, 1.52, 1.22, 1.49, 1.77, 1.82; 8×1000 0.85,
// 0.94, 1.08, 1.35, 1.56, 1.52; 32×100 1.19, 1.21, 2.0, 2.4, 3.3, 3.8; 24×24 0.51, 0.49,
// 0.86, 1.06, 1.43, 1.59; i8 100×100 0.69, 0.78, 1.11, 1.50, 1.48, 1.33, 1.49; 200×300 0.85, 0.90,
// 0.95, 1.02, 1.10, 1.14, 1.28; 400×1000 1.00, 0.98, 0.98, 1.01, 1.06, 0.99, 1.27; 1500×150 0.83,
// 0.92, 0.97, 1.14, 2.5, 2.5, 2.0; with 8, 16, 24, 32 and 48 64×64 1.21, 1.75, 1.8, 2.0, 2.3;
// 32×100 1.13, 1.64, 1.40, 1.7, 1.9; 40×40 0.75, 0.66, 0.94; 16×500 1.00, 1.14, 1.06, 1.10, 1.27;
// 12×300 0.82, 0.94, 1.08, 1.18, 1.34; 500×12 1.05, 1.38, 1.67, 1.9, 2.1; 100×8 0.62, 0.70, 0.83,
// 0.99, 1.15. Of few sums, with 10, 12, 16, 20, 23 and 32 bf16 16×16 0.57, 0.63, 0.77, 0.83,
// 0.85, 1.19; 16×20 0.81, 0.77, 1.12, 1.25, 1.22, 1.5; 40×8 0.56, 0.60, 0.84, 0.98, 1.02, 1.33;
// 16×40 1.18, 1.28, 1.43, 1.9, 1.9, 2.4; i8 with 24, 32, 40, 48 and 63 18×18 0.52, 0.70, 0.67,
// 0.67, 0.76; 24×24 0.62, 0.75, 0.75, 0.74, 0.85; 30×30 0.74, 0.87, 0.83, 0.88, 1.01; 36×36 0.86,
// 0.93, 1.05, 1.09, 1.25. With a column-major A i8 100×100×8 0.86, 64×64×12 0.70, 500×12×16 0.70,
// 16×60×32 0.79, which asks for more of k. Vectors of bf16 are faster since they widen rows of B
// (below), which only the least number of rows takes into account.
constexpr std::int64_t kNarrowSide = 20;
constexpr std::int64_t kBroadSide = 64;

// What pays: so many rows and columns, sums of C, and so long a k where those are few, the shorter
// side of C is narrow, neither, or broad; or where C is large, of so many times L2.
struct LeastOfTileRegisters {
  std::int64_t side;
  double sums;
  double large_c;
  std::int64_t depth_of_large_c;
  double few_sums;
  std::int64_t depth_of_few;
  std::int64_t narrow_depth;
  std::int64_t depth;
  std::int64_t broad_depth;
  std::int64_t depth_of_many_rows;  // read where they lie
};
constexpr LeastOfTileRegisters kLeastOfBytes = {.side = 8,
                                                .sums = 256,
                                                .large_c = 1.0 / 6,
                                                .depth_of_large_c = 5,
                                                .few_sums = 1024,
                                                .depth_of_few = 64,
                                                .narrow_depth = 32,
                                                .depth = 24,
                                                .broad_depth = 8,
                                                .depth_of_many_rows = 20};
// Of a column-major A, which has to be packed.
constexpr LeastOfTileRegisters kLeastOfBytesAcross = [] {
  LeastOfTileRegisters least = kLeastOfBytes;
  least.narrow_depth = 64;
  least.depth = 32;
  least.broad_depth = 16;
  least.depth_of_many_rows = 24;
  return least;
}();
constexpr LeastOfTileRegisters kLeastOfPairs = {.side = 5,
                                                .sums = 256,
                                                .large_c = 1.0 / 6,
                                                .depth_of_large_c = 3,
                                                .few_sums = 512,
                                                .depth_of_few = 24,
                                                .narrow_depth = 10,
                                                .depth = 8,
                                                .broad_depth = 4,
                                                .depth_of_many_rows = 8};

const LeastOfTileRegisters& least_of(const KernelEntry& kernel, bool a_lies_along_k) {
  if (size_of(kernel.a) == 2) return kLeastOfPairs;
  return a_lies_along_k ? kLeastOfBytes : kLeastOfBytesAcross;
}

// Whether vectors beside tile registers widen bf16 to f32: processors that have those start one
// instruction of bf16's own in two cycles, worth two multiply-adds a lane, and four of f32's FMA.
// Not for dot products, whose operands come by vectors both, and have two loads for each anyway,
// nor for few columns beside an A across k, where widening is the most of the work. Granite Rapids,
// one thread, 2026-11-30, the time by bf16's own over the time widened, a hundred products (few
// rows, few columns, awkward ones, a short k, 30 to 300 a side): in rows 1.35 (1×1000×1000 2.4,
// 4×1000×1000 1.8, 3×494×1092 2.0, 4×42×2292 1.6, 88×18×3 1.7), A across 1.22; dot products, which
// most with B along k are, 0.97 (1×1000×1000 0.72), few columns beside an A across 0.7 to 1.1.
bool widens_beside_tile_registers(const FacedProduct& faced) {
  constexpr std::int64_t kFewColumns = 48;
  constexpr std::int64_t kLeastDepth = 40;
  const bool is_for_few =
      !faced.a_lies_along_k && faced.shape.n <= kFewColumns && faced.shape.k >= kLeastDepth;
  return !faced.b_lies_along_k && !is_for_few;
}

// Rows of bf16 from which on tile registers make up for packing a B that leaves the nearest cache.
// The same machine, 2026-11-30, the time by tile registers over the time widened, n of 42 to 2048
// and k of 64 to 2292, 5, 6, 7 and 8 rows along k 1.4, 1.25, 1.1 and 1.0, across 1.3, 1.1, 1.0
// and 0.9, of a B of 10 to 25 KB with 5 to 7 0.5 to 0.9. With 5 to 8 columns in place of the rows
// 0.4 and 0.8.
//
// Where B is packed by pieces fewer are enough. The time widened over the time by tile registers,
// n = k = 300, 500, 700, and 1000×900, 4 rows 1.05, 0.89, 0.91, 0.94, 5 1.22, 1.01, 1.05, 1.13, 6
// 1.50, 1.15, 1.27, 1.36, with two threads 5 1.16, 0.99, 1.14, 1.17, A across k 1.25, 1.07, 1.10,
// 1.14; four with n of 64 to 500 and k of 64, 128, 200, 300, 500 and 1000 1.27, 1.43, 1.33, 1.18,
// 0.98, 1.05, A across 1.36, 1.40, 1.13, 1.20, 1.10, 1.14.
std::int64_t least_side(const KernelEntry& kernel, const FacedProduct& faced,
                        const PlanRequest& request) {
  constexpr std::int64_t kRowsWidened = 8;
  constexpr std::int64_t kRowsWidenedAcross = 7;
  constexpr std::int64_t kLeastRowsByPieces = 4;
  constexpr std::int64_t kLeastOfVeryFew = 64;
  constexpr std::int64_t kMostDepthOfVeryFew = 320;
  constexpr double kMostBytesOfVeryFew = 300 << 10;
  const GemmShape& shape = faced.shape;
  const Machine& machine = request.machine;
  const std::int64_t side = least_of(kernel, faced.a_lies_along_k).side;
  if (size_of(kernel.a) != 2 || shape.m >= shape.n || !widens_beside_tile_registers(faced)) {
    return side;
  }
  const double bytes = bytes_of(shape.k, shape.n, kernel.b);
  const FewRows few = few_rows_of(faced, request.problem, kernel, shape.n, shape.k, 1);
  if (request.is_one_product() && packs_by_pieces(few, machine.scratchpad_bytes)) {
    const bool are_enough = shape.n >= kLeastOfVeryFew && shape.k >= kLeastOfVeryFew &&
                            shape.k <= kMostDepthOfVeryFew && bytes <= kMostBytesOfVeryFew;
    return are_enough ? kLeastRowsByPieces : side;
  }
  const bool leaves_l1 = machine.l1_bytes > 0 && bytes > static_cast<double>(machine.l1_bytes);
  if (!leaves_l1) return side;
  return faced.a_lies_along_k ? kRowsWidened : kRowsWidenedAcross;
}

// So small a C pays for a long k of bf16, operands in rows. The same machine, 2026-11-30, the time
// widened over the time by tile registers, k of 128, 200, 300, 500 and 1000: 5×20 1.00, 1.40, 1.43,
// 1.25, 1.58, 5×32 1.33, 1.75, 1.50, 1.36, 1.88, 6×20 1.25, 1.40, 1.57, 1.42, 1.89, 8×20 1.50,
// 1.80, 1.86, 1.67, 2.20, 12×12 1.10, 1.15, 1.35, 1.34, 2.03, 24×5 2.00, 1.80, 1.22, 1.21, 1.41,
// 16×8 2.00, 2.25, 2.00, 1.55, 1.60; but 6×16 1.00, 1.00, 1.00, 0.91, 1.22. With B along k 0.3 to
// 2.0, with A across k 0.5 to 2.0.
double least_sums(const KernelEntry& kernel, const FacedProduct& faced) {
  constexpr double kSumsOfLongRows = 100;
  constexpr std::int64_t kLongRows = 128;
  constexpr std::int64_t kLongestRows = 4096;
  const std::int64_t k = faced.shape.k;
  const bool are_in_rows = faced.a_lies_along_k && faced.b_rows_are_dense && !faced.b_lies_along_k;
  const bool are_long =
      size_of(kernel.a) == 2 && are_in_rows && k >= kLongRows && k <= kLongestRows;
  return are_long ? kSumsOfLongRows : least_of(kernel, faced.a_lies_along_k).sums;
}

// Whether many rows that lie along k are multiplied by few columns, where they lie. Dot products of
// a longer k are as fast with fewer of those.
bool has_many_rows_in_place(const KernelEntry& kernel, const FacedProduct& faced) {
  constexpr std::int64_t kManyRows = 64;
  constexpr std::int64_t kLeastColumns = 2;
  constexpr std::int64_t kColumnsOfAnyDepth = 5;
  constexpr std::int64_t kDepthBytesOfFewer = 320;
  const GemmShape& shape = faced.shape;
  const bool copies_for_dots = size_of(kernel.b) == 1 && !faced.b_lies_along_k;
  const bool is_worth_it = shape.n >= kColumnsOfAnyDepth ||
                           shape.k * size_of(kernel.a) <= kDepthBytesOfFewer || copies_for_dots;
  return faced.a_lies_along_k && shape.m >= kManyRows && shape.n >= kLeastColumns && is_worth_it;
}

// Of experts their usual number of rows counts: 8 of 8 rows on average, of which the largest has
// more than 12, 7168×2048, took vectors 0.72 of the time. Of bf16 and i8, which are not split, the
// largest: 1.69 and 1.04.
std::optional<std::string> why_parts_do_not_pay(const KernelEntry& kernel,
                                                const PlanRequest& request) {
  const bool in_three = splits_f32(kernel);
  const bool by_residues = splits_f64(kernel);
  if (in_three && !request.machine.splits_f32) {
    return "splits f32 in three, which is faster on some processors; 'tessera calibrate' finds out";
  }
  if (by_residues && !request.machine.splits_f64) {
    return "goes by residues, which is faster on some processors; 'tessera calibrate' finds out";
  }
  if (by_residues && request.most_workers() > kMostWorkersByResidues) {
    return "goes by residues, which was measured on one worker and two alone";
  }
  const Problem& problem = request.problem;
  const GemmShape sides = largest_sides(request);
  SplitProduct product = {.rows = static_cast<double>(mean_rows(request)),
                          .columns = static_cast<double>(sides.n),
                          .k = static_cast<double>(sides.k),
                          .a_lies_along_k = a_lies_along_k(problem, sides),
                          .b_lies_along_k = b_lies_along_k(problem, sides),
                          .b_is_packed = problem.b.major == Major::packed,
                          .is_alone = request.runs.size() == 1,
                          .workers = request.is_one_product() ? request.most_workers() : 1};
  if (problem.c.major == Major::column && !product.b_is_packed) {
    std::swap(product.rows, product.columns);
    std::swap(product.a_lies_along_k, product.b_lies_along_k);
  }
  if (by_residues) {
    if (residues_pay(product)) return {};
    return "goes by residues, which takes longer than these rows, columns and k make up for";
  }
  if (in_three ? three_parts_pay(product) : parts_pay(product, request.machine)) return {};
  return std::string("splits its operands in ") + (in_three ? "three" : "two") +
         ", which takes longer than these rows, columns and k make up for";
}

// A B of so many bytes that is packed ahead tile registers multiply by however few rows. Granite
// Rapids, one thread, 2026-11-30, the time by bf16's own instructions and by VNNI over theirs, one
// row, 4 and 8: n×k of 1024×1024 bf16 1.10, 1.67, 2.9, i8 1.02, 1.23, 2.1, 300×784 1.4, 2.5, 4.4,
// 0.93, 1.2, 1.8, 4096×4096, from beyond L2, 0.96, 0.90, 1.30, 0.97, 1.00, 1.02.
constexpr double kLeastBytesPackedAhead = 16 << 10;

std::optional<std::string> why_too_small(const KernelEntry& kernel, const PlanRequest& request) {
  const bool is_named = request.options.kernel == kernel.name;
  if (looks_at_elements(kernel) && request.options.batch_invariant) {
    return "computes a row by what other rows hold, which batch_invariant forbids";
  }
  if (!has_tile_registers(kernel) || is_named || request.options.batch_invariant) return {};
  if (kernel.products > 1) return why_parts_do_not_pay(kernel, request);
  const GemmShape sides = largest_sides(request);
  const FacedProduct faced = face(request.problem, sides, kernel.tile, request.machine);
  const double b_bytes = bytes_of(sides.k, sides.n, kernel.b);
  if (faced.b_is_packed && b_bytes >= kLeastBytesPackedAhead) return {};
  const LeastOfTileRegisters& least = least_of(kernel, faced.a_lies_along_k);
  const std::int64_t smaller = std::min(sides.m, sides.n);
  const bool has_many_rows = has_many_rows_in_place(kernel, faced);
  const std::int64_t side = least_side(kernel, faced, request);
  if (smaller < side && !has_many_rows) {
    return "packs B, which pays for " + std::to_string(side) + " rows or more";
  }
  const double sums = bytes_of(sides.m, sides.n, accumulator_of(request.problem.types));
  const auto l2 = static_cast<double>(request.machine.scratchpad_bytes);
  if (sums >= least.large_c * l2 && sides.k >= least.depth_of_large_c) return {};
  if (sums < size_of(ElementType::f32) * least_sums(kernel, faced)) {
    return "packs its operands, which so small a C does not pay for";
  }
  const bool is_narrow = smaller < kNarrowSide;
  std::int64_t depth = is_narrow              ? least.narrow_depth
                       : smaller < kBroadSide ? least.depth
                                              : least.broad_depth;
  if (has_many_rows) depth = std::min(depth, least.depth_of_many_rows);
  const bool are_few = sums < size_of(ElementType::f32) * least.few_sums;
  if (are_few && !has_many_rows) depth = std::max(depth, least.depth_of_few);
  if (sides.k < depth) return "pays for " + std::to_string(depth) + " of k or more";
  return {};
}

// Why bf16 that tile registers do not multiply is widened, though there are products of its own. Of
// a machine whose tile registers are hidden predictions say (widening_test.cpp).
std::optional<std::string> why_widened_rather(const KernelEntry& kernel,
                                              const PlanRequest& request) {
  // Of more, blocks of what is widened are too many to count.
  constexpr std::int64_t kMostDepth = std::numeric_limits<std::int32_t>::max();
  const bool is_slow =
      kernel.architecture == "avx512_bf16" && request.machine.architecture == "amx";
  const bool is_named = request.options.kernel == kernel.name;
  if (!is_slow || is_named || request.options.batch_invariant) return {};
  const GemmShape sides = largest_sides(request);
  const bool may_widen = request.machine.peak(ElementType::f32) > 0 && sides.k <= kMostDepth;
  if (!may_widen ||
      !widens_beside_tile_registers(face(request.problem, sides, kernel.tile, request.machine))) {
    return {};
  }
  return "multiplies half as fast as f32 does here, to which B's rows are widened";
}

// Why a kernel need not be weighed against one of a wider instruction set, which can compute the
// same: only faster arithmetic makes up for reading operands less well.
std::optional<std::string> why_no_rival(const KernelEntry& kernel, const KernelEntry& widest,
                                        const Machine& machine) {
  if (peak_of(kernel, machine) > peak_of(widest, machine)) return {};
  return "comes after " + std::string(widest.name) + ", which multiplies as fast or faster";
}

// The catalogue lists the widest instruction sets first: the first kernel that can, and those that
// may be faster.
std::vector<const KernelEntry*> choose_kernels(const PlanRequest& request, TileChoices& choices) {
  std::vector<const KernelEntry*> chosen;
  for (const KernelEntry& kernel : cpu_kernels()) {
    if (kernel.a != request.problem.types.a || kernel.b != request.problem.types.b) continue;
    if (request.options.kernel && *request.options.kernel != kernel.name) continue;
    auto reason = why_not(kernel, request.problem, request.machine);
    if (!reason) reason = why_too_small(kernel, request);
    if (!reason && chosen.empty()) reason = why_widened_rather(kernel, request);
    if (!reason && !chosen.empty()) {
      reason = why_no_rival(kernel, *chosen.back(), request.machine);
    }
    if (!reason) {
      chosen.push_back(&kernel);
    } else if (chosen.empty() || request.options.keep_others) {
      choices.rejected.push_back({std::string(kernel.name), kernel.tile, *reason});
    }
  }
  return chosen;
}

void enumerate_tiles_of(const KernelEntry& kernel, const PlanRequest& request,
                        TileChoices& choices) {
  TileConfig faced_tile = kernel.tile;
  faced_tile.rows_alike = request.options.batch_invariant;
  Enumeration tiles{
      {request, kernel, face(request.problem, largest_sides(request), faced_tile, request.machine)},
      choices};
  const bool one_product = tiles.variants.is_one_product();
  // Beside a B that is packed ahead a block_k alone is the caller's.
  const std::optional<TileConfig>& wanted = request.options.tile;
  const bool is_free = tiles.variants.product.b_is_packed && wanted &&
                       *wanted == TileConfig{.block_k = wanted->block_k} &&
                       !request.options.batch_invariant;
  const bool is_callers = wanted && !is_free;
  for (const int workers : worker_counts(request)) {
    if (is_callers) {
      add_callers(*request.options.tile, tiles, workers);
    } else if (request.options.batch_invariant) {
      tiles.add(invariant_cpu_tile(kernel), workers);
    } else {
      if (one_product) add_equal_shares(tiles, workers);
      if (!one_product || workers > 1) add_middling(tiles, workers);
    }
  }
}

}  // namespace

TileConfig invariant_cpu_tile(const KernelEntry& kernel) {
  TileConfig tile = kernel.tile;
  tile.block_m = round_up_to(128, tile.mr);
  tile.block_n = round_up_to(512, tile.nr);
  tile.block_k = static_cast<int>(panel_bytes_per_row(kernel) / kernel.packed_size);
  tile.rows_alike = true;
  return tile;
}

void enumerate_cpu_tiles(const PlanRequest& request, TileChoices& choices) {
  std::vector<const KernelEntry*> kernels = choose_kernels(request, choices);
  if (request.options.batch_invariant) keep_invariant_kernel(request, kernels, choices);
  for (const KernelEntry* kernel : kernels) enumerate_tiles_of(*kernel, request, choices);
}

}  // namespace tessera
