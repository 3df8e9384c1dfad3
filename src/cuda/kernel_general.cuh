// The general kernel: ordinary loads, so that any strides and any alignment will do, on every GPU
// from sm_80 on. It runs what the tensor memory accelerator cannot take, the types that have no
// faster kernel, and GPUs other than Hopper's. Same schedule, fix-up and epilogue as kernel_sm90.
// How tiles are loaded is in operand_tile.cuh, how they are multiplied in multiply.cuh.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/block_recorder.cuh"
#include "cuda/epilogue.cuh"
#include "cuda/fixup.cuh"
#include "cuda/general_list.hpp"
#include "cuda/multiply.cuh"
#include "cuda/operand_tile.cuh"
#include "schedule/partition.hpp"

namespace tessera::cuda {

// The shared memory of a block: k-blocks in flight, and later the output tile on its way to C.
template <class Multiply>
struct GeneralShared {
  static constexpr GeneralConfig kConfig = Multiply::kConfig;
  using Accumulator = typename Multiply::Accumulator;
  static constexpr int kStageBytes = Multiply::A::kBytes + Multiply::B::kBytes;
  // A little longer than a row, so that neighbouring rows start in different banks.
  static constexpr int kOutputStride = kConfig.block_n + 16 / static_cast<int>(sizeof(Accumulator));
  static constexpr int kOutputBytes =
      kConfig.block_m * kOutputStride * static_cast<int>(sizeof(Accumulator));
  static constexpr int kPipelineBytes = kConfig.stages * kStageBytes;
  static constexpr int kBytes = kPipelineBytes > kOutputBytes ? kPipelineBytes : kOutputBytes;
  static_assert(kBytes <= 99 * 1024, "a block of sm_86 and sm_89 has 99 KB of shared memory");
};

// The types that C may have for an accumulator, as template arguments.
template <class Accumulator, class Write>
__device__ inline void with_c_type(ElementType type, Write write) {
  if constexpr (sizeof(Accumulator) == 8) {
    write.template operator()<ElementType::f64>();
  } else if constexpr (static_cast<Accumulator>(0.5) == Accumulator(0)) {
    write.template operator()<ElementType::i32>();
  } else if (type == ElementType::f32) {
    write.template operator()<ElementType::f32>();
  } else if (type == ElementType::f16) {
    write.template operator()<ElementType::f16>();
  } else {
    write.template operator()<ElementType::bf16>();
  }
}

// Writes the part of an output tile that lies in C. Neighbouring threads write neighbouring
// elements of whichever axis of C is the denser; each thread walks along the other.
template <ElementType kC, bool kPlain, class Shared, GeneralConfig kConfig, class Value>
__device__ inline void write_tile(const typename Shared::Accumulator* output, const WorkItem& item,
                                  const GroupOperands& group, const EpilogueArguments& epilogue,
                                  const EpilogueScalars<Value>& scalars, int thread) {
  constexpr int kThreads = kConfig.threads();
  static_assert(kThreads % kConfig.block_m == 0 && kThreads % kConfig.block_n == 0,
                "a thread must stay in its row or column of the tile");
  const bool along_rows = group.c_row_stride < group.c_col_stride;
  const int extent = along_rows ? kConfig.block_m : kConfig.block_n;
  const int steps = kConfig.block_m * kConfig.block_n / kThreads;
  const int step = kThreads / extent;
  const int first_row = along_rows ? thread % extent : thread / extent;
  const int first_col = along_rows ? thread / extent : thread % extent;
  const int row_step = along_rows ? 0 : step;
  const int col_step = along_rows ? step : 0;

  const std::int64_t row0 = static_cast<std::int64_t>(item.tile_m) * kConfig.block_m + first_row;
  const std::int64_t col0 = static_cast<std::int64_t>(item.tile_n) * kConfig.block_n + first_col;
  const std::int64_t index0 = row0 * group.c_row_stride + col0 * group.c_col_stride;
  const std::int64_t index_step = row_step * group.c_row_stride + col_step * group.c_col_stride;
  const auto* const sums = output + first_row * Shared::kOutputStride + first_col;
  const int sum_step = row_step * Shared::kOutputStride + col_step;
  // Without transcendental functions a few elements at a time.
#pragma unroll(kPlain ? 4 : 1)
  for (int i = 0; i < steps; ++i) {
    const std::int64_t row = row0 + i * row_step;
    const std::int64_t col = col0 + i * col_step;
    if (row >= group.m || col >= group.n) break;
    const std::int64_t index = index0 + i * index_step;
    Value value = scalars.alpha * static_cast<Value>(sums[i * sum_step]);
    if constexpr (!kPlain) {
      if (scalars.reads_c) value += scalars.beta * load_element<Value>(group.c, index, kC);
      value += bias_at<Value>(epilogue, group, row, col);
      value = activate(epilogue.activation, value);
    }
    store_element(group.c, index, kC, value);
  }
}

template <class Multiply>
__global__
__launch_bounds__(Multiply::kConfig.threads(), Multiply::kConfig.blocks_per_sm) void general_kernel(
    const __grid_constant__ KernelArguments arguments) {
  constexpr GeneralConfig kConfig = Multiply::kConfig;
  using Accumulator = typename Multiply::Accumulator;
  using Shared = GeneralShared<Multiply>;
  using A = typename Multiply::A;
  using B = typename Multiply::B;
  constexpr int kThreads = kConfig.threads();
  constexpr int kStages = kConfig.stages;

  // (kStages) × {A tile, B tile}, or the output tile
  extern __shared__ __align__(128) char shared[];
  const int thread = static_cast<int>(threadIdx.x);
  const EpilogueArguments& epilogue = arguments.epilogue;

  // In shared memory, not in registers: read once per k-block, while the sums need the registers.
  __shared__ OperandWalk a_walk;
  __shared__ OperandWalk b_walk;
  Accumulator sum[Multiply::kSums];

  // The sum over an item's k-blocks, with kStages − 1 of them on their way.
  const auto multiply_item = [&](const WorkItem& item, const GroupOperands& group) {
#pragma unroll
    for (Accumulator& s : sum) s = Accumulator(0);
    // With alpha = 0 neither A nor B may be read; with k = 0 there is nothing to read.
    if (epilogue.alpha == 0 || group.k == 0) return;

    if (thread == 0) {
      a_walk = walk_along_k<A>(group.a, group.a_row_stride, group.a_col_stride, group.m, group.k,
                               static_cast<std::int64_t>(item.tile_m) * kConfig.block_m);
      b_walk = walk_along_k<B>(group.b, group.b_col_stride, group.b_row_stride, group.n, group.k,
                               static_cast<std::int64_t>(item.tile_n) * kConfig.block_n);
    }
    __syncthreads();
    const auto load = [&](int iteration) {
      const std::int64_t k0 = static_cast<std::int64_t>(iteration) * kConfig.block_k;
      char* const stage = shared + (iteration - item.k_begin) % kStages * Shared::kStageBytes;
      TileCopy<A, kThreads>::start(stage, a_walk, k0, thread);
      TileCopy<B, kThreads>::start(stage + A::kBytes, b_walk, k0, thread);
    };

    // The first kStages − 1 rounds only load: one copy of the loading code serves both.
#pragma unroll 1
    for (int iteration = item.k_begin - (kStages - 1); iteration < item.k_end; ++iteration) {
      if (iteration >= item.k_begin) {
        ptx::copy_async_wait<kStages - 2>();
        // The stage to be multiplied is there for all threads, and the one to be loaded is free.
        __syncthreads();
      }
      if (iteration + kStages - 1 < item.k_end) load(iteration + kStages - 1);
      ptx::copy_async_commit();
      if (iteration >= item.k_begin) {
        const char* const stage =
            shared + (iteration - item.k_begin) % kStages * Shared::kStageBytes;
        Multiply::block(stage, stage + A::kBytes, sum, thread);
      }
    }
    ptx::copy_async_wait<0>();
  };

  // Through shared memory, so that neighbouring threads write neighbouring elements of C.
  const auto finish = [&](const WorkItem& item, const GroupOperands& group) {
    auto* const output = reinterpret_cast<Accumulator*>(shared);  // (block_m, kOutputStride)
    __syncthreads();
    Multiply::for_each(sum, thread, [&](int row, int col, Accumulator value) {
      output[row * Shared::kOutputStride + col] = value;
    });
    __syncthreads();

    const EpilogueScalars<EpilogueType<Accumulator>> scalars(epilogue);
    const bool is_plain = !scalars.reads_c && epilogue.bias == BiasAxis::none &&
                          epilogue.activation == Activation::none;
    with_c_type<Accumulator>(epilogue.c_type, [&]<ElementType kC>() {
      if (is_plain) {
        write_tile<kC, true, Shared, kConfig>(output, item, group, epilogue, scalars, thread);
      } else {
        write_tile<kC, false, Shared, kConfig>(output, item, group, epilogue, scalars, thread);
      }
    });
    // The next item loads into the memory that was just read.
    __syncthreads();
  };

  // The first thread's; nobody else looks at it.
  __shared__ BlockRecorder recorder;
  __shared__ std::int64_t started;
  __shared__ std::int64_t multiplied;
  const auto records = [&] { return arguments.trace.blocks != nullptr && thread == 0; };
  if (records()) recorder.open(arguments.trace);
  const IterationSpace space = arguments.space();
  const Partition& partition =
      arguments.line != nullptr ? arguments.line->partition : arguments.partition;
  for (std::int32_t worker = static_cast<std::int32_t>(blockIdx.x); worker < partition.workers;
       worker += static_cast<std::int32_t>(gridDim.x)) {
    for (const WorkItem& item : items_of(space, partition, worker)) {
      const GroupOperands& group = arguments.group(item.group);
      if (records()) started = ptx::cycles_of_sm();
      multiply_item(item, group);
      if (records()) multiplied = ptx::cycles_of_sm();
      if (item.is_whole_tile() ||
          fix_up<kThreads>([&] { return item; }, [&] { return arguments.fixup; }, sum, thread,
                           BlockBarrier{})) {
        finish(item, group);
      }
      if (records()) recorder.add(worker, item, started, multiplied);
    }
  }
  if (records()) recorder.close();
}

template <class Multiply>
cudaError_t launch_general_kernel(const LaunchRequest& request) {
  constexpr int kSharedBytes = GeneralShared<Multiply>::kBytes;
  const auto kernel = general_kernel<Multiply>;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  const auto grid = static_cast<unsigned>(request.arguments.partition.workers);
  kernel<<<grid, Multiply::kConfig.threads(), kSharedBytes, request.stream>>>(request.arguments);
  return cudaGetLastError();
}

// Tiles lie in shared memory the way their operands lie in memory, as far as all groups agree; any
// other layout is loaded element by element.
template <class TA, class TB, class Accumulator, GeneralConfig kConfig>
cudaError_t launch_tensor_kernel(const LaunchRequest& request) {
  if constexpr (sizeof(TA) == 2) {
    const bool a_along_k = request.a.major != Major::column;
    const bool b_along_k = request.b.major != Major::row;
    const auto launch = [&]<bool kA, bool kB>() {
      return launch_general_kernel<TensorMultiply<TA, TB, Accumulator, kConfig, kA, kB>>(request);
    };
    if (a_along_k) {
      return b_along_k ? launch.template operator()<true, true>()
                       : launch.template operator()<true, false>();
    }
    return b_along_k ? launch.template operator()<false, true>()
                     : launch.template operator()<false, false>();
  } else {
    return launch_general_kernel<TensorMultiply<TA, TB, Accumulator, kConfig, true, true>>(request);
  }
}

template <class T, GeneralConfig kConfig>
cudaError_t launch_plain_kernel(const LaunchRequest& request) {
  return launch_general_kernel<PlainMultiply<T, kConfig>>(request);
}

}  // namespace tessera::cuda
