// The Hopper kernel: persistent, warp-specialised, one for all schedules. A worker is a cluster of
// blocks, and each block has these roles:
//
//   dispatcher  one thread: walks the worker's WorkItems and announces them to the other two
//   loader      one thread: brings A and B into the ring of stages by TMA, ahead across items
//   multipliers two warpgroups of 64 rows each: wgmma, fix-up with the tile's others, epilogue
//   recorder    one thread, only in a traced launch: notes when the others were at which item
//
// docs/kernel_sm90.md has the picture. pipeline.cuh has the rings, sm90_epilogue.cuh the way to C.
#pragma once

#include <cstdint>
#include <cuda/ptx>

#include "cuda/fixup.cuh"
#include "cuda/pipeline.cuh"
#include "cuda/ptx/cluster_arrive.cuh"
#include "cuda/ptx/elect.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/named_barrier.cuh"
#include "cuda/ptx/prefetch_tensor_map.cuh"
#include "cuda/ptx/setmaxnreg.cuh"
#include "cuda/ptx/smem_descriptor.cuh"
#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_config.hpp"
#include "cuda/sm90_epilogue.cuh"
#include "cuda/sm90_recorder.cuh"

namespace tessera::cuda {

inline constexpr int kSharedBytesLimit = 232448;  // of a block on compute capability 9.0
inline constexpr int kSupplyRegisters = 72;       // dispatcher and loader
inline constexpr int kMultiplyRegisters = 216;

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

// Lane l's share of the warp's 16 rows ends where the next warp's begins.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kConfig.threads(), 1)
    sm90_kernel(const __grid_constant__ Sm90Arguments arguments) {
  namespace cptx = ::cuda::ptx;
  constexpr Sm90Config kConfig = Kernel::kConfig;
  using Input = typename Sm90Input<kConfig.input>::type;
  using Storage = SharedStorage<kConfig>;
  constexpr TileConfig kTile = kConfig.tile;
  constexpr OperandTile kA = kConfig.a();
  constexpr OperandTile kB = kConfig.b();
  constexpr int kCluster = kConfig.cluster();
  constexpr int kColumns = kConfig.cols();
  constexpr int kSteps = kTile.block_k / 16;
  // 16-byte pieces of a partial that a thread has on their way at a time, as registers allow.
  constexpr int kPiecesInFlight = kColumns <= 128 ? 16 : 4;

  static_assert(kConfig.rows() == kTile.warpgroups * kWarpgroupRows,
                "every multiplier warpgroup computes 64 rows of its block's tile");
  static_assert(kColumns % 16 == 0 && kColumns <= 256, "wgmma's N is a multiple of 16 up to 256");
  static_assert(kTile.block_k == 64, "a stage is one 128-byte swizzle row deep");
  static_assert(kTile.cluster_n == 1, "only B is shared by multicast, along M");
  static_assert(sizeof(Storage) <= kSharedBytesLimit, "the stages must fit shared memory");
  static_assert(kSupplyRegisters * kWarpgroupThreads +
                        kTile.warpgroups * kMultiplyRegisters * kWarpgroupThreads <=
                    65536,
                "a block has 65536 registers to share out");

  extern __shared__ __align__(1024) std::byte shared_memory[];
  Storage& shared = *reinterpret_cast<Storage*>(shared_memory);

  const int warpgroup =
      __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x), 0) / kWarpgroupThreads;
  const int warp = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x), 0) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto rank = static_cast<int>(blockIdx.x) % kCluster;
  const auto worker = static_cast<std::int32_t>(blockIdx.x) / kCluster;
  const Sm90Header& header = shared.header;

  struct Task {
    const Sm90Maps& maps;
    const GroupOperands& operands;
    bool multiplies;
    bool store_by_tma;
  };
  const auto task_of = [&](const WorkItem& item) -> Task {
    if (header.tasks == nullptr) {
      return {arguments.maps, header.operands, header.multiplies, header.store_by_tma};
    }
    const Sm90Task& task = header.tasks[item.group];
    return {task.maps, task.operands, task.multiplies, task.store_by_tma};
  };
  // Tensor maps in global memory were written through another proxy than the one that reads them.
  const auto see_tensor_map = [&](const CUtensorMap& map) {
    if (header.tasks != nullptr) {
      cptx::fence_proxy_tensormap_generic(cptx::sem_acquire, cptx::scope_gpu, &map,
                                          cptx::n32_t<128>{});
    }
  };

  shared.copy_header(arguments.header);
  if (threadIdx.x == 0) shared.initialize_barriers(arguments.header.trace.blocks != nullptr);
  if (threadIdx.x == 32) {
    ptx::prefetch_tensor_map(&arguments.maps.a);
    ptx::prefetch_tensor_map(&arguments.maps.b);
    ptx::prefetch_tensor_map(&arguments.maps.c);
  }
  if constexpr (kCluster > 1) {
    cptx::barrier_cluster_arrive();
    cptx::barrier_cluster_wait();
  } else {
    __syncthreads();
  }
  ptx::wait_for_previous_kernel();
  ptx::let_next_kernel_start();

  const auto dispatch = [&] {
    if (header.line != nullptr) {
      shared.header.partition = header.line->partition;
      shared.header.tiles = header.line->tiles;
      shared.header.iterations = header.line->iterations;
    }
    IterationSpace& space = shared.space;
    space = {header.tasks == nullptr ? &header.extent : header.extents, header.group_count,
             header.tiles, header.iterations};
    ItemWriter<Storage> writer(shared);
    for (const WorkItem& item : items_of(space, header.partition, worker)) writer.announce(item);
    writer.close();
  };

  // This block's tile of an operand, or its share of a tile that the cluster multicasts. `outside`
  // is the first row of A or column of B.
  const auto load_operand = [&]<OperandTile kOperand>(const CUtensorMap& map, std::byte* stage,
                                                      Barrier& full, int outside, int k) {
    const int part = kOperand.parts > 1 ? rank : 0;
    if (kOperand.k_contiguous) {
      outside += part * kOperand.box_outer();
    } else {
      k += part * kOperand.box_outer();
    }
#pragma unroll
    for (int slab = 0; slab < kOperand.slabs(); ++slab) {
      std::byte* const to = stage + slab * kOperand.slab_bytes() + part * kOperand.part_bytes();
      const int inner = (kOperand.k_contiguous ? k : outside) + slab * kOperand.box_inner();
      const std::int32_t at[2] = {inner, kOperand.k_contiguous ? outside : k};
      if constexpr (kOperand.parts > 1) {
        cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, to, &map, at, &full,
                                   static_cast<std::uint16_t>((1 << kCluster) - 1));
      } else {
        cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, to, &map, at, &full);
      }
    }
  };

  const auto load = [&] {
    RingCursor<kTile.stages> stage;
    std::int32_t seen = -1;  // the group whose tensor maps were last looked at
    for (const WorkItem& item : items_for_thread(shared)) {
      const Task task = task_of(item);
      if (!task.multiplies) continue;
      if (item.group != seen) {
        see_tensor_map(task.maps.a);
        see_tensor_map(task.maps.b);
        seen = item.group;
      }
      const int row = item.tile_m * kTile.block_m + rank * kConfig.rows();
      const int col = item.tile_n * kTile.block_n;
      for (int k = item.k_begin * kTile.block_k; k < item.k_end * kTile.block_k;
           k += kTile.block_k) {
        wait_until_empty(shared.stage_empty, stage);
        Barrier& full = shared.stage_full[stage.slot];
        cptx::mbarrier_arrive_expect_tx(cptx::sem_release, cptx::scope_cta, cptx::space_shared,
                                        &full, kA.bytes() + kB.bytes());
        load_operand.template operator()<kA>(task.maps.a, shared.a[stage.slot], full, row, k);
        load_operand.template operator()<kB>(task.maps.b, shared.b[stage.slot], full, col, k);
        stage.advance();
      }
    }
  };

  const auto record = [&] {
    Sm90Recorder<kConfig>(shared).record(header.trace, worker, [&](const WorkItem& item) {
      return task_of(item).multiplies ? item.k_end - item.k_begin : 0;
    });
  };

  const auto multiply = [&] {
    const int thread = static_cast<int>(threadIdx.x) % kWarpgroupThreads;
    // Taken apart from the header only when needed: registers are scarce during the main loop.
    const auto own_fixup_space = [&]() -> FixupSpace {
      const int part = rank * kTile.warpgroups + warpgroup;
      return {static_cast<std::byte*>(header.fixup.slots) + part * header.fixup_part_bytes,
              header.fixup.counters + part * header.fixup_part_counters,
              header.fixup.counters_per_level};
    };
    const auto any_of_warpgroup = [&](bool mine) {
      return ptx::barrier_any<kWarpgroupThreads>(1 + warpgroup, mine);
    };
    using DescriptorA =
        ptx::MatrixDescriptor<kA.swizzle_bytes(), kA.slab_bytes(), kA.descriptor_stride()>;
    using DescriptorB =
        ptx::MatrixDescriptor<kB.swizzle_bytes(), kB.slab_bytes(), kB.descriptor_stride()>;
    const std::uint32_t first_a = DescriptorA::low_half(
        shared.a[0] + warpgroup * kWarpgroupRows * kTile.block_k * kElementBytes);
    const std::uint32_t first_b = DescriptorB::low_half(shared.b[0]);

    float sums[kConfig.sums_per_thread()];
    RingCursor<kTile.stages> stage;

    const auto release = [&](int slot) {
      if constexpr (kCluster > 1) {
        if (lane < kCluster) ptx::arrive_at_block(&shared.stage_empty[slot], lane);
      } else {
        if (lane == 0) arrive(shared.stage_empty[slot]);
      }
    };

    // sums = A·B over the item's iterations. One stage's wgmmas run while the next is waited for.
    const auto accumulate = [&](int iterations) {
      int previous = 0;
      for (int i = 0; i < iterations; ++i) {
        wait_until_full(shared.stage_full, stage);
        ptx::hold_registers(sums);
        ptx::wgmma_fence();
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          const auto a = DescriptorA::at(first_a, stage.slot * kA.bytes() + step * kA.step_bytes());
          const auto b = DescriptorB::at(first_b, stage.slot * kB.bytes() + step * kB.step_bytes());
          ptx::Wgmma<Input, kColumns, !kA.k_contiguous, !kB.k_contiguous>::multiply(
              sums, a, b, i > 0 || step > 0);
        }
        ptx::wgmma_commit();
        ptx::hold_registers(sums);
        ptx::wgmma_wait<1>();
        if (i > 0) release(previous);
        previous = stage.slot;
        stage.advance();
      }
      ptx::wgmma_wait<0>();
      ptx::hold_registers(sums);
      if (iterations > 0) release(previous);
    };

    const auto finish = [&](const WorkItem& item) {
      const Task task = task_of(item);
      const int warp_of_tile = warp;
      const WarpTile tile{.row = static_cast<std::int64_t>(item.tile_m) * kTile.block_m +
                                 rank * kConfig.rows() + warp_of_tile * kStoreRows,
                          .col = static_cast<std::int64_t>(item.tile_n) * kTile.block_n,
                          .staging = shared.staging[warp_of_tile],
                          .lane = ptx::thread_in_block() % 32};
      if (task.store_by_tma) {
        see_tensor_map(task.maps.c);
        store_by_tma<Input, kColumns>(sums, static_cast<float>(header.epilogue.alpha), &task.maps.c,
                                      tile);
        return;
      }
      store_by_element<kColumns>(sums, header.epilogue, task.operands, tile);
    };

    for (const WorkItem& item : items_for_warp(shared)) {
      ptx::forget_registers(sums);
      if (task_of(item).multiplies) {
        accumulate(item.k_end - item.k_begin);
      } else {
#pragma unroll
        for (float& sum : sums) sum = 0;
      }
      if (item.is_whole_tile() || fix_up<kWarpgroupThreads, kPiecesInFlight>(
                                      item, own_fixup_space(), sums, thread, any_of_warpgroup)) {
        finish(item);
      }
    }
    // Shared memory must outlive the stores that read it.
    if (lane == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
  };

  if (warpgroup == kTile.warpgroups) {
    ptx::give_registers_up_to<kSupplyRegisters>();
    const int role = warp - kTile.warpgroups * 4;
    if (role == 0 && ptx::elect_one()) {
      load();
    } else if (role == 1 && ptx::elect_one()) {
      dispatch();
    } else if (role == 2 && header.trace.blocks != nullptr && ptx::elect_one()) {
      record();
    }
  } else {
    ptx::take_registers_up_to<kMultiplyRegisters>();
    multiply();
  }
  // A block's shared memory must outlive its neighbours' multicasts and arrivals.
  if constexpr (kCluster > 1) {
    __syncwarp();
    cptx::barrier_cluster_arrive();
    cptx::barrier_cluster_wait();
  }
}

}  // namespace tessera::cuda
