// The Hopper kernel: persistent, warp-specialised, one for all schedules. A worker is a cluster of
// blocks, whose shape is the launch's choice, and each block has these roles:
//
//   dispatcher   one thread: walks the worker's WorkItems and announces them to the others
//                (sm90_dispatch.cuh)
//   loaders      a thread each for A and B: bring them into the ring of stages by TMA, ahead across
//                items; blocks of the cluster that need the same rows load a share each
//                (sm90_load.cuh)
//   multipliers  warpgroups of 64 rows each, or two that take whole tiles in turns: wgmma, fix-up
//                with the tile's other workers, epilogue (sm90_multiply.cuh)
//   recorder     one thread, only in a traced launch: notes when the others were at which item
//                (sm90_recorder.cuh)
//
// docs/kernel_sm90.md has the picture. pipeline.cuh has the rings, sm90_block.cuh what all roles
// know, sm90_epilogue.cuh the way to C.
#pragma once

#include <cstdint>
#include <cuda/ptx>

#include "cuda/pipeline.cuh"
#include "cuda/ptx/elect.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/prefetch_tensor_map.cuh"
#include "cuda/ptx/setmaxnreg.cuh"
#include "cuda/ptx/uniform.cuh"
#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_block.cuh"
#include "cuda/sm90_config.hpp"
#include "cuda/sm90_dispatch.cuh"
#include "cuda/sm90_load.cuh"
#include "cuda/sm90_multiply.cuh"
#include "cuda/sm90_recorder.cuh"

namespace tessera::cuda {

inline constexpr int kSupplyRegisters = 72;  // dispatcher and loaders
inline constexpr int kMultiplyRegisters = 216;

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kConfig.threads(), 1)
    sm90_kernel(const __grid_constant__ Sm90Arguments arguments) {
  constexpr Sm90Config kConfig = Kernel::kConfig;
  using Storage = SharedStorage<kConfig>;
  constexpr int kWarpgroups = kConfig.warpgroups();
  // A single multiplier warpgroup leaves registers enough for all.
  constexpr bool kMovesRegisters = kWarpgroups > 1;

  static_assert(kConfig.block.rows % kWarpgroupRows == 0,
                "every multiplier warpgroup computes strips of 64 rows");
  static_assert(!kConfig.block.in_turns || !kConfig.is_gated,
                "a gated pair's tile is shared by both warpgroups");
  static_assert(kConfig.sums_per_thread() <= 160, "the registers hold no more sums");
  static_assert(kConfig.block.cols % 16 == 0 && kConfig.block.cols <= 256,
                "wgmma's N is a multiple of 16 up to 256");
  static_assert(kSm90BlockK == 64, "a stage is one 128-byte swizzle row deep");
  static_assert(sizeof(Storage) <= kSharedBytesLimit, "the stages must fit shared memory");
  // Of 65536, eight at a time for each of 384 threads: a block that wants more waits for ever.
  static_assert(!kMovesRegisters || kSupplyRegisters + kWarpgroups * kMultiplyRegisters <=
                                        (kWarpgroups + 1) * (65536 / kConfig.threads() / 8 * 8),
                "the warpgroups share the registers that the block starts with");

  extern __shared__ __align__(1024) std::byte shared_memory[];
  Storage& shared = *reinterpret_cast<Storage*>(shared_memory);

  const int warp = ptx::uniform(static_cast<int>(threadIdx.x) / 32);
  const BlockContext<kConfig> block{
      arguments, shared, static_cast<std::int32_t>(::cuda::ptx::get_sreg_clusterid_x()),
      static_cast<int>(::cuda::ptx::get_sreg_cluster_nctarank()), warp};

  const auto record = [&] {
    Sm90Recorder<kConfig>(shared).record(
        shared.header.trace, block.worker, block.blocks, [&](const WorkItem& item) {
          return block.task_in_ring(item).multiplies ? item.k_end - item.k_begin : 0;
        });
  };
  const auto give_up_registers = [] {
    if constexpr (kMovesRegisters) ptx::give_registers_up_to<kSupplyRegisters>();
  };
  constexpr int kLoaderOfA = kWarpgroups * 4;
  constexpr int kDispatcher = kLoaderOfA + 1;
  constexpr int kRecorder = kLoaderOfA + 2;
  constexpr int kLoaderOfB = kLoaderOfA + 3;
  // The block can do nothing before its first load, whose code therefore comes first.
  if (warp == kLoaderOfA) [[likely]] {
    if (ptx::elect_one()) {
      const bool is_traced = !kConfig.is_plain && arguments.header.trace.blocks != nullptr;
      shared.initialize_barriers(block.blocks, is_traced);
    }
    __syncwarp();
    block.arrive_at_cluster();
    block.arrive_at_start();
    give_up_registers();
    load<true>(block);
  } else if (warp == kLoaderOfB) {
    block.arrive_at_cluster();
    give_up_registers();
    load<false>(block);
  } else {
    if (warp == kDispatcher && ptx::elect_one()) {
      ptx::prefetch_tensor_map(&arguments.maps.a);
      ptx::prefetch_tensor_map(&arguments.maps.b);
      ptx::prefetch_tensor_map(&arguments.maps.c);
    }
    __syncwarp();
    block.arrive_at_cluster();
    shared.copy_header(arguments.header, warp < kLoaderOfA ? warp : warp - 1);
    if (kConfig.is_grouped && warp == kDispatcher) {
      // It may have something to announce before it waits for the kernel before; the multipliers
      // wait for what it announces.
      if (block.stands_alone()) ptx::wait_for_previous_kernel();
      const bool has_first_tile = block.are_rows_cut() && prepare_first_tile(block);
      give_up_registers();
      block.wait_for_start();
      block.wait_for_cluster();
      if (ptx::elect_one()) dispatch(block, has_first_tile);
    } else {
      if (warp > kLoaderOfA) give_up_registers();
      block.wait_for_start();
      block.wait_for_cluster();
      if (!kConfig.is_grouped || warp == kRecorder) {
        ptx::wait_for_previous_kernel();
        ptx::let_next_kernel_start();
      }
      if (warp < kLoaderOfA) {
        if constexpr (kMovesRegisters) ptx::take_registers_up_to<kMultiplyRegisters>();
        multiply(block);
      } else if constexpr (!kConfig.is_plain) {
        if (warp == kDispatcher) {
          if (ptx::elect_one()) dispatch(block, false);
        } else {
          if (shared.header.trace.blocks != nullptr && ptx::elect_one()) record();
        }
      }
    }
  }
}

}  // namespace tessera::cuda
