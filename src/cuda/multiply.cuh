// How the general kernel multiplies two tiles that lie in shared memory: by tensor cores for 8- and
// 16-bit types, by ordinary multiply-adds for f32 and f64. Each class says which tile layouts it
// reads, multiplies one k-block into a thread's sums, and tells where those sums belong.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/operand_tile.cuh"
#include "cuda/ptx/ampere.cuh"
#include "schedule/host_device.hpp"

namespace tessera::cuda {

// A tile shape of the general kernel. Warps form a warps_m × warps_n grid over the tile.
struct GeneralConfig {
  int block_m = 128;
  int block_n = 128;
  int block_k = 32;
  int stages = 4;
  int warps_m = 2;
  int warps_n = 4;
  int blocks_per_sm = 1;  // what registers are rationed for

  TESSERA_HD constexpr int threads() const { return 32 * warps_m * warps_n; }
};

__device__ inline void multiply_step(float* d, const std::uint32_t (&a)[4], const std::uint32_t* b,
                                     __nv_bfloat16, __nv_bfloat16) {
  ptx::multiply_bf16(d, a, b);
}
__device__ inline void multiply_step(float* d, const std::uint32_t (&a)[4], const std::uint32_t* b,
                                     __half, __half) {
  ptx::multiply_f16(d, a, b);
}
__device__ inline void multiply_step(int* d, const std::uint32_t (&a)[4], const std::uint32_t* b,
                                     std::int8_t, std::int8_t) {
  ptx::multiply_i8(d, a, b);
}
__device__ inline void multiply_step(int* d, const std::uint32_t (&a)[4], const std::uint32_t* b,
                                     std::uint8_t, std::int8_t) {
  ptx::multiply_u8_i8(d, a, b);
}

// Tensor cores: m16n8 with 32 bytes of k at a time, whatever the element.
template <class TA, class TB, class Acc, GeneralConfig kTile, bool kAAlongK, bool kBAlongK>
struct TensorMultiply {
  static constexpr GeneralConfig kConfig = kTile;
  using A = OperandTile<TA, kConfig.block_m, kConfig.block_k, kAAlongK>;
  using B = OperandTile<TB, kConfig.block_n, kConfig.block_k, kBAlongK>;
  using Accumulator = Acc;
  static constexpr int kWarpM = kConfig.block_m / kConfig.warps_m;
  static constexpr int kWarpN = kConfig.block_n / kConfig.warps_n;
  static constexpr int kFragmentsM = kWarpM / 16;
  static constexpr int kFragmentsN = kWarpN / 8;
  static constexpr int kSums = kFragmentsM * kFragmentsN * 4;
  static constexpr int kDepthBytes = kConfig.block_k * static_cast<int>(sizeof(TA));
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0 && kDepthBytes % 32 == 0,
                "a warp's tile must be whole m16n16 fragments, its depth whole 32-byte steps");
  static_assert((kAAlongK && kBAlongK) || sizeof(TA) == 2,
                "ldmatrix transposes 16-bit elements alone");

  __device__ static void block(const char* a, const char* b, Acc (&sum)[kSums], int thread) {
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int m0 = warp / kConfig.warps_n * kWarpM;
    const int n0 = warp % kConfig.warps_n * kWarpN;
    const std::uint32_t a_tile = ptx::shared_address(a);
    const std::uint32_t b_tile = ptx::shared_address(b);

#pragma unroll
    for (int step = 0; step < kDepthBytes / 32; ++step) {
      std::uint32_t a_part[kFragmentsM][4];
      std::uint32_t b_part[kFragmentsN / 2][4];  // two fragments each
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i) {
        const int m = m0 + i * 16;
        if constexpr (kAAlongK) {
          const int offset = A::offset(m + lane % 16, step * 32 + lane / 16 * 16);
          ptx::load_matrices(a_part[i], a_tile + offset);
        } else {
          const int offset =
              A::offset(step * 16 + lane / 16 * 8 + lane % 8, (m + lane / 8 % 2 * 8) * 2);
          ptx::load_matrices_transposed(a_part[i], a_tile + offset);
        }
      }
#pragma unroll
      for (int j = 0; j < kFragmentsN / 2; ++j) {
        const int n = n0 + j * 16;
        if constexpr (kBAlongK) {
          const int offset = B::offset(n + lane / 16 * 8 + lane % 8, step * 32 + lane / 8 % 2 * 16);
          ptx::load_matrices(b_part[j], b_tile + offset);
        } else {
          const int offset = B::offset(step * 16 + lane % 16, (n + lane / 16 * 8) * 2);
          ptx::load_matrices_transposed(b_part[j], b_tile + offset);
        }
      }
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
        for (int j = 0; j < kFragmentsN; ++j) {
          multiply_step(&sum[(i * kFragmentsN + j) * 4], a_part[i], &b_part[j / 2][j % 2 * 2], TA{},
                        TB{});
        }
      }
    }
  }

  // Calls visit(row, column, value) for each of a thread's sums, in tile coordinates.
  template <class Visit>
  __device__ static void for_each(const Acc (&sum)[kSums], int thread, Visit visit) {
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int m0 = warp / kConfig.warps_n * kWarpM + lane / 4;
    const int n0 = warp % kConfig.warps_n * kWarpN + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
      for (int j = 0; j < kFragmentsN; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          visit(m0 + i * 16 + r / 2 * 8, n0 + j * 8 + r % 2, sum[(i * kFragmentsN + j) * 4 + r]);
        }
      }
    }
  }
};

// Ordinary multiply-adds. Threads form a square of kSide; each owns 16-byte chunks of rows and of
// columns, kSide chunks apart.
template <class T, GeneralConfig kTile>
struct PlainMultiply {
  static constexpr GeneralConfig kConfig = kTile;
  using A = OperandTile<T, kConfig.block_m, kConfig.block_k, false>;
  using B = OperandTile<T, kConfig.block_n, kConfig.block_k, false>;
  using Accumulator = T;
  static constexpr int kSide = 16;
  static constexpr int kChunk = 16 / static_cast<int>(sizeof(T));
  static constexpr int kThreadM = kConfig.block_m / kSide;
  static constexpr int kThreadN = kConfig.block_n / kSide;
  static constexpr int kSums = kThreadM * kThreadN;
  static_assert(kConfig.threads() == kSide * kSide, "the threads must form a square");
  static_assert(kThreadM % kChunk == 0 && kThreadN % kChunk == 0,
                "a thread's rows and columns must be whole chunks");

  template <class Tile, int kCount>
  __device__ static void load(const char* tile, int k, int first, T (&part)[kCount]) {
#pragma unroll
    for (int c = 0; c < kCount / kChunk; ++c) {
      const int byte = (c * kSide + first) * 16;
      const uint4 chunk = *reinterpret_cast<const uint4*>(tile + Tile::offset(k, byte));
      memcpy(&part[c * kChunk], &chunk, 16);
    }
  }

  __device__ static void block(const char* a, const char* b, T (&sum)[kSums], int thread) {
#pragma unroll
    for (int k = 0; k < kConfig.block_k; ++k) {
      T a_part[kThreadM];
      T b_part[kThreadN];
      load<A>(a, k, thread / kSide, a_part);
      load<B>(b, k, thread % kSide, b_part);
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) sum[i * kThreadN + j] += a_part[i] * b_part[j];
      }
    }
  }

  template <class Visit>
  __device__ static void for_each(const T (&sum)[kSums], int thread, Visit visit) {
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
      const int row = (i / kChunk * kSide + thread / kSide) * kChunk + i % kChunk;
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) {
        const int col = (j / kChunk * kSide + thread % kSide) * kChunk + j % kChunk;
        visit(row, col, sum[i * kThreadN + j]);
      }
    }
  }
};

}  // namespace tessera::cuda
