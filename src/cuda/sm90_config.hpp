// What distinguishes one compiled Hopper kernel from another, in the kernel's own orientation (rows
// are wgmma's M), and the geometry that the device code and the host's tensor maps share.
#pragma once

#include <algorithm>

#include "tessera/element_type.hpp"
#include "tessera/tile_config.hpp"

namespace tessera::cuda {

inline constexpr int kElementBytes = 2;
inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kWarpgroupRows = 64;
inline constexpr int kDispatchDepth = 4;  // WorkItems announced ahead of their use
inline constexpr int kStagingBytesPerWarp = 4096;
inline constexpr int kStoreRows = 16;     // a warp's share of a wgmma
inline constexpr int kStoreColumns = 64;  // of it at a time

// The boxes in which a warp's share of C leaves by TMA. With dense rows, they are one 128-byte
// swizzle row wide; with dense columns, 32 bytes, unswizzled.
struct StoreBox {
  bool dense_rows = true;
  int columns = kStoreColumns;

  constexpr int line_bytes() const { return (dense_rows ? columns : kStoreRows) * kElementBytes; }
  constexpr int bytes() const { return kStoreRows * columns * kElementBytes; }
  constexpr int inner() const { return dense_rows ? columns : kStoreRows; }
  constexpr int outer() const { return dense_rows ? kStoreRows : columns; }
  constexpr int swizzle_bytes() const { return dense_rows ? 128 : 0; }
};

// For a tile of so many columns.
constexpr StoreBox store_box(int columns) {
  return {.dense_rows = columns > kStoreColumns, .columns = std::min(columns, kStoreColumns)};
}

// How one operand's tile lies in a stage of shared memory: `extent` rows of A (columns of B), by
// block_k. A TMA load brings a box of one swizzle row's width.
struct OperandTile {
  int extent = 0;
  int block_k = 0;
  bool k_contiguous = true;
  int parts = 1;  // blocks of the cluster that load a share each and multicast it

  constexpr int bytes() const { return extent * block_k * kElementBytes; }
  constexpr int swizzle_bytes() const {
    return std::min(128, (k_contiguous ? block_k : extent) * kElementBytes);
  }
  constexpr int box_inner() const { return swizzle_bytes() / kElementBytes; }
  constexpr int box_outer() const { return (k_contiguous ? extent : block_k) / parts; }
  // Boxes that cover the tile side by side, and the bytes from one to the next.
  constexpr int slabs() const { return (k_contiguous ? block_k : extent) / box_inner(); }
  constexpr int slab_bytes() const { return bytes() / slabs(); }
  constexpr int part_bytes() const { return slab_bytes() / parts; }
  // The descriptor's offsets (ptx/smem_descriptor.cuh), and from one k16 step to the next.
  constexpr int descriptor_stride() const { return 8 * swizzle_bytes(); }
  constexpr int step_bytes() const {
    return k_contiguous ? 16 * kElementBytes : 16 * swizzle_bytes();
  }
};

struct Sm90Config {
  ElementType input = ElementType::bf16;
  TileConfig tile;              // as in the catalogue, but block_m is always wgmma's M side
  bool a_k_contiguous = true;   // A's rows are dense
  bool b_k_contiguous = false;  // B's columns are dense

  constexpr int cluster() const { return tile.cluster_m * tile.cluster_n; }
  constexpr int rows() const { return tile.block_m / tile.cluster_m; }  // one block's share
  constexpr int cols() const { return tile.block_n / tile.cluster_n; }
  constexpr int sums_per_thread() const {
    return rows() * cols() / (tile.warpgroups * kWarpgroupThreads);
  }
  constexpr int consumer_warps() const { return tile.warpgroups * 4; }
  constexpr int threads() const { return (tile.warpgroups + 1) * kWarpgroupThreads; }

  constexpr OperandTile a() const {
    return {.extent = rows(), .block_k = tile.block_k, .k_contiguous = a_k_contiguous};
  }
  constexpr OperandTile b() const {
    return {.extent = cols(),
            .block_k = tile.block_k,
            .k_contiguous = b_k_contiguous,
            .parts = tile.cluster_m};
  }
};

// The tile of a catalogue row in the kernel's orientation.
constexpr TileConfig kernel_tile(TileConfig tile) {
  if (tile.swap_operands) {
    std::swap(tile.block_m, tile.block_n);
    std::swap(tile.cluster_m, tile.cluster_n);
  }
  return tile;
}

}  // namespace tessera::cuda
