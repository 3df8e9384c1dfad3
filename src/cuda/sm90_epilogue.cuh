// How a warp's share of a finished tile, 16 rows in wgmma's register layout, reaches C through
// staging memory: in boxes by TMA. sm90_store_lines.cuh has the way for what cannot go so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda/ptx>

#include "cuda/epilogue.cuh"
#include "cuda/ptx/named_barrier.cuh"
#include "cuda/ptx/smem_descriptor.cuh"
#include "cuda/ptx/stmatrix.cuh"
#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_config.hpp"

namespace tessera::cuda {

template <class T>
__device__ inline std::uint32_t pack(float low, float high);
template <>
__device__ inline std::uint32_t pack<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}
template <>
__device__ inline std::uint32_t pack<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

struct WarpTile {
  std::int64_t row = 0;  // of the warp's first element, in C
  std::int64_t col = 0;
  std::byte* staging = nullptr;  // Sm90Config::staging_bytes, aligned to 1024
  int lane = 0;
  int warp = 0;  // of the warpgroup
};

// Where a 16-byte piece of a box belongs, by TMA's swizzle of lines of so many bytes.
template <int kLineBytes>
__device__ inline std::uint32_t swizzled(std::uint32_t offset) {
  return offset ^ (offset >> 3 & (kLineBytes - 16));
}

// Eight sums, of two 8×8 matrices side by side in each of two rows of them, in the input's type.
template <class T>
struct PackedSums {
  std::uint32_t m[4];

  __device__ PackedSums(const float* d, float alpha)
      : m{pack<T>(alpha * d[0], alpha * d[1]), pack<T>(alpha * d[2], alpha * d[3]),
          pack<T>(alpha * d[4], alpha * d[5]), pack<T>(alpha * d[6], alpha * d[7])} {}
};

// C = alpha·sum in 16 bits, by TMA: a box of columns at a time through two buffers, so that one is
// filled while the other is read. TMA leaves out what lies beyond C. Where C's rows are dense, each
// warp works alone. The tile has `columns` of C, in groups maybe fewer than the block.
//
// A warpgroup's strips of 64 rows take turns, so that a narrow tile's boxes come first.
template <class T, Sm90Config kConfig>
__device__ void store_rows_by_tma(const float (&sums)[kConfig.sums_per_thread()], float alpha,
                                  const CUtensorMap* map, const WarpTile& tile,
                                  std::int64_t columns) {
  namespace cptx = ::cuda::ptx;
  constexpr StoreBox kBox = kConfig.store_box(true);
  constexpr int kStrips = kConfig.strips();
  constexpr int kBoxes = kConfig.block.cols / kBox.columns;  // of a strip
  static_assert(2 * kBox.bytes() <= kConfig.staging_bytes(), "two boxes must fit the staging");

  // This lane's line of the four 8×8 matrices of each stmatrix: two above one another in C, two
  // side by side.
  const std::uint32_t line = tile.lane % 16 * kBox.line_bytes() + tile.lane / 16 * 16;
#pragma unroll
  for (int box = 0; box < kStrips * kBoxes; ++box) {
    const int strip = box % kStrips;
    const int column = box / kStrips * kBox.columns;
    if (kConfig.is_grouped && column > 0 && column >= columns) break;
    std::byte* const buffer = tile.staging + box % 2 * kBox.bytes();
    // The last tile's stores have had its successor's whole main loop to finish reading.
    if (tile.lane == 0) {
      if (box == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
      if (box >= 2) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<1>{});
    }
    __syncwarp();
    const std::uint32_t start = tessera::ptx::shared_address(buffer);
#pragma unroll
    for (int pair = 0; pair < kBox.columns / 16; ++pair) {
      const PackedSums<T> d(sums + (strip * kConfig.block.cols + column) / 2 + pair * 8, alpha);
      tessera::ptx::stmatrix_x4(start + swizzled<kBox.line_bytes()>(line + pair * 32), d.m[0],
                                d.m[1], d.m[2], d.m[3]);
    }
    cptx::fence_proxy_async(cptx::space_shared);
    __syncwarp();
    if (tile.lane == 0) {
      const std::int32_t at[2] = {static_cast<std::int32_t>(tile.col + column),
                                  static_cast<std::int32_t>(tile.row + strip * kWarpgroupRows)};
      cptx::cp_async_bulk_tensor(cptx::space_global, cptx::space_shared, map, at, buffer);
      cptx::cp_async_bulk_commit_group();
    }
  }
}

// The same where C's columns are dense: the four warps' rows make up a line, so that the warpgroup
// works together. `tile` is the calling warp's, its staging the warpgroup's. Where the map goes on
// beyond the tile's columns, a box that does so too stays in the staging memory.
template <class T, Sm90Config kConfig>
__device__ void store_columns_by_tma(const float (&sums)[kConfig.sums_per_thread()], float alpha,
                                     const CUtensorMap* map, const WarpTile& tile, int barrier,
                                     std::int64_t columns) {
  namespace cptx = ::cuda::ptx;
  constexpr StoreBox kBox = kConfig.store_box(false);
  constexpr int kStrips = kConfig.strips();
  constexpr int kBoxes = kConfig.block.cols / kBox.columns;  // of a strip
  static_assert(2 * kBox.bytes() <= 4 * kConfig.staging_bytes(), "two boxes must fit the staging");
  const bool issues = tile.warp == 0 && tile.lane == 0;
  const auto wait_for_warpgroup = [&] { tessera::ptx::barrier_wait<kWarpgroupThreads>(barrier); };

  const std::uint32_t line = (tile.lane / 16 * 8 + tile.lane % 8) * kBox.line_bytes() +
                             tile.warp * kWarpRows * kElementBytes + tile.lane / 8 % 2 * 16;
#pragma unroll
  for (int box = 0; box < kStrips * kBoxes; ++box) {
    const int strip = box % kStrips;
    const int column = box / kStrips * kBox.columns;
    if (kConfig.is_grouped && column > 0 && column >= columns) break;
    std::byte* const buffer = tile.staging + box % 2 * kBox.bytes();
    if (issues) {
      if (box == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
      if (box >= 2) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<1>{});
    }
    if (box != 1) wait_for_warpgroup();
    const std::uint32_t start = tessera::ptx::shared_address(buffer);
#pragma unroll
    for (int pair = 0; pair < kBox.columns / 16; ++pair) {
      const PackedSums<T> d(sums + (strip * kConfig.block.cols + column) / 2 + pair * 8, alpha);
      tessera::ptx::stmatrix_transposed_x4(
          start + swizzled<kBox.line_bytes()>(line + pair * 16 * kBox.line_bytes()), d.m[0], d.m[1],
          d.m[2], d.m[3]);
    }
    cptx::fence_proxy_async(cptx::space_shared);
    wait_for_warpgroup();
    if (issues) {
      const std::int32_t at[2] = {static_cast<std::int32_t>(tile.row + strip * kWarpgroupRows),
                                  static_cast<std::int32_t>(tile.col + column)};
      if (!kConfig.is_grouped || column + kBox.columns <= columns) {
        cptx::cp_async_bulk_tensor(cptx::space_global, cptx::space_shared, map, at, buffer);
      }
      cptx::cp_async_bulk_commit_group();
    }
  }
}

// What has stayed there, by ordinary stores of 16 bytes.
template <class T, Sm90Config kConfig>
__device__ void store_last_columns(const GroupOperands& c, const WarpTile& tile, int columns) {
  constexpr StoreBox kBox = kConfig.store_box(false);
  constexpr int kStrips = kConfig.strips();
  constexpr int kPieces = kBox.line_bytes() / 16;
  constexpr int kElements = 16 / kElementBytes;
  const int boxes = columns / kBox.columns;  // whole ones
  const int pieces = columns % kBox.columns * kPieces;
#pragma unroll 1
  for (int i = tile.warp * 32 + tile.lane; i < kStrips * pieces; i += kWarpgroupThreads) {
    const int strip = i >= pieces ? 1 : 0;
    const int piece = i - strip * pieces;
    const std::int64_t row = tile.row + strip * kWarpgroupRows + piece % kPieces * kElements;
    const std::int64_t col = tile.col + boxes * kBox.columns + piece / kPieces;
    if (row >= c.m) continue;
    const std::byte* const box = tile.staging + (boxes * kStrips + strip) % 2 * kBox.bytes();
    *reinterpret_cast<uint4*>(static_cast<T*>(c.c) + col * c.c_col_stride + row) =
        *reinterpret_cast<const uint4*>(box + swizzled<kBox.line_bytes()>(piece * 16));
  }
}

// The gated pair: activation(gate) ∘ up, 64 rows of C by `columns`. The first warpgroup holds the
// gate's sums and the second up's, laid out alike. Of 64 columns each finishes one half: it hands
// its sums of the other half over through staging memory, of which a warpgroup has 8 KB for that
// and 8 KB for two boxes.
template <class T, Sm90Config kConfig>
__device__ void store_gated(float (&sums)[kConfig.sums_per_thread()], Activation activation,
                            const CUtensorMap* map, const WarpTile& tile, int warpgroup,
                            std::int64_t columns) {
  namespace cptx = ::cuda::ptx;
  constexpr StoreBox kBox = kConfig.store_box(false);
  constexpr int kSums = kBox.columns / 2;  // of a thread, in one half
  constexpr int kHandedBytes = kSums * kWarpgroupThreads * static_cast<int>(sizeof(float));
  constexpr int kStagingBytes = 4 * kConfig.staging_bytes();
  constexpr int kBarrier = 3;  // of both warpgroups
  static_assert(kHandedBytes + 2 * kBox.bytes() <= kStagingBytes, "the staging must hold all");
  const bool issues = tile.warp == 0 && tile.lane == 0;
  const bool is_gate = warpgroup == 0;
  const int thread = tile.warp * 32 + tile.lane;
  std::byte* const handed = tile.staging + 2 * kBox.bytes();
  std::byte* const taken = handed + (is_gate ? kStagingBytes : -kStagingBytes);
  const std::uint32_t line = (tile.lane / 16 * 8 + tile.lane % 8) * kBox.line_bytes() +
                             tile.warp * kWarpRows * kElementBytes + tile.lane / 8 % 2 * 16;

  int buffer = 0;
#pragma unroll 1
  for (int first = 0; first < kConfig.block.cols && (first == 0 || first < columns);
       first += 2 * kBox.columns) {
    float own[kSums];
#pragma unroll
    for (int i = 0; i < kSums; i += 4) {
      float4 other;
      other.x = is_gate ? sums[kSums + i] : sums[i];
      other.y = is_gate ? sums[kSums + i + 1] : sums[i + 1];
      other.z = is_gate ? sums[kSums + i + 2] : sums[i + 2];
      other.w = is_gate ? sums[kSums + i + 3] : sums[i + 3];
      reinterpret_cast<float4*>(handed)[i / 4 * kWarpgroupThreads + thread] = other;
    }
#pragma unroll
    for (int i = 0; i < kSums; ++i) own[i] = is_gate ? sums[i] : sums[kSums + i];
    tessera::ptx::barrier_wait<2 * kWarpgroupThreads>(kBarrier);
#pragma unroll
    for (int i = 0; i < kSums; i += 4) {
      const float4 other =
          reinterpret_cast<const float4*>(taken)[i / 4 * kWarpgroupThreads + thread];
      const float theirs[4] = {other.x, other.y, other.z, other.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float gate = is_gate ? own[i + j] : theirs[j];
        const float up = is_gate ? theirs[j] : own[i + j];
        own[i + j] = activate(activation, gate) * up;
      }
    }
    // The box before the last has been read, and what was handed over, too.
    if (issues) {
      if (first == 0) {
        cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
      } else {
        cptx::cp_async_bulk_wait_group_read(cptx::n32_t<1>{});
      }
    }
    tessera::ptx::barrier_wait<2 * kWarpgroupThreads>(kBarrier);
    const std::uint32_t start = tessera::ptx::shared_address(tile.staging + buffer * kBox.bytes());
#pragma unroll
    for (int pair = 0; pair < kBox.columns / 16; ++pair) {
      const PackedSums<T> d(own + pair * 8, 1);
      tessera::ptx::stmatrix_transposed_x4(
          start + swizzled<kBox.line_bytes()>(line + pair * 16 * kBox.line_bytes()), d.m[0], d.m[1],
          d.m[2], d.m[3]);
    }
    cptx::fence_proxy_async(cptx::space_shared);
    tessera::ptx::barrier_wait<kWarpgroupThreads>(1 + warpgroup);
    if (issues) {
      const std::int32_t at[2] = {
          static_cast<std::int32_t>(tile.row),
          static_cast<std::int32_t>(tile.col + first + warpgroup * kBox.columns)};
      cptx::cp_async_bulk_tensor(cptx::space_global, cptx::space_shared, map, at,
                                 tile.staging + buffer * kBox.bytes());
      cptx::cp_async_bulk_commit_group();
    }
    buffer ^= 1;
    // The next columns' sums move to the front, so that one copy of this loop's code serves all.
#pragma unroll
    for (int i = 0; i + 2 * kSums < kConfig.sums_per_thread(); ++i) sums[i] = sums[i + 2 * kSums];
  }
}

}  // namespace tessera::cuda
