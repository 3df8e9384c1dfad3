#include "plan/few_rows.hpp"
#include "plan/parts_pay.hpp"
#include "plan/worker_time.hpp"

#include <algorithm>
#include <cmath>

#include "core/in_place_rule.hpp"
#include "core/tile_registers_rule.hpp"
#include "plan/cpu_blocks.hpp"
#include "plan/half_vectors.hpp"
#include "plan/orientation.hpp"
#include "plan/passing.hpp"
#include "plan/passing_pays.hpp"
#include "plan/row_of_c_cut.hpp"
#include "plan/whole_rows.hpp"
#include "schedule/iteration_space.hpp"

namespace tessera {
namespace {

// Share of the time for reading and writing C between two k-blocks on a CPU that the multiplication
// does not hide. Zen 4, 2026-11.
constexpr double kExposedAccumulation = 0.3;

// Packing what lies in L2 takes this share of the time of packing from memory, where lines are
// fetched ahead. Zen 4: 20 against 45 ps/byte, 2026-11.
constexpr double kPackingFromL2 = 0.45;
// The same of B in bytes, four of which become a unit, and whose columns are added up: Zen 5, 24 to
// 35 ps/byte, 2026-11.
constexpr double kPackingBytesFromL2 = 0.7;

// To widen takes as long as packing the bytes that come of it, from L2 as many of them do; rows of
// A, which are transposed, take twice that, and a panel that is not full as two. Emerald Rapids,
// one thread, 2026-11, for an element: of B 120 to 140 ps, of A 160 to 270, of narrow panels with
// their padding 200 to 340. Mean regret against the faster of the two bf16 kernels, 150 products in
// rows on one thread, 100 on two, 60 with A and 60 with B across: 0.9, 0.8, 0.3 and 0.8 %; always
// with bf16's own instructions 23, 20, 20 and 17 %.
constexpr double kPackingWidenedFromL2 = 0.7;
constexpr double kWidenedEdge = 2;
constexpr double kWidenedRows = 2.0;
// Copies that lie as the operands do are vectors on both sides: some 40 ps for an element (Emerald
// Rapids, from L2).
constexpr double kWidenedCopies = 0.3;

// Rows of A that lie along k are not transposed, but copied or read in place (cpu/tile_run.hpp);
// the narrow register tiles of AVX2, which transpose them, take the same here.
constexpr double kCopyingRows = 0.5;

// A byte of B read in place against one packed from memory: the first strip of rows waits for it,
// and each further strip misses some TLB entries, but where whole rows are read, which are fetched
// ahead. Zen 4, n = k = 4096, 2026-11: 36 and 4.5 against 45 ps/byte. Up to 16 rows of C wait less:
// Zen 5, B in the last cache, 6 to 9 ps/byte in f32, f64 and bf16.
constexpr double kFirstInPlace = 0.8;
constexpr double kStreamedInPlace = 0.17;
constexpr double kStreamedRows = 16;
constexpr double kAgainInPlace = 0.00375;  // times an element's bytes
constexpr double kWholeRowsInPlace = 0.5;

// Where whole rows are read (plan/whole_rows.hpp): the more there is to multiply the less waits
// together with it. Emerald Rapids, one thread, f32, 2026-11, ps a byte of B beyond the
// multiply-adds, n = k = 4096: m = 12 17, 16 27, 32 34, 48 43; n = 5001, k = 3001: 12 15, 16 21, 24
// 27, 32 36.
constexpr double kWholeRowsFirst = 0.2;
constexpr double kWholeRowsForEach = 0.015;

// A byte of A, which every panel's columns read again, and of B that is packed in passing
// (cpu/passing.hpp), against one packed from memory; both are fetched ahead. Emerald Rapids, two
// threads, 2026-11, per cent of the peak with A's rows divided and with B's columns: 1000³ 92.8 and
// 91.1, 512³ 95.7 and 94.3, 256×256×2048 93.9 and 90.9, 384×384×3000 93.4 and 91.6, 300×700×500
// 92.6 and 92.8, 300×1000×1000 91.8 and 91.5.
constexpr double kRowsInPassing = 1.2;
constexpr double kColumnsInPassing = 0.3;

// And wherever B comes from, its panels are left behind: a first strip takes some 0.4 µs longer for
// 48 KB of them (128×48×256 beside 504×48×256).
constexpr double kPanelsInPassing = 0.2;

// A register tile reads vectors of B in place that lie across cache lines, or are masked, with each
// step of k; packed ones do not. Seconds for each. Zen 5, 2026-11, mean regret without and with:
// 80 log-uniform products in f32 on one thread 2.5 and 0.8 %, 80 others 2.5 and 0.9 %, 100 on two
// threads 7.0 and 2.9 %. Rows that start on lines take no longer: 256³ in f32 147 µs in place, 152
// packed.
constexpr double kAcrossLines = 0.25e-9;

// Where workers share rows, the processor's prefetching runs on into the other's part, and writes
// meet in a line: seconds for each row, of B that few rows of C stream by, and of C unless its rows
// start on cache lines, less a share of the row's arithmetic, which hides it. Zen 4, two threads,
// 2026-11: 100 to 240 ns; and 55 to 270 ns with k below 60, 90 with 156, none beyond. Zen 5, mean
// regret of 100 log-uniform products in f32 and in i8 on two threads, with 120 ns for a row of C
// 3.7 and 4.6 %, with 50 ns 2.7 and 3.4 %, with none 2.8 and 2.3 %.
constexpr double kRowOfBCut = 200e-9;
constexpr double kRowOfCCut = 50e-9;
constexpr double kRowOfCHidden = 0.2;

// Emerald Rapids, two threads, 2026-11: m = 1, 2, 4 and 8 with n = k = 4096 take 7, 11, 17 and 48
// ns more for each row that is cut than with k cut instead, m = 4, 16 and 32 with n = 5001 28, 48
// and 52 ns. However many rows of C there are.
constexpr double kRowOfBCutShort = 30e-9;

// The streams by which B comes now (docs/notebook_cpu.md, few rows on Zen 4) wait less. Two threads
// of a Zen 4, 2026-11, columns divided rather than k, for each row that is cut: f32 2×2000×2000 7
// ns, 2×2100×2000 30, 4×2200×2000 58, 4×3000×2000 30, 2×3000×3000 77, 4×6000×800 38; 8 and 12 rows
// none or less. Zen 5 has not been measured since. Up to eight rows narrow register tiles, which
// come by streams and wide tiles as well, are predicted so (plan/cpu_in_place.cpp, are_shares).
constexpr double kRowOfBCutInHalves = 80e-9;
constexpr double kRowsThatWait = 4;

// Rows of register tiles that take as long as `rows` rows do. A strip of fewer rows than the
// register tile is faster, but not below a third: then too few accumulators are in flight to cover
// the latency.
double effective_rows(double rows, int mr) {
  if (mr <= 1) return rows;
  const double whole = std::floor(rows / mr) * mr;
  const double rest = rows - whole;
  return whole + (rest > 0 ? std::max(rest, mr / 3.0) : 0);
}

// Columns, in whole vectors: two make a register tile's width.
double effective_columns(double cols, int nr) {
  const double vector = nr / 2.0;
  return nr > 1 ? std::ceil(cols / vector) * vector : cols;
}

// Dot products of more than a few rows (cpu/dots.hpp), where both operands come from L2: steps of
// k, of a vector each, beside those of panels; adding up lanes takes as long as so many more; a
// tile's four rows share what an offset of A takes. Zen 4, one thread, 43 products of 20 to 1400
// rows and 18 to 1900 columns along k, 2026-11, the share of the peak with steps of 64 bytes: f32
// 20 0.79, 38 0.84, 70 0.88; bf16 7 0.56, 20 0.79, 63 0.85; i8 3 0.38, 10 0.60, 32 0.73. Two
// multiply-adds a cycle wait for L2: by the Zen 4's figures 40 products of 17 to 64 columns
// took 1.02 times as long on an Emerald Rapids in f32, and 1.09 in f64.
constexpr double kStepOfDotsInHalves = 1.08;
constexpr double kStepOfDots = 1.6;
constexpr double kStepsOfLanesInHalves = 4.5;
constexpr double kStepsOfLanes = 8;
constexpr double kRowsOfDots = 4;

// One iteration's block as the kernel faces it (orientation.hpp).
struct Block {
  double rows = 0;
  double all_rows = 0;     // of C,
  double b_row_bytes = 0;  // and from one row of B to the next
  double cols = 0;
  double depth = 0;
  std::int64_t tile_cols = 0;  // of a whole one
  std::int64_t tile_depth = 0;
  bool is_wide = false;  // at least half of all columns
  // Fewer than all, of B and of C, where their rows are rows in memory, too.
  bool cuts_rows_of_b = false;
  bool cuts_rows_of_c = false;
  bool a_in_place = false;
  bool b_in_place = false;
  bool b_crosses_lines = false;  // its rows start off cache lines
  bool is_dots = false;          // B in place along k
  FacedProduct faced;
  int a_size = 0;
  int b_size = 0;
};

// With a tile for each worker the largest counts, and with more of them the average.
double side_of_block(std::int64_t size, int block, std::int32_t count, bool is_largest) {
  if (is_largest) return static_cast<double>(std::min<std::int64_t>(size, block));
  return static_cast<double>(size) / count;
}

Block block_of(const GemmShape& shape, const TileGrid& grid, const Problem& problem,
               const Machine& machine, const TileConfig& tile, int workers) {
  const FacedProduct faced = face(problem, shape, tile, machine);
  const TileConfig facing = faced.is_turned ? turned(tile) : tile;
  const auto n = static_cast<double>(faced.shape.n);
  const auto k = static_cast<double>(std::max<std::int64_t>(shape.k, 1));
  Block block;
  const bool is_largest = grid.tiles() > 1 && grid.tiles() <= workers;
  block.rows =
      side_of_block(faced.shape.m, facing.block_m, faced.is_turned ? grid.n : grid.m, is_largest);
  block.cols =
      side_of_block(faced.shape.n, facing.block_n, faced.is_turned ? grid.m : grid.n, is_largest);
  block.depth = k / grid.k;
  block.tile_cols = std::min<std::int64_t>(faced.shape.n, facing.block_n);
  block.tile_depth = std::min<std::int64_t>(shape.k, facing.block_k);
  block.all_rows = static_cast<double>(faced.shape.m);
  block.is_wide = 2 * block.cols >= n;
  block.cuts_rows_of_b = block.cols < n && faced.b_rows_are_dense;
  block.cuts_rows_of_c = block.cols < n && faced.c_rows_are_dense;
  block.a_in_place = facing.a_in_place;
  block.b_in_place = facing.b_in_place;
  block.faced = faced;
  block.is_dots = makes_dots(faced, facing);
  block.b_crosses_lines = !block.is_dots && faced.b_rows_are_dense && !faced.b_begins_at_lines;
  block.a_size = size_of(faced.is_turned ? problem.types.b : problem.types.a);
  block.b_size = size_of(faced.is_turned ? problem.types.a : problem.types.b);
  block.b_row_bytes = n * block.b_size;
  return block;
}

// Multiply-adds of panels that take as long as a block does.
double effective_multiply_adds(const Block& block, const Problem& problem, const Machine& machine,
                               const TileConfig& tile, const KernelEntry* kernel,
                               bool needs_no_panels) {
  if (block.is_dots && block.all_rows > kStreamedRows) {
    const bool in_halves = multiplies_in_halves(machine, tile.mr);
    const double each = in_halves ? kStepOfDotsInHalves : kStepOfDots;
    const double lanes = in_halves ? kStepsOfLanesInHalves : kStepsOfLanes;
    const int size = kernel != nullptr ? kernel->packed_size : block.b_size;
    const double step = tile.nr / 2.0 * size_of(accumulator_of(problem.types)) / size;
    const bool has_offset = size == 1 && problem.types.a == ElementType::i8;
    const double offset = has_offset ? 1 / kRowsOfDots : 0;
    const double steps = std::ceil(block.depth / step) * (each + offset) + lanes;
    return block.rows * block.cols * steps * step;
  }
  // Dot products take rows in fours, not by strips. By strips 13 or 14 were cut in two tiles for
  // two workers, each of which read B: Zen 4, 2026-11, 13×5000×1333 f32 1.71, f64 1.74, bf16 1.25,
  // i8 1.19. Not measured with narrow registers.
  const bool in_fours = block.is_dots && !is_narrow_tile(tile.mr);
  const double rows = in_fours
                          ? std::max(block.rows, tile.mr / 3.0)
                          : effective_rows(block.rows, needs_no_panels ? kPassingRows : tile.mr);
  return rows * effective_columns(block.cols, tile.nr) * block.depth;
}

double row_of_b_cut(const Block& block, const Machine& machine, int mr, bool interleaves) {
  if (reads_whole_rows(machine, interleaves)) return kRowOfBCutShort;
  const bool wait_less =
      multiplies_in_halves(machine, mr) || (is_narrow_tile(mr) && block.rows <= kRowsOfOneWideTile);
  if (wait_less && block.b_in_place) {
    return block.rows <= kRowsThatWait ? kRowOfBCutInHalves : 0;
  }
  return block.rows <= kStreamedRows ? kRowOfBCut : 0;
}

// The same of rows that are interleaved in registers, in whatever cache they are: bf16 1×1000×1000
// 9, 2×2048×1000 16, 16×1000×4096 5, i8 10×1024×4096 17, but 8×1000×1000 and 12×1000×1000 less than
// none.
constexpr double kInterleavedRowCut = 12e-9;
constexpr double kInterleavedRowsThatWait = 2;
constexpr double kCollidingRowCut = 16e-9;

double row_of_b_cut_near(const Block& block, const Machine& machine, int mr, bool interleaves) {
  const bool reads_rows = interleaves && block.b_in_place;
  if (!reads_rows || !multiplies_in_halves(machine, mr)) return 0;
  const bool collide = std::fmod(block.b_row_bytes, kCollidingRowBytes) == 0;
  if (collide && block.rows <= kStreamedRows) return kCollidingRowCut;
  return block.rows <= kInterleavedRowsThatWait ? kInterleavedRowCut : 0;
}

// What one worker reads and writes of a product, again and again where calls repeat; of all groups
// together at most `all_bytes`.
double worker_footprint(const Block& block, const TileGrid& grid, const Problem& problem,
                        int workers, double all_bytes) {
  const double k = block.depth * grid.k;
  const double tile = block.rows * k * block.a_size + block.cols * k * block.b_size +
                      block.rows * block.cols * size_of(problem.types.c);
  const double tiles = std::max(1.0, static_cast<double>(grid.tiles()) / workers);
  return std::min(all_bytes, tiles * tile);
}

// Share of operands that does not come from L2.
double share_beyond_l2(const Machine& machine, double footprint) {
  return std::max(0.0,
                  1 - static_cast<double>(machine.scratchpad_bytes) / std::max(footprint, 1.0));
}

// Of a B in place workers that are dealt few columns read a little of each row, which lies in
// another page than the last one, again for each strip of rows of C, in whatever cache: so long for
// each such row. Wide tiles, which up to twelve rows are walked by, fetch rows ahead. Emerald
// Rapids, 16 threads, 2026-11, by all candidates of 24 products, 13 to 48 rows, the time as planned
// without over the best one's: f32 24×1024×4096 1.76, 48×1024×4096 1.88, 32×2000×2000 1.69,
// 24×500×3000 2.58, f64 32×1024×2048 1.92, 32×500×2000 1.38. Not measured on AMD's processors.
constexpr double kPartOfFarRow = 13e-9;
// In passing each is read once, fetched ahead: in huge pages little of it is left, in others nearly
// all (16 threads, 64 columns for each and 128 of half of k, 13×1000×2000 71 and 78 µs, 97 and 88).
// With 0.5 pieces of k were chosen, which threads do not share: 48×1000×3000 took 1.0 to 1.28 times
// as long as under a tile for each of 16, 48×1024×4096 1.38 under two for four threads.
constexpr double kFarRowsInPassing = 0.25;

double reading_far_rows(const Block& block, const Machine& machine, bool interleaves,
                        double strips) {
  const bool takes_parts =
      !block.is_wide && block.cols * block.b_size < static_cast<double>(kPageBytes);
  if (!takes_parts || block.all_rows <= kRowsOfWideTilesFromL2 ||
      !reads_whole_rows(machine, interleaves)) {
    return 0;
  }
  return kPartOfFarRow * std::min(1.0, block.b_row_bytes / static_cast<double>(kPageBytes)) *
         block.depth * strips;
}

// The share of interleaving or widening that the arithmetic does not hide; again for each strip of
// rows. Zen 4, one thread, 2026-11, beyond the arithmetic of 24×1000×1000 in bf16 3 ps a byte of B,
// of 16×1000×1000 in i8 14.
double converting_exposed(const Block& block, const Machine& machine, int mr, double strips) {
  constexpr double kOfBytes = 0.35;
  constexpr double kOfPairs = 0.2;
  const bool collide = std::fmod(block.b_row_bytes, kPageBytes) == 0;
  const bool is_byte = block.b_size == 1;
  if (!multiplies_in_halves(machine, mr) || (is_byte && collide)) return 1;
  return (is_byte ? kOfBytes : kOfPairs) * strips;
}

// A byte of columns along k, a few at a time beside more rows than stream by, which wait the longer
// the farther those are. Zen 4, one thread, 17 to 60 rows, 2026-11, the time with the columns
// streamed for nothing over the time so: 63 products f32 1.11, f64 1.14, bf16 1.09
// (24×3000×3000 1.36, 1.37, 1.43, 17×4096×4096 1.30, 1.54, 1.29); 49 others f32 1.11, f64 1.17,
// bf16 1.06. Dear when near, too, f32 300×2000 beside 17 to 32 rows took 1.09 to 1.16 times as
// long, bf16 2048×2048 1.2.
double columns_of_dots(const Block& block, const Machine& machine, double footprint) {
  constexpr double kNear = 0.5;
  constexpr double kFar = 1.8;
  constexpr double kScratchpadsNear = 9;
  if (block.all_rows <= kStreamedRows) return kStreamedInPlace;
  return footprint > kScratchpadsNear * static_cast<double>(machine.scratchpad_bytes) ? kFar
                                                                                      : kNear;
}

// Seconds to read B where it lies, beyond what packed panels take. To interleave or widen rows in
// registers takes for each element what packing from L2 takes for a byte, wherever they come from:
// Zen 5, one thread, 2026-11, 20 to 27 ps with 8-bit integers, 9 to 18 with bf16. Dot
// products do neither.
double reading_in_place(const Block& block, const Machine& machine, const TileConfig& tile,
                        const KernelEntry* kernel, double footprint) {
  const bool interleaves = kernel != nullptr && kernel->interleaves && !block.is_dots;
  const bool widens = kernel != nullptr && kernel->widens && !block.is_dots;
  const int mr = std::max(tile.mr, 1);
  const double bytes = block.depth * block.cols * block.b_size;
  const double strips = std::ceil(block.rows / mr);
  const bool is_fetched_ahead = block.is_wide && leave_room(bytes, machine.scratchpad_bytes);
  const double streamed = block.is_dots                 ? columns_of_dots(block, machine, footprint)
                          : block.rows <= kStreamedRows ? kStreamedInPlace
                                                        : kFirstInPlace;
  const double first = reads_whole_rows(machine, interleaves)
                           ? kWholeRowsFirst + kWholeRowsForEach * block.rows
                           : streamed;
  const double share =
      is_fetched_ahead ? kWholeRowsInPlace : first + kAgainInPlace * block.b_size * (strips - 1);
  const double converting = interleaves || widens ? converting_exposed(block, machine, mr, strips) *
                                                        kPackingFromL2 / block.b_size
                                                  : 0;
  const double far_rows = block.is_dots ? 0 : reading_far_rows(block, machine, interleaves, strips);
  return far_rows + std::max(share * share_beyond_l2(machine, footprint), converting) * bytes *
                        machine.cost.pack_seconds_per_byte;
}

// Seconds to read A and B beyond what comes from L2, where they are fetched ahead.
double reading_beyond_l2(const Block& block, const Machine& machine, double footprint) {
  return share_beyond_l2(machine, footprint) * block.depth *
         (kRowsInPassing * block.rows * block.a_size +
          kColumnsInPassing * block.cols * block.b_size) *
         machine.cost.pack_seconds_per_byte;
}

// While B is packed, and to pack it. Many rows hide that B's are far.
double reading_in_passing(const Block& block, const Machine& machine, double footprint) {
  const double far_rows = block.all_rows <= kFewRowsInPassing
                              ? kFarRowsInPassing * reading_far_rows(block, machine, false, 1)
                              : 0;
  return far_rows + reading_beyond_l2(block, machine, footprint) +
         kPanelsInPassing * block.depth * block.cols * block.b_size *
             machine.cost.pack_seconds_per_byte;
}

// The share of C's sums that leave L2 from one iteration to the next. Beside packed panels half of
// it is theirs; in passing nearly all, and twice as many sums all leave. Emerald Rapids, f32, two
// threads, 1000³ under tiles of 504×1008, 2026-11: 6.58 ms with 256 of k at a time, 6.57 with 512;
// one thread, 1000×1000: 12.31 and 12.14. Beside B's blocks for tile registers a quarter is theirs:
// Granite Rapids, two threads, bf16 1024³ 853 µs under four tiles of 256 rows, 770 under two of
// 512 columns.
double sums_beyond_l2(const Machine& machine, double bytes, bool passes, bool b_is_near) {
  const auto l2 = static_cast<double>(machine.scratchpad_bytes);
  if (!passes) return (b_is_near ? 4 : 2) * bytes <= l2 ? 0 : 1;
  return std::clamp(2 * (1 - l2 / std::max(bytes, 1.0)), 0.0, 1.0);
}

// Rows or columns that take as long to widen as these do, in panels of `width`.
double widened(double count, int width) {
  const double whole = std::floor(count / width) * width;
  return whole + (count > whole ? kWidenedEdge * width : 0);
}

double widening(const Block& block, const Machine& machine, const KernelEntry& kernel,
                double footprint, bool copies) {
  const double of_a =
      copies ? kWidenedCopies * block.rows : kWidenedRows * widened(block.rows, kernel.tile.mr);
  const double of_b = block.faced.b_is_packed ? 0
                      : !block.b_in_place     ? widened(block.cols, kernel.tile.nr)
                      : copies                ? kWidenedCopies * block.cols
                                              : 0;
  const double elements = of_a + of_b;
  return elements * block.depth * kernel.packed_size *
         std::lerp(kPackingWidenedFromL2, 1, share_beyond_l2(machine, footprint)) *
         machine.cost.pack_seconds_per_byte;
}

// The share of packing B by pieces (core/tile_registers_rule.hpp) from L2: lines that two panels
// have a part of come again, the farther the longer k is. Granite Rapids, one thread, bf16,
// 2026-11-30, n = 1000, k = 64 and 300, n = 500, k = 1000, beyond the arithmetic as it is
// predicted: 8 rows 0.29, 0.42, 0.56, 16 0.27, 0.45, 0.56, 32 0.25, 0.61, 0.55, 64 0.2, 0.6, 0.55;
// a busy Emerald Rapids took twice as long, and by shares of a third less four threads of it had
// work for one: 52×553×44 19 µs, with four 9, 35×665×118 27 and 13.
constexpr double kPackingByPieces = 0.35;
constexpr double kPackingByLongPieces = 0.7;
constexpr double kLongPieces = 600;

bool is_packed_by_pieces(const Block& block, const TileGrid& grid, const Problem& problem,
                         const Machine& machine, const KernelEntry* kernel, int workers) {
  const bool may_be = kernel != nullptr && has_tile_registers(*kernel) && kernel->products == 1 &&
                      !block.b_in_place && block.faced.b_rows_are_dense &&
                      problem.groups.size() == 1 && block.rows >= block.all_rows;
  if (!may_be) return false;
  const std::int64_t each = blocks_of_worker(grid.tiles(), grid.k, workers);
  const FewRows few =
      few_rows_of(block.faced, problem, *kernel, block.tile_cols, block.tile_depth, each);
  return packs_by_pieces(few, machine.scratchpad_bytes);
}

double packing_by_pieces(const Block& block) {
  return std::lerp(kPackingByPieces, kPackingByLongPieces,
                   std::min(1.0, block.depth / kLongPieces));
}

double packing(const Block& block, const Machine& machine, double footprint, bool copies_a,
               bool by_pieces) {
  const double beyond = share_beyond_l2(machine, footprint);
  const double a_share = block.a_in_place                         ? 0
                         : copies_a && block.faced.a_lies_along_k ? kCopyingRows
                                                                  : 1;
  const double a_bytes = a_share * block.rows * block.depth * block.a_size;
  const bool packs_b = !block.b_in_place && !block.faced.b_is_packed;
  const double b_bytes = packs_b ? block.cols * block.depth * block.b_size : 0;
  const double b_from_l2 = by_pieces           ? packing_by_pieces(block)
                           : block.b_size == 1 ? kPackingBytesFromL2
                                               : kPackingFromL2;
  return (a_bytes * std::lerp(kPackingFromL2, 1, beyond) +
          b_bytes * std::lerp(b_from_l2, 1, beyond)) *
         machine.cost.pack_seconds_per_byte;
}

// Of f64 by residues packing, and what puts sums together, are priced by the rule's constants,
// which count multiply-adds of vectors.
double packing_residues(const Block& block, const Machine& machine) {
  const double of_b = block.faced.b_is_packed ? 0 : kStepsOfElementOfB * block.cols * block.depth;
  const double steps =
      kStepsOfElementOfA * block.rows * block.depth + of_b + kStepsOfSum * block.rows * block.cols;
  return 2 * steps / machine.peak(ElementType::f64);
}

// A byte of a B that was packed ahead, against one packed from memory. As kStreamedInPlace: it
// comes as one stream that is fetched ahead.
double reading_packed(const Block& block, const Machine& machine, const KernelEntry& kernel,
                      double footprint) {
  return kStreamedInPlace * share_beyond_l2(machine, footprint) * block.cols * block.depth *
         kernel.packed_size * machine.cost.pack_seconds_per_byte;
}

}  // namespace

// A CPU's edge tiles compute only what is there, rounded up to its registers. Packing and the
// traffic of C between k-blocks are paid beside the arithmetic.
WorkerTime time_on_cpu(const GemmShape& shape, const TileGrid& grid, const Problem& problem,
                       const Machine& machine, const TileConfig& tile, const KernelEntry* kernel,
                       int workers, double all_bytes) {
  const int busy = std::min(workers, machine.workers);
  const Block block = block_of(shape, grid, problem, machine, tile, busy);
  const double footprint = worker_footprint(block, grid, problem, busy, all_bytes);
  const double peak = kernel != nullptr ? peak_of(*kernel, machine) : machine.peak(problem.types.a);
  const double rate = peak * machine.cost.compute_efficiency * speed_of(kernel).main_loop_share;
  const double accumulators = block.rows * block.cols * size_of(accumulator_of(problem.types));
  const ReadingOfB reading = reading_of_b(tile, kernel, problem, shape, machine);
  const bool passes = reading == ReadingOfB::in_passing;
  const bool is_near = reading == ReadingOfB::near;
  const bool needs_no_panels = passes || is_near;
  WorkerTime time;
  time.arithmetic =
      2 * effective_multiply_adds(block, problem, machine, tile, kernel, needs_no_panels) / rate;
  const bool b_is_near = kernel != nullptr && has_tile_registers(*kernel);
  const bool interleaves = kernel != nullptr && kernel->interleaves;
  const bool copies_a =
      kernel != nullptr && (kernel->reads_in_place || (interleaves && !block.b_in_place));
  const bool widens = kernel != nullptr && kernel->packed_size > block.a_size && !block.is_dots;
  const bool copies =
      widens && block.a_in_place && widens_first(tile, *kernel, problem, shape, machine);
  const bool by_pieces = is_packed_by_pieces(block, grid, problem, machine, kernel, busy);
  const bool by_residues = kernel != nullptr && splits_f64(*kernel);
  time.packing = by_residues ? packing_residues(block, machine)
                 : widens    ? widening(block, machine, *kernel, footprint, copies)
                             : packing(block, machine, footprint, copies_a, by_pieces);
  if (block.faced.b_is_packed && kernel != nullptr) {
    time.packing += reading_packed(block, machine, *kernel, footprint);
  }
  if (passes) {
    time.packing += reading_in_passing(block, machine, footprint);
  } else if (block.b_in_place && !copies) {
    time.packing += is_near ? reading_beyond_l2(block, machine, footprint)
                            : reading_in_place(block, machine, tile, kernel, footprint);
    if (block.b_crosses_lines) {
      time.packing += kAcrossLines * block.depth * std::ceil(block.rows / std::max(tile.mr, 1)) *
                      std::ceil(block.cols / std::max(tile.nr, 1));
    }
  }
  if (block.cuts_rows_of_b && busy > 1 &&
      (block.rows <= kStreamedRows || (block.b_in_place && !needs_no_panels))) {
    const double far =
        row_of_b_cut(block, machine, tile.mr, interleaves) * share_beyond_l2(machine, footprint);
    time.packing +=
        std::max(far, row_of_b_cut_near(block, machine, tile.mr, interleaves)) * block.depth;
  }
  if (block.cuts_rows_of_c && busy > 1) {
    const double by_tile_registers =
        row_of_c_cut_by_tile_registers(kernel, shape, problem, machine, busy);
    if (by_tile_registers > 0) {
      time.finish = block.rows * by_tile_registers;
    } else if (!begin_at_lines(problem.c.alignment)) {
      time.finish =
          std::max(0.0, kRowOfCCut * block.rows - kRowOfCHidden * grid.k * time.arithmetic);
    }
  }
  const double accumulating =
      grid.k > 1 ? sums_beyond_l2(machine, accumulators, passes, b_is_near) * kExposedAccumulation *
                       2 * accumulators / worker_cache_rate(machine)
                 : 0;
  time.other = accumulating + machine.cost.iteration_overhead_seconds;
  const bool is_for_few_rows = kernel != nullptr && kernel->reads_in_place && block.b_in_place &&
                               !block.is_dots && block.all_rows <= kRowsOfWideTilesFromL2;
  time.reads_for_few_rows = is_for_few_rows || by_pieces;
  return time;
}

}  // namespace tessera
