// The multipliers of a Hopper block, warpgroups of 64 rows of its tile each: wgmma over the stages,
// fix-up with the tile's other workers, epilogue.
#pragma once

#include <cstdint>
#include <cuda/ptx>

#include "cuda/fixup.cuh"
#include "cuda/pipeline.cuh"
#include "cuda/ptx/cluster_arrive.cuh"
#include "cuda/ptx/named_barrier.cuh"
#include "cuda/ptx/smem_descriptor.cuh"
#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/ptx/uniform.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/sm90_block.cuh"
#include "cuda/sm90_epilogue.cuh"
#include "cuda/sm90_store_lines.cuh"

namespace tessera::cuda {

template <ElementType kType>
struct Sm90Input;
template <>
struct Sm90Input<ElementType::bf16> {
  using type = __nv_bfloat16;
};
template <>
struct Sm90Input<ElementType::f16> {
  using type = __half;
};

template <Sm90Config kConfig>
__device__ __forceinline__ void multiply(const BlockContext<kConfig>& block) {
  namespace cptx = ::cuda::ptx;
  using Input = typename Sm90Input<kConfig.input>::type;
  constexpr OperandTile kA = kConfig.a();
  constexpr OperandTile kB = kConfig.b();
  constexpr int kWarpgroups = kConfig.warpgroups();
  constexpr int kColumns = kConfig.block.cols;
  constexpr bool kIsGrouped = kConfig.is_grouped;
  constexpr int kSteps = kSm90BlockK / 16;
  // 16-byte pieces of a partial that a thread has on their way at a time, as registers allow.
  constexpr int kPiecesInFlight = kColumns <= 128 ? 16 : 4;
  constexpr bool kReadsSlotsAnew = !(kIsGrouped && kColumns == 192);  // likewise
  SharedStorage<kConfig>& shared = block.shared;
  const Sm90Header& header = shared.header;
  const int blocks = block.blocks;
  const int warpgroup = block.warp / 4;
  const int lane = static_cast<int>(threadIdx.x) % 32;

  // Taken apart from the header anew at each use, and so that the compiler does it: registers are
  // scarce.
  const auto own_fixup_space = [&]() -> FixupSpace {
    const int part = static_cast<int>(cptx::get_sreg_cluster_ctarank()) * kWarpgroups +
                     ptx::thread_in_block() / kWarpgroupThreads;
    void* slots = nullptr;
    if constexpr (kReadsSlotsAnew) {
      slots = *const_cast<void* const volatile*>(&header.fixup.slots);
    } else {
      slots = header.fixup.slots;
    }
    return {static_cast<std::byte*>(slots) + part * header.fixup_part_bytes,
            header.fixup.counters + part * header.fixup_part_counters,
            header.fixup.counters_per_level};
  };
  const auto any_of_warpgroup = [&](bool mine) {
    return ptx::barrier_any<kWarpgroupThreads>(1 + ptx::thread_in_block() / kWarpgroupThreads,
                                               mine);
  };
  using DescriptorA =
      ptx::MatrixDescriptor<kA.swizzle_bytes(), kA.slab_bytes(), kA.descriptor_stride()>;
  using DescriptorB =
      ptx::MatrixDescriptor<kB.swizzle_bytes(), kB.slab_bytes(), kB.descriptor_stride()>;
  const std::uint32_t first_a =
      DescriptorA::low_half(shared.a[0] + warpgroup * kWarpgroupRows * kSm90BlockK * kElementBytes);
  const std::uint32_t first_b = DescriptorB::low_half(shared.b[0]);

  float sums[kConfig.sums_per_thread()];
  RingCursor<kConfig.block.stages> stage;

  const auto release = [&](int slot) {
    if (lane < blocks) ptx::arrive_at_block(&shared.stage_empty[slot], lane);
  };

  // sums = A·B over the item's iterations, of the first kWidth columns. One stage's wgmmas run
  // while the next is waited for.
  const auto accumulate = [&]<int kWidth>(int iterations) {
    auto& part = reinterpret_cast<float(&)[kWidth / 2]>(sums);
    int previous = 0;
    for (int i = 0; i < iterations; ++i) {
      wait_until_full(shared.stage_full, stage);
      ptx::hold_registers(part);
      ptx::wgmma_fence();
      const std::uint32_t a = DescriptorA::advanced(first_a, stage.slot * kA.bytes());
      const std::uint32_t b = DescriptorB::advanced(first_b, stage.slot * kB.bytes());
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        ptx::Wgmma<Input, kWidth, !kA.k_contiguous, !kB.k_contiguous>::multiply(
            part, DescriptorA::at(a, step * kA.step_bytes()),
            DescriptorB::at(b, step * kB.step_bytes()), i > 0 || step > 0);
      }
      ptx::wgmma_commit();
      ptx::hold_registers(part);
      ptx::wgmma_wait<1>();
      if (i > 0) release(previous);
      previous = stage.slot;
      stage.advance();
    }
    ptx::wgmma_wait<0>();
    ptx::hold_registers(part);
    if (iterations > 0) release(previous);
  };

  // No wider than the columns that the tile has.
  const auto accumulate_columns = [&]<int kWidth>(auto self, int columns, int iterations) -> void {
    if constexpr (kWidth < kColumns) {
      if (columns > kWidth) {
        self.template operator()<kWidth + kGroupStep>(self, columns, iterations);
        return;
      }
    }
    accumulate.template operator()<kWidth>(iterations);
  };

  // Of the previous C, while the tile is multiplied.
  const auto ask_for_c = [&](const WorkItem& item) {
    const BlockTask task = block.task_of(header, item);
    const int thread = ptx::thread_in_block();
    const auto place = PlaceInCluster::of(header.shares);
    const std::int64_t tile_row = item.tile_m * header.shares.cluster_rows + place.row;
    const std::int64_t tile_col = item.tile_n * header.shares.cluster_cols + place.col;
    prefetch_c<kConfig>(header.epilogue, task.operands,
                        tile_row * kConfig.block.rows + thread / 32 * kWarpRows,
                        tile_col * kConfig.block.cols, thread % 32);
  };

  const auto finish = [&](const WorkItem& item) {
    // Its own, not the kernel's: addresses are not kept across the main loop.
    const int warp = ptx::thread_in_block() / 32;
    const BlockTask task = block.task_in_ring(item);
    const auto place = PlaceInCluster::of(header.shares);
    const std::int64_t tile_row = item.tile_m * header.shares.cluster_rows + place.row;
    const Columns columns = task.columns;
    WarpTile tile{.row = tile_row * kConfig.block.rows + warp * kWarpRows,
                  .col = columns.first,
                  .staging = shared.staging[warp],
                  .lane = ptx::thread_in_block() % 32,
                  .warp = warp % 4};
    if constexpr (kConfig.is_gated) {
      tile.row = tile_row * kConfig.c_rows();
      tile.staging = shared.staging[warp - tile.warp];
      if (tile.lane == 0 && tile.warp == 0) block.see_tensor_map(task.maps.c);
      store_gated<Input, kConfig>(sums, header.epilogue.activation, &task.maps.c, tile, warp / 4,
                                  columns.count);
    } else {
      const auto alpha = static_cast<float>(header.epilogue.alpha);
      if (!task.store_by_tma) {
        // The tile before may have left by TMA, which still reads the staging memory.
        if (tile.lane == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
        ptx::barrier_wait<kWarpgroupThreads>(1 + warp / 4);
        store_by_lines<kConfig>(sums, header.epilogue, task.operands, tile,
                                kIsGrouped ? tile.col + columns.count : task.operands.n);
        return;
      }
      // Of each warp, the one lane that may store.
      if (tile.lane == 0) block.see_tensor_map(task.maps.c);
      if constexpr (!kIsGrouped) {
        if (header.epilogue.c_type == ElementType::f32) {
          store_f32_by_tma<kConfig>(sums, alpha, &task.maps.c, tile, header.stores_dense_rows);
          return;
        }
      }
      if (header.stores_dense_rows) {
        store_rows_by_tma<Input, kConfig>(sums, alpha, &task.maps.c, tile, columns.count);
      } else {
        tile.row -= tile.warp * kWarpRows;
        tile.staging = shared.staging[warp - tile.warp];
        store_columns_by_tma<Input, kConfig>(sums, alpha, &task.maps.c, tile, 1 + warp / 4,
                                             columns.count);
      }
    }
  };

  for (const WorkItem& item : items_for_warp(shared)) {
    ptx::forget_registers(sums);
    const BlockTask task = block.task_in_ring(item);
    if constexpr (!kIsGrouped) {
      if (header.epilogue.beta != 0 && item.is_whole_tile()) ask_for_c(item);
    }
    if (task.multiplies) {
      const int iterations = ptx::uniform(item.k_end - item.k_begin);
      if constexpr (kIsGrouped) {
        accumulate_columns.template operator()<kGroupStep>(accumulate_columns, task.columns.count,
                                                           iterations);
      } else {
        accumulate.template operator()<kColumns>(iterations);
      }
    } else {
#pragma unroll
      for (float& sum : sums) sum = 0;
    }
    if (item.is_whole_tile() || fix_up<kWarpgroupThreads, kPiecesInFlight>(
                                    item, own_fixup_space, sums,
                                    ptx::thread_in_block() % kWarpgroupThreads, any_of_warpgroup)) {
      finish(item);
    }
  }
  // Shared memory must outlive the stores that read it.
  if (lane == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
}

}  // namespace tessera::cuda
