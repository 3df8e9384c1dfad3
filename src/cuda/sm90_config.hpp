// What distinguishes one compiled Hopper kernel from another, in the kernel's own orientation (rows
// are wgmma's M), and the geometry that the device code and the host's tensor maps share.
#pragma once

#include <algorithm>

#include "core/sm90_blocks.hpp"
#include "tessera/element_type.hpp"

namespace tessera::cuda {

inline constexpr int kElementBytes = 2;
inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kWarpgroupRows = 64;
inline constexpr int kDispatchDepth = 4;  // WorkItems announced ahead of their use
// Iterations before the end of an item's loads at which the next one is claimed. A claim takes 2 to
// 3 µs on an H200; 8 iterations are too few for the narrowest tiles, 16 cost nobody (2026-11).
inline constexpr int kClaimIterations = 16;
// A group's tiles may be narrower than the block, and are loaded and multiplied so.
inline constexpr int kGroupLoadStep = 64;  // at most
inline constexpr int kGroupStep = 32;
inline constexpr int kFineGroupStep = 16;         // of the blocks for many rows
inline constexpr int kGatedColumns = 32;          // that a warpgroup combines at a time
inline constexpr int kWarpRows = 16;              // a warp's share of a wgmma
inline constexpr int kSharedBytesLimit = 232448;  // of a block on compute capability 9.0

// The widest of 128, 64 and 32 bytes in which so many bytes come: a swizzle's row.
constexpr int swizzle_width(int bytes) {
  return bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : 32;
}

// The boxes in which C leaves by TMA, two of them in staging memory. With dense rows, a warp's 16
// rows by as many columns as a swizzle row holds; with dense columns, a warpgroup's 64 rows, which
// are one swizzle row, by up to 32 columns; in f32, a warp's 16 rows there too.
struct StoreBox {
  bool dense_rows = true;
  int columns = 0;
  int element_bytes = kElementBytes;

  constexpr int rows() const {
    return dense_rows || element_bytes != kElementBytes ? kWarpRows : kWarpgroupRows;
  }
  constexpr int line_bytes() const { return inner() * element_bytes; }
  constexpr int bytes() const { return rows() * columns * element_bytes; }
  constexpr int inner() const { return dense_rows ? columns : rows(); }
  constexpr int outer() const { return dense_rows ? rows() : columns; }
  constexpr int swizzle_bytes() const { return line_bytes(); }
  // A warpgroup's four warps fill one together; else each has its own.
  constexpr bool of_warpgroup() const { return rows() == kWarpgroupRows; }
};

// How one operand's tile lies in a stage of shared memory: `extent` rows of A (columns of B), by
// block_k. A TMA load brings a box of one swizzle row's width.
struct OperandTile {
  int extent = 0;
  int block_k = 0;
  bool k_contiguous = true;
  int parts = 1;      // blocks of the cluster that load a share each and multicast it
  int box_lines = 0;  // of a k-contiguous operand that is loaded in several boxes; 0: in one

  constexpr int bytes() const { return extent * block_k * kElementBytes; }
  constexpr int swizzle_bytes() const {
    return swizzle_width((k_contiguous ? block_k : extent) * kElementBytes);
  }
  constexpr int box_inner() const { return swizzle_bytes() / kElementBytes; }
  constexpr int box_outer() const {
    return box_lines > 0 ? box_lines : (k_contiguous ? extent : block_k) / parts;
  }
  // Boxes that cover the tile side by side, and the bytes from one to the next.
  constexpr int slabs() const { return (k_contiguous ? block_k : extent) / box_inner(); }
  constexpr int slab_bytes() const { return bytes() / slabs(); }
  // The descriptor's offsets (ptx/smem_descriptor.cuh), and from one k16 step to the next.
  constexpr int descriptor_stride() const { return 8 * swizzle_bytes(); }
  constexpr int step_bytes() const {
    return k_contiguous ? 16 * kElementBytes : 16 * swizzle_bytes();
  }
};

// What a kernel is compiled for (Sm90Config).
enum class Sm90Purpose { any, plain, finishing, groups, gated_pairs };
inline constexpr int kSm90Purposes = 5;

struct Sm90Config {
  ElementType input = ElementType::bf16;
  Sm90Block block;
  bool a_k_contiguous = true;   // A's rows are dense
  bool b_k_contiguous = false;  // B's columns are dense
  // For several products, and sizes on the device: workers claim tiles, which differ in cost; a
  // group's last tile is loaded and multiplied no wider than it is.
  bool is_grouped = false;
  // Besides, for the gated pair: the first warpgroup multiplies by the gate, the second by up, 64
  // rows of C's weights each.
  bool is_gated = false;
  // For one product whose items the host has prepared (UnitItems) and whose C leaves by TMA,
  // without a trace: every role finds its items by itself, and all else is left out, for a kernel
  // whose code is not in the caches waits for each line of it.
  bool is_plain = false;
  // C may be more than alpha·A·B in the input's type, and leave by TMA all the same
  // (sm90_finish_sums.cuh).
  bool finishes = false;

  constexpr Sm90Purpose purpose() const {
    return is_gated     ? Sm90Purpose::gated_pairs
           : is_grouped ? Sm90Purpose::groups
           : is_plain   ? finishes ? Sm90Purpose::finishing : Sm90Purpose::plain
                        : Sm90Purpose::any;
  }

  // Of C, which a block's tile covers.
  constexpr int c_rows() const { return is_gated ? kWarpgroupRows : block.rows; }

  constexpr int warpgroups() const { return block.in_turns ? 2 : block.rows / kWarpgroupRows; }
  constexpr int warps() const { return warpgroups() * 4; }
  // Warpgroups that share a tile, and the strips of 64 rows that each has of it.
  constexpr int sharers() const { return block.in_turns ? 1 : warpgroups(); }
  constexpr int strips() const { return block.rows / kWarpgroupRows / sharers(); }
  constexpr int sums_per_thread() const { return block.sums_per_thread(); }
  constexpr int threads() const { return (warpgroups() + 1) * kWarpgroupThreads; }

  constexpr OperandTile a() const {
    return {.extent = block.rows,
            .block_k = kSm90BlockK,
            .k_contiguous = a_k_contiguous,
            .box_lines = is_gated && a_k_contiguous ? kWarpgroupRows : 0};
  }
  constexpr OperandTile b() const {
    return {.extent = block.cols,
            .block_k = kSm90BlockK,
            .k_contiguous = b_k_contiguous,
            .box_lines = is_grouped && b_k_contiguous ? load_step() : 0};
  }
  // Columns of a group's tile that are loaded at a time.
  constexpr int load_step() const {
    const bool is_wide = block.cols > kGroupLoadStep && block.cols % kGroupLoadStep == 0;
    return is_wide ? kGroupLoadStep : kGroupStep;
  }
  // And in steps of which it is multiplied.
  constexpr int multiply_step() const {
    return block.cols == 256 || block.in_turns ? kFineGroupStep : kGroupStep;
  }

  // Staging memory of a warp: 4 KB where the stages leave so much.
  constexpr int staging_bytes() const {
    constexpr int kBarriersItemsAndBias = 3072;
    const int stages = block.stages * (a().bytes() + b().bytes());
    return stages + warps() * 4096 + kBarriersItemsAndBias <= kSharedBytesLimit ? 4096 : 2048;
  }
  constexpr StoreBox store_box(bool dense_rows) const {
    const int most = dense_rows ? staging_bytes() / 2 / (kWarpRows * kElementBytes)
                                : staging_bytes() * 4 / 2 / (kWarpgroupRows * kElementBytes);
    if (is_gated) return {.dense_rows = false, .columns = kGatedColumns};
    const int widest = std::min({most, swizzle_width(block.cols * kElementBytes) / kElementBytes,
                                 is_grouped ? load_step() : block.cols});
    return {.dense_rows = dense_rows, .columns = widest};
  }
  // Of a warpgroup's part of a tile, along its columns or down its rows.
  constexpr int bias_values() const { return std::max(block.cols, strips() * kWarpgroupRows); }
  constexpr StoreBox store_box_f32(bool dense_rows) const {
    constexpr int kFloat = 4;
    const int most = staging_bytes() / 2 / (kWarpRows * kFloat);
    return {.dense_rows = dense_rows,
            .columns = std::min(most, block.cols % 32 == 0 ? 32 : 16),
            .element_bytes = kFloat};
  }
};

}  // namespace tessera::cuda
