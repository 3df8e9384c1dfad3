// How a warp's share of a finished tile, 16 rows × kColumns in wgmma's register layout, reaches C.
// Each warp works alone, through staging memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda/ptx>

#include "cuda/epilogue.cuh"
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
  std::byte* staging = nullptr;  // kStagingBytesPerWarp, aligned to 1024
  int lane = 0;
};

// C = alpha·sum in 16 bits, by TMA: a box of columns at a time through two buffers, so that one is
// filled while the other is read. TMA leaves out what lies beyond C. Wide tiles write a C with
// dense rows; narrow ones, whose operands are swapped, one with dense columns.
template <class T, int kColumns>
__device__ void store_by_tma(const float (&sums)[kColumns / 2], float alpha, const CUtensorMap* map,
                             const WarpTile& tile) {
  namespace cptx = ::cuda::ptx;
  constexpr StoreBox kBox = store_box(kColumns);
  constexpr int kBoxes = kColumns / kBox.columns;
  static_assert(2 * kBox.bytes() <= kStagingBytesPerWarp, "two boxes must fit the staging memory");

  // This lane's line of the four 8×8 matrices of each stmatrix: two above one another in C, two
  // side by side.
  const int line = kBox.dense_rows ? tile.lane % 16 : tile.lane / 16 * 8 + tile.lane % 8;
  const int chunk = kBox.dense_rows ? tile.lane / 16 : tile.lane / 8 % 2;  // 16 bytes each
#pragma unroll
  for (int box = 0; box < kBoxes; ++box) {
    std::byte* const buffer = tile.staging + box % 2 * kBox.bytes();
    // The last tile's stores have had its successor's whole main loop to finish reading.
    if (tile.lane == 0) {
      if (box == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
      if (box >= 2) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<1>{});
    }
    __syncwarp();
    const std::uint32_t start = tessera::ptx::shared_address(buffer) + line * kBox.line_bytes();
#pragma unroll
    for (int pair = 0; pair < kBox.columns / 16; ++pair) {
      const float* const d = sums + box * kBox.columns / 2 + pair * 8;
      const std::uint32_t m0 = pack<T>(alpha * d[0], alpha * d[1]);
      const std::uint32_t m1 = pack<T>(alpha * d[2], alpha * d[3]);
      const std::uint32_t m2 = pack<T>(alpha * d[4], alpha * d[5]);
      const std::uint32_t m3 = pack<T>(alpha * d[6], alpha * d[7]);
      if constexpr (kBox.dense_rows) {
        tessera::ptx::stmatrix_x4(start + (((2 * pair + chunk) ^ (line % 8)) * 16), m0, m1, m2, m3);
      } else {
        tessera::ptx::stmatrix_transposed_x4(start + pair * 16 * kBox.line_bytes() + chunk * 16, m0,
                                             m1, m2, m3);
      }
    }
    cptx::fence_proxy_async(cptx::space_shared);
    __syncwarp();
    if (tile.lane == 0) {
      const auto row = static_cast<std::int32_t>(tile.row);
      const auto col = static_cast<std::int32_t>(tile.col + box * kBox.columns);
      const std::int32_t at[2] = {kBox.dense_rows ? col : row, kBox.dense_rows ? row : col};
      cptx::cp_async_bulk_tensor(cptx::space_global, cptx::space_shared, map, at, buffer);
      cptx::cp_async_bulk_commit_group();
    }
  }
}

// Everything else: any type, stride and alignment of C, beta, bias and activation. 64 columns at a
// time go through staging as floats, so that lanes read and write C along its dense side.
template <int kColumns>
__device__ void store_by_element(float (&sums)[kColumns / 2], const EpilogueArguments& epilogue,
                                 const GroupOperands& group, const WarpTile& tile) {
  constexpr int kChunk = kColumns < kStoreColumns ? kColumns : kStoreColumns;
  constexpr int kSumsPerChunk = kChunk / 2;
  const EpilogueScalars<float> scalars(epilogue);
  const bool dense_rows = group.c_col_stride == 1;
  auto* const staged = reinterpret_cast<float*>(tile.staging);
  // The tile before may have left by TMA, which still reads the staging memory.
  if (tile.lane == 0) ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<0>{});
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
    for (int i = tile.lane; i < kStoreRows * kChunk; i += 32) {
      const int r = dense_rows ? i / kChunk : i % kStoreRows;
      const int c = dense_rows ? i % kChunk : i / kStoreRows;
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
