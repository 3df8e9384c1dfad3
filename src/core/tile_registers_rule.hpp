// How tile registers (AMX) walk a block: what the planner and the CPU backend have to agree on.
#pragma once

#include <cstdint>

#include "core/catalogue.hpp"

namespace tessera {

inline bool has_tile_registers(const KernelEntry& kernel) {
  return kernel.architecture == "amx";
}

// Whether rows that lie so many bytes apart lie whole pages apart, so that they share few sets of
// the near caches.
constexpr bool rows_collide(std::int64_t pitch_bytes) {
  constexpr std::int64_t kPageBytes = 4096;
  return pitch_bytes % kPageBytes == 0;
}

// A packed block of B of so many bytes at most stays in the second-level cache while strips of A
// and of C's rows pass it by, each written from end to end. One core of a Granite Rapids (2 MB of
// L2), 2026-11, GFLOP/s by panels of C's columns and so: bf16 600³ 940 and 1120, 384×384×3000 980
// and 1090, i8 768³ 2440 and 2800. Blocks of 1.25 MB in place of 1.0 take bf16 512×4096×4096 1.14
// times as long, 3000³ 1.09.
constexpr std::int64_t near_b_bytes(std::int64_t scratchpad_bytes) {
  return scratchpad_bytes / 20 * 11;
}

// Whether a C of so many bytes does not stay in the nearest cache beside A and B.
constexpr bool leaves_nearest(std::int64_t c_bytes, std::int64_t l1_bytes) {
  return 4 * c_bytes > 3 * l1_bytes;
}

// Bytes of k that a panel of packed B has for so many: all that its registers hold, or of less than
// those hold whole groups of 4 (but of elements in two parts).
constexpr std::int64_t panel_depth_bytes(std::int64_t depth_bytes) {
  const std::int64_t step = depth_bytes < 64 ? 4 : 64;
  return (depth_bytes + step - 1) / step * step;
}

// Behind each panel of f32 in parts: the range of its elements (cpu/split_f32.hpp).
inline constexpr std::int64_t kRangeBytesOfPanel = 192;

// f64 is multiplied by residues modulo so many numbers (cpu/residues_of_f64.hpp), of blocks of k of
// 1024 mostly, and a quarter more: a panel of B's residues modulo one of them stays in the nearest
// cache. What puts sums together is done for each block.
inline constexpr int kModuliOfF64 = 15;
inline constexpr std::int64_t kDepthByResidues = 1024;
inline constexpr std::int64_t kMostDepthByResidues = kDepthByResidues + kDepthByResidues / 4;

// Flat blocks (cpu/flat_blocks.hpp): 16 rows of A multiply all columns of a packed B that stays in
// the nearest cache (48 KB) before the next ones do. So for a short k; one of whole groups of 64
// bytes has a shorter limit, and a B of whole panels leaves more room. Granite Rapids, one thread,
// 2026-11, the time by blocks of 32×32 over the time so: bf16 2782×48×96 1.35, 2334×49×192 1.42,
// 3000×64×256 1.17, 1549×160×10 1.35, i8 3000×128×32 1.44, 96³ 1.4, 40×200×64 2.1; where those had
// copied rows of A bf16 2334×49×78 2.0, 80³ 1.9, 65×91×92 1.8, 5000×100×96 1.8, i8 700×90×310 1.85;
// but 2000×40×480 0.79, 700×64×384 0.77, 1000×1000×100 0.79, 500×500×70 0.92, of whole panels
// 256×256×64 0.93 to 0.98 (Emerald Rapids 0.88), 500×192×80 0.94.
//
// Since blocks of 32×32 fetch rows of C on lines (cpu/blocking.cpp) they are faster beside three
// whole panels and more from 256 bytes of k on. Emerald Rapids, one thread, 2026-11, the time by
// flat blocks over the time so, beside a busy hardware thread and with the core to itself: bf16
// 128³ 1.16, 1.10, 1000×128×128 1.19, 1.04, 500×96×192 1.23, 1.10, 128×96×128 1.09, 1.05, i8
// 128×128×256 1.16, 1.05, 500×96×384 1.18, 1.01; with less, i8 128³ 1.11, 0.89, 500×96×192 1.15,
// 0.92; beside two panels bf16 3000×64×256 1.21, 0.80, i8 300×64×512 1.19, 1.04.
constexpr std::int64_t kFlatDepthBytes = 1024;
constexpr std::int64_t kFlatDepthBytesOfWholeGroups = 768;
constexpr std::int64_t kFlatBytes = 48 << 10;
constexpr std::int64_t kFlatBytesOfWholePanels = 40 << 10;
constexpr std::int64_t kColumnsOfWholePanels = 128;
constexpr std::int64_t kColumnsOfTwoPanels = 64;
constexpr std::int64_t kDepthBytesOfBlocks = 256;

[[gnu::always_inline]] constexpr bool suits_flat_blocks(std::int64_t depth_bytes,
                                                        std::int64_t cols) {
  const bool are_whole_panels = cols % 32 == 0;
  const bool is_deep = cols > kColumnsOfWholePanels
                           ? depth_bytes > 64
                           : cols > kColumnsOfTwoPanels && depth_bytes >= kDepthBytesOfBlocks;
  if (are_whole_panels && is_deep) return false;
  const bool are_whole_groups = depth_bytes % 64 == 0;
  const std::int64_t deepest = are_whole_groups ? kFlatDepthBytesOfWholeGroups : kFlatDepthBytes;
  const std::int64_t most = are_whole_panels ? kFlatBytesOfWholePanels : kFlatBytes;
  return depth_bytes <= deepest && panel_depth_bytes(depth_bytes) * cols <= most;
}

// Few rows of C that are all one tile's, beside a B of dense rows.
struct FewRows {
  std::int64_t rows = 0;
  std::int64_t cols = 0;         // of a tile,
  std::int64_t depth = 0;        // and of k
  int packed_size = 0;           // bytes of an element of B
  std::int64_t b_row_bytes = 0;  // from one row of B to the next
  double b_bytes = 0;            // that a worker has of it
  bool a_is_on_lines = false;    // rows of A lie along k and begin at lines,
  bool c_is_on_lines = false;    // and those of C
};
constexpr std::int64_t kRowsOfOneStrip = 32;  // of tile registers
constexpr std::int64_t kMostRowsByPieces = 4 * kRowsOfOneStrip;

// Whether A is packed for pieces, whose rows could be read in place: not if they begin at lines,
// nor few of them, nor beside so few columns that its lines had better come twice. Granite Rapids,
// one thread, 2026-11-30, bf16, the time in place over the time packed: 64×192×700 1.23,
// 64×200×300 1.06, 64×256×400 1.02, 96×192×700 1.20, 96×256×1505 1.30, 128×176×522 1.28; with fewer
// columns 64×64×400 0.74, 48×128×400 0.80, 64×128×400 0.95, 64×100×1000 0.93.
constexpr bool packs_strips(const FewRows& product) {
  constexpr std::int64_t kLeastColumns = 160;
  return product.rows > kRowsOfOneStrip && product.cols >= kLeastColumns && !product.a_is_on_lines;
}

// Whether rows fill the tile registers of their last strip, or it is the only one.
constexpr bool fill_registers(const FewRows& product) {
  return product.rows <= kRowsOfOneStrip || product.rows % (kRowsOfOneStrip / 2) == 0;
}

// Whether more rows than two strips have are few as well: those that are packed, and those on
// lines. But of these such as do not fill the registers are packed here alone, for which few
// columns do not pay, and beside them a C across lines had better be written from end to end, as
// panels that are packed before allow. The same machine, the time with those over the time so:
// packed 82×784×586 1.63, 101×912×656 1.18, 110×750×1001 1.14, 108×176×1254 1.38; across lines in
// place 96×128×400 0.82, 128×96×218 0.93; on lines 80×512×160 1.37, 96×352×1376 1.46,
// 96×96×832 1.44, 112×496×1152 1.24, 128×864×96 1.35; no whole registers 84×1040×288 1.20,
// 95×928×128 1.17, with few columns 87×64×544 0.78, 92×192×192 0.91; C across lines
// 96×357×416 0.95, 96×654×160 0.86, 124×118×448 0.86.
constexpr bool suits_many_strips(const FewRows& product) {
  constexpr std::int64_t kLeastColumnsOfParts = 256;
  if (!product.a_is_on_lines) return packs_strips(product);
  return product.c_is_on_lines && (fill_registers(product) || product.cols >= kLeastColumnsOfParts);
}

// Whether they are multiplied by B's panels piece by piece, as those are packed: a piece stays in
// the nearest cache until all rows have met it, and a panel's sums where they are, over all of k.
// Of 16 bits, where an instruction makes pairs of whole lines; bytes come as half lines. Granite
// Rapids, 2026-11-30, bf16, the time with panels of 256 of k packed before over the time so, k×n of
// 64×500, 100×1000, 300×300, 1000×200 and 1000×1000, one thread: 8 rows 1.72, 2.56, 2.36, 1.69,
// 1.41, 16 1.83, 2.27, 2.03, 1.58, 1.53, 32 1.28, 1.56, 1.47, 1.36, 1.34, 64 1.02, 1.27, 1.23,
// 1.21, 1.16; two 8 1.85, 1.52, 1.54, 1.50, 1.38, 16 1.70, 1.66, 1.39, 1.38, 1.28, 32 1.34, 1.15,
// 1.25, 1.21, 1.44, 64 1.12, 1.03, 0.90, 1.26, 1.33. From beyond L2 B had better come by long
// rows: 16×4096×4096 0.65, 16×768×2048 0.66, of 2 MB 32×256×4096 0.69, 32×1024×1024 0.94; bytes
// 0.75 to 1.1, f16 in two parts 0.6 to 1.1, columns along k 0.9 to 1.05. Short rows of many strips
// are faster flat (40×60×200 0.7), or from end to end (64×5000×200 0.73, 64×4096×256 0.64), and of
// less than 64 bytes (32×500×20 0.8); a B of 4 to 9 KB 0.87 to 0.92.
//
// More rows than two strips have pay beside up to half of L2 alone: a B of 1.2 to 1.6 MB 1.02
// to 1.3 there, but on an Emerald Rapids, whose neighbours are busy, 78×1408×480 0.69,
// 80×1552×416 0.77, 75×1904×384 0.79, 96×944×640 0.90, 112×496×1152 1.16.
constexpr bool packs_by_pieces(const FewRows& product, std::int64_t scratchpad_bytes) {
  constexpr std::int64_t kLineBytes = 64;
  constexpr std::int64_t kFewPlacesBytes = 512;
  constexpr double kLeastBytes = 16 << 10;
  const auto l2 = static_cast<double>(scratchpad_bytes);
  const std::int64_t depth_bytes = product.depth * product.packed_size;
  const double c_bytes =
      4.0 * static_cast<double>(product.rows) * static_cast<double>(product.cols);
  const bool is_flat =
      product.rows > kRowsOfOneStrip && suits_flat_blocks(depth_bytes, product.cols);
  const bool is_short = (product.rows > kRowsOfOneStrip / 2 && depth_bytes < kLineBytes) ||
                        (product.depth < 8 * product.rows && 4 * c_bytes > l2);
  const bool are_many = product.rows > 2 * kRowsOfOneStrip;
  const double most = are_many || rows_collide(product.b_row_bytes) ? l2 / 2
                      : product.b_row_bytes % kFewPlacesBytes == 0  ? 3 * l2 / 4
                                                                    : l2;
  if (product.rows > kMostRowsByPieces || (are_many && !suits_many_strips(product))) return false;
  return product.packed_size == 2 && product.b_bytes > kLeastBytes && product.b_bytes <= most &&
         !is_flat && !is_short;
}

// Blocks of B that one of the workers has, of so many tiles side by side: those of whole tiles, or
// of a part of k where there are fewer tiles than workers.
constexpr std::int64_t blocks_of_worker(std::int64_t tiles, std::int64_t blocks_of_k,
                                        std::int64_t workers) {
  const auto shared = [&](std::int64_t count) { return (count + workers - 1) / workers; };
  return tiles >= workers ? shared(tiles) * blocks_of_k : shared(tiles * blocks_of_k);
}

// k of a block beside such rows: all of it, as long as the rows leave room in L2 for B's panels
// where they are packed. The same machine, one thread, microseconds with all of k and with 256:
// 32×250×4000 99, 132, 16×64×10000 35, 55, 40×40×5000 39, 38; 40×40×10000 130, 81, 40×40×20000 410,
// 211, 64×100×8000 240, 214.
constexpr std::int64_t depth_by_pieces(std::int64_t rows, int packed_size,
                                       std::int64_t scratchpad_bytes) {
  constexpr std::int64_t kPartOfL2 = 5;
  return scratchpad_bytes / kPartOfL2 / (rows > 0 ? rows : 1) / packed_size;
}

// Whether workers are dealt columns of C so rather than rows, of which each would pack all of B:
// not where a cut through many rows leaves nearly all of them a line that two workers write, beside
// a short k. `c_alignment` is that of C's rows, in bytes. The same machine, two threads,
// microseconds by rows and by columns: 64×300×300 12.8, 17.4, 64×500×300 22.6, 28.2,
// 64×700×200 19.6, 30.4, 64×700×500 45, 41, 64×200×1000 30, 22; of rows that lie on lines
// 64×400×300 17.9, 14.9, on halves 64×1000×300 41, 35; of 32 rows by columns 24×500×300 1.3,
// 32×250×1000 1.25, 32×300×300 1.03 times as fast, 48 products of 17 to 31 rows with k of
// 60 to 400 0.99.
constexpr bool deals_columns_by_pieces(std::int64_t rows, std::int64_t depth,
                                       std::int64_t c_alignment) {
  constexpr std::int64_t kLongDepth = 500;
  constexpr std::int64_t kLongDepthOfOneStrip = 250;
  constexpr std::int64_t kHalfLine = 32;
  const std::int64_t least = rows <= kRowsOfOneStrip ? kLongDepthOfOneStrip : kLongDepth;
  return depth >= least || c_alignment >= kHalfLine;
}

// So few columns of C have room in the registers beside each other.
constexpr std::int64_t kColumnsTogether = 64;

// Whether flat blocks multiply rows of A in place by so few columns over any k, also of more
// blocks: each line of A is read once, along its row, as the processor's prefetching expects, and
// the sums stay in registers. Granite Rapids, 2026-11, the time with blocks of k, whose rows were
// copied where they lie pages apart, over the time so, one thread and two: bf16 4096×16×4096 1.9,
// 2.0, 4096×32×4096 2.1, 2.2, 4096×64×4096 2.0, 2.0, 11008×16×4096 2.05, 2.1, 4096×16×11008 1.4,
// 1.4, 2000×64×2000 1.6, 1.3, 200×64×4096 1.5, 1.4, i8 1.9, 2.0, 1.75, 1.9, 1.4, 1.3, 1.65; but of
// what stays in L2 500×16×1024 0.84, 1000×16×1024 0.79, and with rows of 1 KB 10000×50×500 0.90.
[[gnu::always_inline]] constexpr bool reads_rows_once(std::int64_t rows, std::int64_t cols,
                                                      std::int64_t depth_bytes) {
  constexpr std::int64_t kLeastWork = 96 << 20;  // multiply-adds, times the bytes of an element
  constexpr std::int64_t kLeastDepthBytes = 1536;
  if (cols < 1 || cols > kColumnsTogether || depth_bytes < kLeastDepthBytes) return false;
  const std::int64_t bytes_of_a = kLeastWork / cols;
  return depth_bytes >= bytes_of_a || rows >= bytes_of_a / depth_bytes;
}

}  // namespace tessera
