// The way to C by TMA where there is more to a tile than alpha·A·B in the input's type:
// activation(alpha·sum + bias + beta·C), box by box, on the sums in registers. C of before comes
// into the boxes by TMA, too, in which its successor leaves.
//
// A lane's sums are four of each 8 columns: two neighbouring columns in each of two rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <cuda/ptx>

#include "cuda/epilogue.cuh"
#include "cuda/pipeline.cuh"
#include "cuda/ptx/ldmatrix.cuh"
#include "cuda/ptx/named_barrier.cuh"
#include "cuda/ptx/prefetch_box.cuh"
#include "cuda/ptx/stmatrix.cuh"
#include "cuda/sm90_config.hpp"
#include "cuda/sm90_epilogue.cuh"

namespace tessera::cuda {

// Two neighbours of 16 bits, each at least the floor's; a NaN stays one.
template <class T>
__device__ inline std::uint32_t at_least(std::uint32_t pair, std::uint32_t floor);
template <>
__device__ inline std::uint32_t at_least<__nv_bfloat16>(std::uint32_t pair, std::uint32_t floor) {
  const __nv_bfloat162 larger = __hmax2_nan(reinterpret_cast<const __nv_bfloat162&>(pair),
                                            reinterpret_cast<const __nv_bfloat162&>(floor));
  return reinterpret_cast<const std::uint32_t&>(larger);
}
template <>
__device__ inline std::uint32_t at_least<__half>(std::uint32_t pair, std::uint32_t floor) {
  const __half2 larger =
      __hmax2_nan(reinterpret_cast<const __half2&>(pair), reinterpret_cast<const __half2&>(floor));
  return reinterpret_cast<const std::uint32_t&>(larger);
}

// The same as floats.
template <class T>
__device__ inline float2 unpack(std::uint32_t pair);
template <>
__device__ inline float2 unpack<__nv_bfloat16>(std::uint32_t pair) {
  return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000)};
}
template <>
__device__ inline float2 unpack<__half>(std::uint32_t pair) {
  return __half22float2(reinterpret_cast<const __half2&>(pair));
}

// A thread's share of the bias of its warpgroup's part of a tile, one value for each column or each
// row of it. Asked for before the main loop and staged after it.
template <Sm90Config kConfig>
struct BiasShare {
  static constexpr int kCount = (kConfig.bias_values() + kWarpgroupThreads - 1) / kWarpgroupThreads;
  std::uint32_t bits[kCount] = {};  // as they lie in memory, so that nothing waits for them yet

  // Beyond C the last again: a load under a condition waits for the one before.
  __device__ void load(const EpilogueArguments& epilogue, const GroupOperands& group,
                       const WarpTile& tile) {
    const bool of_columns = epilogue.bias == BiasAxis::column;
    const std::int64_t first = of_columns ? tile.col + tile.warp * 32 + tile.lane
                                          : tile.row + tile.warp * (32 - kWarpRows) + tile.lane;
    const std::int64_t last = (of_columns ? group.n : group.m) - 1;
    const auto load_as = [&]<class Bits>() {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const std::int64_t at = min(first + i * kWarpgroupThreads, last) * group.bias_stride;
        bits[i] = static_cast<const Bits*>(group.bias)[at];
      }
    };
    if (epilogue.bias == BiasAxis::none) return;
    if (epilogue.bias_type == ElementType::f32) {
      load_as.template operator()<std::uint32_t>();
    } else {
      load_as.template operator()<std::uint16_t>();
    }
  }
  template <class Input>
  __device__ void stage(float* staged, const EpilogueArguments& epilogue,
                        const WarpTile& tile) const {
    const bool is_f32 = epilogue.bias_type == ElementType::f32;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int at = i * kWarpgroupThreads + tile.warp * 32 + tile.lane;
      const float value = is_f32 ? __uint_as_float(bits[i]) : unpack<Input>(bits[i]).x;
      if (at < kConfig.bias_values()) staged[at] = value;
    }
  }
};

// alpha·sum + bias, of a warp's rows.
struct SumScale {
  float alpha = 1;
  const float* of_columns = nullptr;  // the tile's, staged, from the lane's first on
  float upper = -0.F;                 // of the lane's rows; -0 keeps the sign of a zero
  float lower = -0.F;

  // From their staged bias; without one the rows have none.
  __device__ void set_rows(const float* staged, const WarpTile& tile, int strip) {
    if (staged == nullptr) return;
    const float* const first =
        staged + strip * kWarpgroupRows + tile.warp * kWarpRows + tile.lane / 4;
    upper = first[0];
    lower = first[8];
  }
  // Four sums, of the 8 columns from `column` on.
  template <bool kOfColumns>
  __device__ void apply(float* out, const float* sums, int column) const {
    float2 top = {upper, upper};
    float2 bottom = {lower, lower};
    if constexpr (kOfColumns) {
      top = bottom = *reinterpret_cast<const float2*>(of_columns + column);
    }
    out[0] = __fmaf_rn(alpha, sums[0], top.x);
    out[1] = __fmaf_rn(alpha, sums[1], top.y);
    out[2] = __fmaf_rn(alpha, sums[2], bottom.x);
    out[3] = __fmaf_rn(alpha, sums[3], bottom.y);
  }
};

// The sums become activation(alpha·sum + bias), some at a time; one copy of the code serves all,
// for the others move up.
template <bool kOfColumns, Sm90Config kConfig>
__device__ void activate_sums(float (&sums)[kConfig.sums_per_thread()], SumScale scale,
                              const float* staged, const WarpTile& tile, Activation activation) {
  constexpr int kSums = kConfig.sums_per_thread();
  constexpr int kOfStrip = kConfig.block.cols / 2;
  // More at once move less often, but are more code, whose every line a cold kernel waits for.
  constexpr int kAtOnce = kSums > 64 && kOfStrip % 16 == 0 ? 16 : 8;
#pragma unroll 1
  for (int first = 0; first < kSums; first += kAtOnce) {
    if (!kOfColumns && first % kOfStrip == 0) scale.set_rows(staged, tile, first / kOfStrip);
    float now[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; i += 4) {
      scale.apply<kOfColumns>(now + i, sums + i, (first + i) % kOfStrip * 2);
    }
    const auto apply = [&]<Activation kActivation>() {
#pragma unroll
      for (float& value : now) value = activate(kActivation, value);
    };
    if (activation == Activation::gelu_tanh) {
      apply.template operator()<Activation::gelu_tanh>();
    } else if (activation == Activation::gelu_erf) {
      apply.template operator()<Activation::gelu_erf>();
    } else {
      apply.template operator()<Activation::silu>();
    }
#pragma unroll
    for (int i = 0; i + kAtOnce < kSums; ++i) sums[i] = sums[i + kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) sums[kSums - kAtOnce + i] = now[i];
  }
}

// The boxes of a tile that leaves, and of C of before that comes, through two buffers.
template <Sm90Config kConfig, StoreBox kBoxShape>
struct BoxesOfTile {
  static constexpr StoreBox kBox = kBoxShape;
  static constexpr int kOfStrip = kConfig.block.cols / kBox.columns;
  static constexpr int kCount = kConfig.strips() * kOfStrip;

  const CUtensorMap* map;
  WarpTile tile;  // of the warp, or of the first of a warpgroup that works together
  bool reads;     // C of before, by way of:
  BeforeRing& before;
  std::uint8_t& parities;

  __device__ std::byte* buffer(int number) const {
    return tile.staging + number % 2 * kBox.bytes();
  }
  __device__ void place(int number, std::int32_t (&at)[2]) const {
    const auto row = static_cast<std::int32_t>(tile.row) + number / kOfStrip * kWarpgroupRows;
    const auto col = static_cast<std::int32_t>(tile.col) + number % kOfStrip * kBox.columns;
    at[0] = kBox.dense_rows ? col : row;
    at[1] = kBox.dense_rows ? row : col;
  }

  // By one thread.
  __device__ void load(int number) const {
    namespace cptx = ::cuda::ptx;
    std::int32_t at[2];
    place(number, at);
    Barrier& full = before.full[number % 2];
    cptx::mbarrier_arrive_expect_tx(cptx::sem_release, cptx::scope_cta, cptx::space_shared, &full,
                                    kBox.bytes());
    cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, buffer(number), map, at,
                               &full);
  }
  // The first two come; the L2 cache is asked for the others.
  __device__ void load_first() const {
    load(0);
    if (kCount > 1) load(1);
#pragma unroll 1
    for (int number = 2; number < kCount; ++number) {
      std::int32_t at[2];
      place(number, at);
      tessera::ptx::prefetch_box(map, at);
    }
  }
  __device__ void store(int number) const {
    namespace cptx = ::cuda::ptx;
    std::int32_t at[2];
    place(number, at);
    cptx::cp_async_bulk_tensor(cptx::space_global, cptx::space_shared, map, at, buffer(number));
    cptx::cp_async_bulk_commit_group();
    if (reads && number + 2 < kCount) {
      cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
      load(number + 2);
    }
  }
  // Its buffer is free, or full of C of before. The tile's first finds both free.
  __device__ void wait_for_buffer(int number, std::uint32_t parities, bool issues) const {
    if (reads) {
      wait_for(before.full[number % 2], parities >> number % 2 & 1);
    } else if (issues && number >= 2) {
      ::cuda::ptx::cp_async_bulk_wait_group_read(::cuda::ptx::n32_t<1>{});
    }
  }
};

// Where the lanes' sums of a box go by stmatrix, 16 columns at a time.
template <StoreBox kBox>
struct BoxLines {
  static constexpr bool kDenseRows = kBox.dense_rows;
  std::uint32_t line;

  __device__ explicit BoxLines(const WarpTile& tile)
      : line(kDenseRows ? tile.lane % 16 * kBox.line_bytes() + tile.lane / 16 * 16
                        : (tile.lane / 16 * 8 + tile.lane % 8) * kBox.line_bytes() +
                              tile.warp * kWarpRows * kElementBytes + tile.lane / 8 % 2 * 16) {}
  __device__ std::uint32_t offset(int pair) const {
    return swizzled<kBox.line_bytes()>(line + pair * (kDenseRows ? 32 : 16 * kBox.line_bytes()));
  }
};

// Fills the boxes one after another, each when its buffer is free or full of C of before, and sends
// it off. `fill` gets the buffer, the box's sums, what scales them and their first column. `tile`
// is the calling warp's; where a warpgroup fills a box together, `boxes` are the warpgroup's.
template <int kAtOnce, bool kOfColumns, Sm90Config kConfig, StoreBox kBox, class Fill>
__device__ void send_boxes(float (&sums)[kConfig.sums_per_thread()], SumScale scale,
                           const float* staged, const BoxesOfTile<kConfig, kBox>& boxes,
                           const WarpTile& tile, int barrier, Fill fill) {
  namespace cptx = ::cuda::ptx;
  constexpr int kBoxSums = kBox.columns / 2;
  constexpr int kOfStrip = BoxesOfTile<kConfig, kBox>::kOfStrip;
  constexpr int kBoxes = BoxesOfTile<kConfig, kBox>::kCount;
  const auto together = [&] {
    if constexpr (kBox.of_warpgroup()) {
      tessera::ptx::barrier_wait<kWarpgroupThreads>(barrier);
    } else {
      __syncwarp();
    }
  };
  const bool issues = tile.lane == 0 && (!kBox.of_warpgroup() || tile.warp == 0);
  std::uint32_t parities = boxes.parities;

#pragma unroll 1
  for (int first = 0; first < kBoxes; first += kAtOnce) {
#pragma unroll
    for (int b = 0; b < kAtOnce; ++b) {
      const int number = first + b;
      if (!kOfColumns && number % kOfStrip == 0) {
        scale.set_rows(staged, tile, number / kOfStrip);
      }
      boxes.wait_for_buffer(number, parities, issues);
      together();
      fill(boxes.buffer(number), sums + b * kBoxSums, scale, number % kOfStrip * kBox.columns);
      cptx::fence_proxy_async(cptx::space_shared);
      together();
      if (issues) boxes.store(number);
      parities ^= 1U << number % 2;
    }
#pragma unroll
    for (int i = 0; i + kAtOnce * kBoxSums < kConfig.sums_per_thread(); ++i) {
      sums[i] = sums[i + kAtOnce * kBoxSums];
    }
  }
  if (issues) boxes.parities = static_cast<std::uint8_t>(parities);
}

// C in 16 bits.
template <class T, bool kOfColumns, Sm90Config kConfig, StoreBox kBox>
__device__ void store_finished(float (&sums)[kConfig.sums_per_thread()], const SumScale& scale,
                               const float* staged, const EpilogueArguments& epilogue,
                               const BoxesOfTile<kConfig, kBox>& boxes, const WarpTile& tile,
                               int barrier) {
  constexpr bool kDenseRows = kBox.dense_rows;
  constexpr int kBoxes = BoxesOfTile<kConfig, kBox>::kCount;
  // Half of the boxes at once, or one: a copy of the code serves all, for the other sums move up.
  // In turns, where many tiles follow one another, all.
  constexpr int kAtOnce = kConfig.block.in_turns ? kBoxes : kBoxes % 2 == 0 ? kBoxes / 2 : 1;
  const BoxLines<kBox> lines(tile);
  const auto beta = static_cast<float>(epilogue.beta);
  const float floor = epilogue.activation == Activation::relu ? 0.F : -INFINITY;
  const std::uint32_t floors = pack<T>(floor, floor);

  const auto fill = [&](std::byte* buffer, const float* of_box, const SumScale& now, int column) {
    const std::uint32_t start = tessera::ptx::shared_address(buffer);
#pragma unroll
    for (int pair = 0; pair < kBox.columns / 16; ++pair) {
      const std::uint32_t to = start + lines.offset(pair);
      float d[8];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        now.template apply<kOfColumns>(d + half * 4, of_box + pair * 8 + half * 4,
                                       column + pair * 16 + half * 8);
      }
      if (boxes.reads) {
        std::uint32_t before[4];
        if constexpr (kDenseRows) {
          tessera::ptx::ldmatrix_x4(to, before);
        } else {
          tessera::ptx::ldmatrix_transposed_x4(to, before);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float2 old = unpack<T>(before[i]);
          d[2 * i] = __fmaf_rn(beta, old.x, d[2 * i]);
          d[2 * i + 1] = __fmaf_rn(beta, old.y, d[2 * i + 1]);
        }
      }
      std::uint32_t m[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) m[i] = at_least<T>(pack<T>(d[2 * i], d[2 * i + 1]), floors);
      if constexpr (kDenseRows) {
        tessera::ptx::stmatrix_x4(to, m[0], m[1], m[2], m[3]);
      } else {
        tessera::ptx::stmatrix_transposed_x4(to, m[0], m[1], m[2], m[3]);
      }
    }
  };
  send_boxes<kAtOnce, kOfColumns>(sums, scale, staged, boxes, tile, barrier, fill);
}

// C in f32, each warp alone; where C's columns are dense, a box is 16 rows of them.
template <bool kOfColumns, Sm90Config kConfig, StoreBox kBox>
__device__ void store_finished_f32(float (&sums)[kConfig.sums_per_thread()], const SumScale& scale,
                                   const float* staged, const EpilogueArguments& epilogue,
                                   const BoxesOfTile<kConfig, kBox>& boxes, const WarpTile& tile,
                                   int barrier) {
  constexpr bool kDenseRows = kBox.dense_rows;
  constexpr int kBoxes = BoxesOfTile<kConfig, kBox>::kCount;
  constexpr int kAtOnce = kConfig.block.in_turns ? kBoxes : kBoxes % 2 == 0 ? 2 : 1;
  constexpr int kLineBytes = kBox.line_bytes();
  constexpr int kLine = kLineBytes / static_cast<int>(sizeof(float));
  static_assert(2 * kBox.bytes() <= kConfig.staging_bytes(), "two boxes must fit the staging");
  // Of the lane's first sum; with dense columns the row 8 further is the other half of the line.
  const int row = tile.lane / 4;
  const int col = tile.lane % 4 * 2;
  const std::uint32_t first =
      swizzled<kLineBytes>(kDenseRows ? row * kLineBytes + col * 4 : col * kLineBytes + row * 4);
  const auto beta = static_cast<float>(epilogue.beta);
  const bool clips = epilogue.activation == Activation::relu;

  const auto fill = [&](std::byte* buffer, const float* of_box, const SumScale& now, int column) {
#pragma unroll
    for (int i = 0; i < kBox.columns / 8; ++i) {
      float d[4];
      now.template apply<kOfColumns>(d, of_box + i * 4, column + i * 8);
      float* places[4];
      if constexpr (kDenseRows) {
        places[0] = reinterpret_cast<float*>(buffer + (first ^ i * 32));
        places[1] = places[0] + 1;
        places[2] = places[0] + 8 * kLine;
        places[3] = places[2] + 1;
      } else {
        places[0] = reinterpret_cast<float*>(buffer + first + i * 8 * kLineBytes);
        places[1] = places[0] + kLine;
        places[2] = reinterpret_cast<float*>(buffer + (first ^ 32) + i * 8 * kLineBytes);
        places[3] = places[2] + kLine;
      }
      if (boxes.reads) {
#pragma unroll
        for (int e = 0; e < 4; ++e) d[e] = __fmaf_rn(beta, *places[e], d[e]);
      }
#pragma unroll
      for (float& value : d) value = clips ? activate(Activation::relu, value) : value;
      if constexpr (kDenseRows) {
        *reinterpret_cast<float2*>(places[0]) = make_float2(d[0], d[1]);
        *reinterpret_cast<float2*>(places[2]) = make_float2(d[2], d[3]);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) *places[e] = d[e];
      }
    }
  };
  send_boxes<kAtOnce, kOfColumns>(sums, scale, staged, boxes, tile, barrier, fill);
}

// The sums leave, finished but for a heavy activation; `staged` is the bias, or null.
template <class Input, Sm90Config kConfig, StoreBox kBox>
__device__ void store_boxes(float (&sums)[kConfig.sums_per_thread()], const SumScale& scale,
                            const float* staged, const EpilogueArguments& epilogue,
                            const BoxesOfTile<kConfig, kBox>& boxes, const WarpTile& tile,
                            int barrier) {
  const auto store = [&]<bool kOfColumns>() {
    if constexpr (kBox.element_bytes == kElementBytes) {
      store_finished<Input, kOfColumns>(sums, scale, staged, epilogue, boxes, tile, barrier);
    } else {
      store_finished_f32<kOfColumns>(sums, scale, staged, epilogue, boxes, tile, barrier);
    }
  };
  if (staged != nullptr && epilogue.bias == BiasAxis::column) {
    store.template operator()<true>();
  } else {
    store.template operator()<false>();
  }
}

}  // namespace tessera::cuda
