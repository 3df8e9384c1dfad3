// The epilogue of a tile that leaves by TMA, in registers: activation(alpha·sum + beta·C + bias),
// in the order of operations of sm90_store_lines.cuh, so that both ways to C make the same bits. A
// lane's sums are four of each 8 columns: two neighbouring columns in each of two rows.
#pragma once

#include <cstdint>

#include "cuda/epilogue.cuh"
#include "cuda/sm90_config.hpp"
#include "cuda/sm90_epilogue.cuh"

namespace tessera::cuda {

// Calls `finish` with kAtOnce sums and the number of the first, for all sums; one copy of its code
// serves them, for the others move up.
template <int kAtOnce, int kSums, class Finish>
__device__ inline void in_turn(float (&sums)[kSums], Finish finish) {
  static_assert(kSums % kAtOnce == 0);
#pragma unroll 1
  for (int first = 0; first < kSums; first += kAtOnce) {
    float now[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) now[i] = sums[i];
    finish(now, first);
#pragma unroll
    for (int i = 0; i + kAtOnce < kSums; ++i) sums[i] = sums[i + kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) sums[kSums - kAtOnce + i] = now[i];
  }
}

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}

template <class Element>
struct alignas(2 * sizeof(Element)) ElementPair {
  Element first;
  Element second;
};

// A lane's elements of the C of before, from (row, col) on; beyond C it reads the last one again,
// for a load under a condition waits for the one before.
template <int kCount, class Element>
__device__ inline void load_before(float (&before)[kCount], const GroupOperands& group,
                                   std::int64_t row, std::int64_t col) {
  const auto* const c = static_cast<const Element*>(group.c);
  const std::int64_t rows[2] = {min(row, group.m - 1), min(row + 8, group.m - 1)};
  if (group.c_col_stride == 1) {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      // Lines are whole 16 bytes, so that both or neither lie inside.
      const std::int64_t first = min(col + i / 4 * 8, group.n - 2);
      const auto pair = *reinterpret_cast<const ElementPair<Element>*>(
          c + rows[i / 2 % 2] * group.c_row_stride + first);
      before[i] = to_float(pair.first);
      before[i + 1] = to_float(pair.second);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const std::int64_t at = min(col + i / 4 * 8 + i % 2, group.n - 1);
      before[i] = to_float(c[at * group.c_col_stride + rows[i / 2 % 2]]);
    }
  }
}

// The bias of a warp's columns to its staging memory, as floats; beyond C there is none.
template <class Input, int kColumns>
__device__ void stage_bias(const EpilogueArguments& epilogue, const GroupOperands& group,
                           const WarpTile& tile) {
  auto* const staged = reinterpret_cast<float*>(tile.staging);
  // All loads are on their way at once, for one type of element at a time.
  const auto stage = [&]<class Element>() {
    // The last again beyond C: a load under a condition waits for the one before.
    float values[(kColumns + 31) / 32];
#pragma unroll
    for (int i = 0; i < (kColumns + 31) / 32; ++i) {
      const std::int64_t col = min(tile.col + i * 32 + tile.lane, group.n - 1);
      values[i] = to_float(static_cast<const Element*>(group.bias)[col * group.bias_stride]);
    }
#pragma unroll
    for (int i = 0; i < (kColumns + 31) / 32; ++i) {
      if (i * 32 + tile.lane < kColumns) staged[i * 32 + tile.lane] = values[i];
    }
  };
  if (epilogue.bias_type == ElementType::f32) {
    stage.template operator()<float>();
  } else {
    stage.template operator()<Input>();
  }
  __syncwarp();
}

template <class Input, Sm90Config kConfig>
__device__ inline void add_bias(float (&sums)[kConfig.sums_per_thread()],
                                const EpilogueArguments& epilogue, const GroupOperands& group,
                                const WarpTile& tile) {
  constexpr int kSums = kConfig.sums_per_thread();
  constexpr int kOfStrip = kConfig.block.cols / 2;
  if (epilogue.bias == BiasAxis::column) {
    stage_bias<Input, kConfig.block.cols>(epilogue, group, tile);
    const auto* const staged = reinterpret_cast<const float*>(tile.staging) + tile.lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kOfStrip; i += 4) {
      const float2 bias = *reinterpret_cast<const float2*>(staged + i * 2);
#pragma unroll
      for (int at = i; at < kSums; at += kOfStrip) {
        sums[at] += bias.x;
        sums[at + 1] += bias.y;
        sums[at + 2] += bias.x;
        sums[at + 3] += bias.y;
      }
    }
  } else if (epilogue.bias == BiasAxis::row) {
#pragma unroll
    for (int i = 0; i < kSums; i += kOfStrip) {
      const std::int64_t row = tile.row + i / kOfStrip * kWarpgroupRows + tile.lane / 4;
      const auto bias_of = [&](std::int64_t at) {
        return load_element<float>(group.bias, min(at, group.m - 1) * group.bias_stride,
                                   epilogue.bias_type);
      };
      const float upper = bias_of(row);
      const float lower = bias_of(row + 8);
#pragma unroll
      for (int at = i; at < i + kOfStrip; at += 4) {
        sums[at] += upper;
        sums[at + 1] += upper;
        sums[at + 2] += lower;
        sums[at + 3] += lower;
      }
    }
  }
}

// beta·C of before to a lane's sums, kAtOnce at a time.
template <int kAtOnce, class Input, Sm90Config kConfig>
__device__ inline void add_before(float (&sums)[kConfig.sums_per_thread()],
                                  const EpilogueArguments& epilogue, const GroupOperands& group,
                                  const WarpTile& tile) {
  constexpr int kOfStrip = kConfig.block.cols / 2;
  const auto beta = static_cast<float>(epilogue.beta);
  in_turn<kAtOnce>(sums, [&](float(&now)[kAtOnce], int first) {
    const std::int64_t row = tile.row + first / kOfStrip * kWarpgroupRows + tile.lane / 4;
    const std::int64_t col = tile.col + first % kOfStrip * 2 + tile.lane % 4 * 2;
    float before[kAtOnce];
    if (epilogue.c_type == ElementType::f32) {
      load_before<kAtOnce, float>(before, group, row, col);
    } else {
      load_before<kAtOnce, Input>(before, group, row, col);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) now[i] = __fmaf_rn(beta, before[i], now[i]);
  });
}

template <class Input, Sm90Config kConfig>
__device__ void finish_sums(float (&sums)[kConfig.sums_per_thread()],
                            const EpilogueArguments& epilogue, const GroupOperands& group,
                            const WarpTile& tile) {
  constexpr int kSums = kConfig.sums_per_thread();
  constexpr int kOfStrip = kConfig.block.cols / 2;
  // As registers allow.
  constexpr int kAtOnce = kSums < 128 && kOfStrip % 32 == 0 ? 32 : kOfStrip % 16 == 0 ? 16 : 8;
  const auto alpha = static_cast<float>(epilogue.alpha);
#pragma unroll
  for (float& sum : sums) sum = __fmul_rn(alpha, sum);

  // A bias that whole lines of C share comes before C, others after it.
  const bool bias_first = (epilogue.bias == BiasAxis::row) == (group.c_col_stride == 1);
#pragma unroll 1
  for (int turn = 0; turn < 2; ++turn) {
    if ((turn == 0) == bias_first) {
      add_bias<Input, kConfig>(sums, epilogue, group, tile);
    } else if (epilogue.beta != 0) {
      add_before<kAtOnce, Input, kConfig>(sums, epilogue, group, tile);
    }
  }

  if (epilogue.activation == Activation::relu) {
#pragma unroll
    for (float& sum : sums) sum = activate(Activation::relu, sum);
  } else if (epilogue.activation != Activation::none) {
    in_turn<kAtOnce>(sums, [&](float(&now)[kAtOnce], int) {
      const auto apply = [&]<Activation kActivation>() {
#pragma unroll
        for (float& sum : now) sum = activate(kActivation, sum);
      };
      if (epilogue.activation == Activation::gelu_tanh) {
        apply.template operator()<Activation::gelu_tanh>();
      } else if (epilogue.activation == Activation::gelu_erf) {
        apply.template operator()<Activation::gelu_erf>();
      } else {
        apply.template operator()<Activation::silu>();
      }
    });
  }
}

}  // namespace tessera::cuda
