// How a warp's share of a finished tile, 16 rows in wgmma's register layout, reaches C through
// staging memory.
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
// warp works alone.
template <class T, Sm90Config kConfig>
__device__ void store_rows_by_tma(const float (&sums)[kConfig.sums_per_thread()], float alpha,
                                  const CUtensorMap* map, const WarpTile& tile) {
  namespace cptx = ::cuda::ptx;
  constexpr StoreBox kBox = kConfig.store_box(true);
  constexpr int kBoxes = kConfig.block.cols / kBox.columns;
  static_assert(2 * kBox.bytes() <= kConfig.staging_bytes(), "two boxes must fit the staging");

  // This lane's line of the four 8×8 matrices of each stmatrix: two above one another in C, two
  // side by side.
  const std::uint32_t line = tile.lane % 16 * kBox.line_bytes() + tile.lane / 16 * 16;
#pragma unroll
  for (int box = 0; box < kBoxes; ++box) {
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
      const PackedSums<T> d(sums + box * kBox.columns / 2 + pair * 8, alpha);
      tessera::ptx::stmatrix_x4(start + swizzled<kBox.line_bytes()>(line + pair * 32), d.m[0],
                                d.m[1], d.m[2], d.m[3]);
    }
    cptx::fence_proxy_async(cptx::space_shared);
    __syncwarp();
    if (tile.lane == 0) {
      const std::int32_t at[2] = {static_cast<std::int32_t>(tile.col + box * kBox.columns),
                                  static_cast<std::int32_t>(tile.row)};
      cptx::cp_async_bulk_tensor(cptx::space_global, cptx::space_shared, map, at, buffer);
      cptx::cp_async_bulk_commit_group();
    }
  }
}

// The same where C's columns are dense: the four warps' rows make up a line, so that the warpgroup
// works together. `tile` is the calling warp's, its staging the warpgroup's.
template <class T, Sm90Config kConfig>
__device__ void store_columns_by_tma(const float (&sums)[kConfig.sums_per_thread()], float alpha,
                                     const CUtensorMap* map, const WarpTile& tile, int barrier) {
  namespace cptx = ::cuda::ptx;
  constexpr StoreBox kBox = kConfig.store_box(false);
  constexpr int kBoxes = kConfig.block.cols / kBox.columns;
  static_assert(2 * kBox.bytes() <= 4 * kConfig.staging_bytes(), "two boxes must fit the staging");
  const bool issues = tile.warp == 0 && tile.lane == 0;
  const auto wait_for_warpgroup = [&] { tessera::ptx::barrier_wait<kWarpgroupThreads>(barrier); };

  const std::uint32_t line = (tile.lane / 16 * 8 + tile.lane % 8) * kBox.line_bytes() +
                             tile.warp * kWarpRows * kElementBytes + tile.lane / 8 % 2 * 16;
#pragma unroll
  for (int box = 0; box < kBoxes; ++box) {
    std::byte* const buffer = tile.staging + box % 2 * kBox.bytes();
    if (issues) {
      if (box == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
      if (box >= 2) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<1>{});
    }
    if (box != 1) wait_for_warpgroup();
    const std::uint32_t start = tessera::ptx::shared_address(buffer);
#pragma unroll
    for (int pair = 0; pair < kBox.columns / 16; ++pair) {
      const PackedSums<T> d(sums + box * kBox.columns / 2 + pair * 8, alpha);
      tessera::ptx::stmatrix_transposed_x4(
          start + swizzled<kBox.line_bytes()>(line + pair * 16 * kBox.line_bytes()), d.m[0], d.m[1],
          d.m[2], d.m[3]);
    }
    cptx::fence_proxy_async(cptx::space_shared);
    wait_for_warpgroup();
    if (issues) {
      const std::int32_t at[2] = {static_cast<std::int32_t>(tile.row),
                                  static_cast<std::int32_t>(tile.col + box * kBox.columns)};
      cptx::cp_async_bulk_tensor(cptx::space_global, cptx::space_shared, map, at, buffer);
      cptx::cp_async_bulk_commit_group();
    }
  }
}

// Everything else: any type, stride and alignment of C, beta, bias and activation. Some columns at
// a time go through staging as floats, so that lanes read and write C along its dense side.
template <Sm90Config kConfig>
__device__ void store_by_element(float (&sums)[kConfig.sums_per_thread()],
                                 const EpilogueArguments& epilogue, const GroupOperands& group,
                                 const WarpTile& tile) {
  constexpr int kColumns = kConfig.block.cols;
  constexpr int kMost = kConfig.staging_bytes() / (kWarpRows * static_cast<int>(sizeof(float)));
  constexpr int kChunk = kColumns % 64 == 0 && kMost >= 64   ? 64
                         : kColumns % 32 == 0 && kMost >= 32 ? 32
                                                             : 16;
  constexpr int kSumsPerChunk = kChunk / 2;
  const EpilogueScalars<float> scalars(epilogue);
  const bool dense_rows = group.c_col_stride == 1;
  auto* const staged = reinterpret_cast<float*>(tile.staging);
  // Pairs of columns are permuted within a row, so that both directions avoid bank conflicts.
  const auto place = [](int row, int pair) {
    return row * kChunk + ((pair ^ (row % 8 * 4)) % (kChunk / 2)) * 2;
  };

#pragma unroll 1
  for (int chunk = 0; chunk < kColumns / kChunk; ++chunk) {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kChunk / 8; ++i) {
      const int row = tile.lane / 4;
      const int pair = i * 4 + tile.lane % 4;
      *reinterpret_cast<float2*>(staged + place(row, pair)) =
          make_float2(sums[4 * i], sums[4 * i + 1]);
      *reinterpret_cast<float2*>(staged + place(row + 8, pair)) =
          make_float2(sums[4 * i + 2], sums[4 * i + 3]);
    }
    __syncwarp();

#pragma unroll 4
    for (int i = tile.lane; i < kWarpRows * kChunk; i += 32) {
      const int r = dense_rows ? i / kChunk : i % kWarpRows;
      const int c = dense_rows ? i % kChunk : i / kWarpRows;
      const std::int64_t row = tile.row + r;
      const std::int64_t col = tile.col + chunk * kChunk + c;
      if (row >= group.m || col >= group.n) continue;
      const std::int64_t at = row * group.c_row_stride + col * group.c_col_stride;
      float value = scalars.alpha * staged[place(r, c / 2) + c % 2];
      if (scalars.reads_c) {
        value += scalars.beta * load_element<float>(group.c, at, epilogue.c_type);
      }
      value += bias_at<float>(epilogue, group, row, col);
      store_element(group.c, at, epilogue.c_type, activate(epilogue.activation, value));
    }

    // The next chunk's sums move to the front, so that one copy of this loop's code serves all.
#pragma unroll
    for (int i = 0; i + kSumsPerChunk < kColumns / 2; ++i) sums[i] = sums[i + kSumsPerChunk];
  }
}

}  // namespace tessera::cuda
