// The multipliers of a Hopper block, warpgroups of 64 rows of its tile each, or two that take whole
// tiles in turns, so that one stores while the other multiplies: wgmma over the stages, fix-up with
// the tile's other workers, epilogue.
#pragma once

#include <cstdint>
#include <cuda/ptx>

#include "cuda/fixup.cuh"
#include "cuda/pipeline.cuh"
#include "cuda/ptx/cluster_arrive.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/named_barrier.cuh"
#include "cuda/ptx/smem_descriptor.cuh"
#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/ptx/uniform.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/sm90_block.cuh"
#include "cuda/sm90_epilogue.cuh"
#include "cuda/sm90_finish_sums.cuh"
#include "cuda/sm90_meeting.cuh"
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

// Copies of the multipliers' code in a plain kernel. Where all items are whole tiles, the way from
// the last sum to C's dense rows or columns is straight, and begins before the main loop.
enum class WayToC { any, whole_rows, whole_columns };

template <WayToC kWay, Sm90Config kConfig>
__device__ __forceinline__ void multiply_items(const BlockContext<kConfig>& block) {
  namespace cptx = ::cuda::ptx;
  using Input = typename Sm90Input<kConfig.input>::type;
  constexpr OperandTile kA = kConfig.a();
  constexpr OperandTile kB = kConfig.b();
  constexpr bool kInTurns = kConfig.block.in_turns;
  constexpr int kSharers = kConfig.sharers();
  constexpr int kStrips = kConfig.strips();
  constexpr int kColumns = kConfig.block.cols;
  constexpr bool kIsGrouped = kConfig.is_grouped;
  constexpr bool kIsPlain = kConfig.is_plain;
  constexpr bool kIsWhole = kWay != WayToC::any;
  constexpr bool kMeets = kConfig.purpose() == Sm90Purpose::plain && !kIsWhole;
  constexpr bool kFinishes = kConfig.finishes;
  constexpr bool kAlwaysFinishes = kConfig.purpose() == Sm90Purpose::finishing;
  constexpr int kSteps = kSm90BlockK / 16;
  // 16-byte pieces of a partial that a thread has on their way at a time, as registers allow.
  constexpr int kPiecesInFlight = kConfig.sums_per_thread() <= 64 ? 16 : 4;
  constexpr int kTurnBarrier = 4;  // and 5, a warpgroup each; 0 to 3 are taken
  // As registers allow.
  constexpr bool kReadsSlotsAnew = !(kIsGrouped && kColumns == 192);
  constexpr bool kAsksForItem = kIsGrouped || (!kIsPlain && kColumns == 192);
  SharedStorage<kConfig>& shared = block.shared;
  const Sm90Header& header = shared.header;
  const int blocks = block.blocks;
  const int warpgroup = block.warp / 4;
  const int first_lane = static_cast<int>(threadIdx.x) % 32;
  // Some kernels have no register for it outside the main loop.
  constexpr bool kAsksForLane = kIsGrouped || (kFinishes && (kIsPlain || kInTurns));
  const auto lane_of_thread = [&] {
    return kAsksForLane ? ptx::thread_in_block() % 32 : first_lane;
  };

  // Taken apart from the header anew at each use, and so that the compiler does it: registers are
  // scarce.
  const auto own_fixup_space = [&]() -> FixupSpace {
    const int part = static_cast<int>(cptx::get_sreg_cluster_ctarank()) * kSharers +
                     (kInTurns ? 0 : ptx::thread_in_block() / kWarpgroupThreads);
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
  const auto wait_for_warpgroup = [] {
    ptx::barrier_wait<kWarpgroupThreads>(1 + ptx::thread_in_block() / kWarpgroupThreads);
  };
  constexpr int kStripBytes = kWarpgroupRows * kSm90BlockK * kElementBytes;
  using DescriptorA =
      ptx::MatrixDescriptor<kA.swizzle_bytes(), kA.slab_bytes(), kA.descriptor_stride()>;
  using DescriptorB =
      ptx::MatrixDescriptor<kB.swizzle_bytes(), kB.slab_bytes(), kB.descriptor_stride()>;
  const std::uint32_t first_a =
      DescriptorA::low_half(shared.a[0] + (kInTurns ? 0 : warpgroup * kStripBytes));
  const std::uint32_t first_b = DescriptorB::low_half(shared.b[0]);

  float sums[kConfig.sums_per_thread()];
  RingCursor<kConfig.block.stages> stage;

  const auto release = [&](int slot, int lane) {
    if (lane < blocks) ptx::arrive_at_block(&shared.stage_empty[slot], lane);
  };

  // Warpgroups that take items in turns multiply in the order of the items, so that the stages are
  // used in the order in which they are filled. One hands over when its last wgmmas are under way.
  const auto own_turn = [] { return ptx::thread_in_block() / kWarpgroupThreads; };
  const auto is_turn = [&](std::uint32_t item) {
    return ptx::uniform(item + static_cast<std::uint32_t>(own_turn())) % 2 == 0;
  };
  const auto wait_for_turn = [&] {
    ptx::barrier_wait<2 * kWarpgroupThreads>(kTurnBarrier + own_turn());
  };
  const auto give_turn = [&] {
    if constexpr (kInTurns) {
      ptx::barrier_arrive<2 * kWarpgroupThreads>(kTurnBarrier + 1 - own_turn());
    }
  };

  // sums = A·B over the item's iterations, of the first kWidth columns. One stage's wgmmas run
  // while the next is waited for.
  const auto accumulate = [&]<int kWidth>(int iterations) {
    const auto part = [&](int strip) -> auto& {
      return reinterpret_cast<float(&)[kWidth / 2]>(sums[strip * kColumns / 2]);
    };
    const auto hold_parts = [&] {
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) ptx::hold_registers(part(strip));
    };
    const int lane = lane_of_thread();
    int previous = 0;
    for (int i = 0; i < iterations; ++i) {
      wait_until_full(shared.stage_full, stage);
      hold_parts();
      ptx::wgmma_fence();
      const std::uint32_t a = DescriptorA::advanced(first_a, stage.slot * kA.bytes());
      const std::uint32_t b = DescriptorB::advanced(first_b, stage.slot * kB.bytes());
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int strip = 0; strip < kStrips; ++strip) {
          ptx::Wgmma<Input, kWidth, !kA.k_contiguous, !kB.k_contiguous>::multiply(
              part(strip), DescriptorA::at(a, strip * kStripBytes + step * kA.step_bytes()),
              DescriptorB::at(b, step * kB.step_bytes()), kInTurns || i > 0 || step > 0);
        }
      }
      ptx::wgmma_commit();
      hold_parts();
      ptx::wgmma_wait<1>();
      if (i > 0) release(previous, lane);
      previous = stage.slot;
      stage.advance();
    }
    give_turn();
    ptx::wgmma_wait<0>();
    hold_parts();
    if (iterations > 0) release(previous, lane);
  };

  // No wider than the columns that the tile has. Most tiles are wide, and each width's code lies
  // where the instruction cache has to be asked again: the widest is found first.
  const auto accumulate_columns = [&]<int kWidth>(auto self, int columns, int iterations) -> void {
    constexpr int kNarrower = kWidth - kConfig.multiply_step();
    if constexpr (kNarrower > 0) {
      if (columns <= kNarrower) {
        self.template operator()<kNarrower>(self, columns, iterations);
        return;
      }
    }
    accumulate.template operator()<kWidth>(iterations);
  };

  // In the block's tile, of a warp's first strip.
  const auto row_of_warp = [](int warp) { return (kInTurns ? warp % 4 : warp) * kWarpRows; };

  // Of the previous C, while the tile is multiplied, where it does not come by TMA.
  const auto ask_for_c = [&](const WorkItem& item) {
    const BlockTask task = block.task_of(header, item);
    const int thread = ptx::thread_in_block();
    const auto place = PlaceInCluster::of(header.shares);
    const std::int64_t tile_row = item.tile_m * header.shares.cluster_rows + place.row;
    const std::int64_t tile_col = item.tile_n * header.shares.cluster_cols + place.col;
#pragma unroll 1
    for (int strip = 0; strip < kStrips; ++strip) {
      prefetch_c<kConfig>(
          header.epilogue, task.operands,
          tile_row * kConfig.block.rows + row_of_warp(thread / 32) + strip * kWarpgroupRows,
          tile_col * kConfig.block.cols, thread % 32);
    }
  };

  const auto tile_of = [&](const WorkItem& item) -> WarpTile {
    // Its own, not the kernel's: addresses are not kept across the main loop.
    const int warp = ptx::thread_in_block() / 32;
    const auto place = PlaceInCluster::of(header.shares);
    const std::int64_t tile_row = item.tile_m * header.shares.cluster_rows + place.row;
    return {.row = block.inside(tile_row * kConfig.c_rows(), header.last_row) +
                   (kConfig.is_gated ? 0 : row_of_warp(warp)),
            .col = block.task_in_ring(item).columns.first,
            .staging = shared.staging[warp],
            .lane = ptx::thread_in_block() % 32,
            .warp = warp % 4};
  };

  const auto alpha_of_product = [&] { return static_cast<float>(header.epilogue.alpha); };

  // The tile before may have left by TMA, which still reads the staging memory.
  const auto wait_for_staging = [&](int lane) {
    if (lane == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
    wait_for_warpgroup();
  };
  const auto of_warpgroup = [&](WarpTile of_warp) {
    of_warp.row -= of_warp.warp * kWarpRows;
    of_warp.staging = shared.staging[ptx::thread_in_block() / kWarpgroupThreads * 4];
    return of_warp;
  };
  // Calls `use` with the boxes by which a tile leaves.
  const auto with_boxes = [&](const BlockTask& task, const WarpTile& tile, auto use) {
    const auto with = [&]<StoreBox kBox>() {
      const int warp = ptx::thread_in_block() / 32;
      const int first = kBox.of_warpgroup() ? warp / 4 * 4 : warp;
      use(BoxesOfTile<kConfig, kBox>{.map = &block.map_of_c(task),
                                     .tile = kBox.of_warpgroup() ? of_warpgroup(tile) : tile,
                                     .reads = header.epilogue.beta != 0,
                                     .before = shared.before[first],
                                     .parities = shared.before_parities[first]});
    };
    if (header.epilogue.c_type == ElementType::f32) {
      if (header.stores_dense_rows) {
        with.template operator()<kConfig.store_box_f32(true)>();
      } else {
        with.template operator()<kConfig.store_box_f32(false)>();
      }
    } else if (header.stores_dense_rows) {
      with.template operator()<kConfig.store_box(true)>();
    } else {
      with.template operator()<kConfig.store_box(false)>();
    }
  };
  // What a tile's epilogue has to wait for, asked for as early as can be.
  const auto prepare_finish = [&](const WorkItem& item, BiasShare<kConfig>& bias) {
    const BlockTask task = block.task_in_ring(item);
    const WarpTile tile = tile_of(item);
    if constexpr (!kInTurns) bias.load(header.epilogue, task.operands, tile);
    if (header.epilogue.beta == 0 || tile.lane != 0) return;
    block.see_tensor_map(block.map_of_c(task));
    with_boxes(task, tile, [&](const auto& boxes) {
      if (boxes.kBox.of_warpgroup() && tile.warp != 0) return;
      // The tile before has left from there.
      cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
      boxes.load_first();
    });
  };
  const auto finish_sums = [&](const WorkItem& item, BiasShare<kConfig>& bias) {
    const BlockTask task = block.task_in_ring(item);
    const WarpTile tile = tile_of(item);
    const int warpgroup = ptx::thread_in_block() / kWarpgroupThreads;
    float* const staged = shared.bias[warpgroup];
    const EpilogueArguments& epilogue = header.epilogue;
    if (tile.lane == 0) block.see_tensor_map(block.map_of_c(task));
    // In turns nobody waits for an epilogue, and no register is left to ask earlier.
    if constexpr (kInTurns) bias.load(epilogue, task.operands, tile);
    wait_for_staging(tile.lane);
    bias.template stage<Input>(staged, epilogue, tile);
    wait_for_warpgroup();
    SumScale scale{.alpha = alpha_of_product(), .of_columns = staged + tile.lane % 4 * 2};
    const float* left = epilogue.bias == BiasAxis::none ? nullptr : staged;
    if (is_heavy(epilogue.activation)) {
      if (epilogue.bias == BiasAxis::column) {
        activate_sums<true, kConfig>(sums, scale, left, tile, epilogue.activation);
      } else {
        activate_sums<false, kConfig>(sums, scale, left, tile, epilogue.activation);
      }
      scale = {};
      left = nullptr;
    }
    with_boxes(task, tile, [&](const auto& boxes) {
      store_boxes<Input>(sums, scale, left, epilogue, boxes, tile, 1 + warpgroup);
    });
  };
  const auto finish = [&](const WorkItem& item, WarpTile tile, float alpha) {
    const BlockTask task = block.task_in_ring(item);
    const std::int64_t columns = task.columns.count;
    const int warp = ptx::thread_in_block() / 32;
    if constexpr (kConfig.is_gated) {
      tile.staging = shared.staging[warp - tile.warp];
      if (tile.lane == 0 && tile.warp == 0) block.see_tensor_map(block.map_of_c(task));
      store_gated<Input, kConfig>(sums, header.epilogue.activation, &block.map_of_c(task), tile,
                                  warp / 4, columns);
    } else {
      if (!kIsPlain && !task.store_by_tma) {
        wait_for_staging(tile.lane);
        store_by_lines<kConfig>(sums, header.epilogue, task.operands, tile,
                                kIsGrouped ? tile.col + columns : task.operands.n);
        return;
      }
      // Of each warp, the one lane that may store.
      if (tile.lane == 0) block.see_tensor_map(block.map_of_c(task));
      if (kIsWhole ? kWay == WayToC::whole_rows : header.stores_dense_rows) {
        store_rows_by_tma<Input, kConfig>(sums, alpha, &block.map_of_c(task), tile, columns);
      } else {
        store_columns_by_tma<Input, kConfig>(sums, alpha, &block.map_of_c(task), of_warpgroup(tile),
                                             1 + warp / 4, columns);
        if constexpr (kIsGrouped) {
          const BlockTask again = block.task_in_ring(item);
          store_last_columns<Input, kConfig>(block.c_of(again), of_warpgroup(tile_of(item)),
                                             again.columns.count);
        }
      }
    }
  };

  // The fix-up of a tile whose peers meet, up to C: the worker's only item.
  constexpr int kPieces = kConfig.sums_per_thread() / FixupPiece<float>::kValues;  // of a thread
  const auto publish_sums = [&](const WorkItem& item) {
    auto* const slot = static_cast<FixupPiece<float>*>(own_fixup_space().slots) +
                       item.slot(item.peer) * (kPieces * kWarpgroupThreads);
    publish(slot + ptx::thread_in_block() % kWarpgroupThreads, sums);
    wait_for_warpgroup();
  };
  const auto finish_together = [&](const WorkItem& item) {
    const WarpTile tile = tile_of(item);
    const bool is_first = tile.warp == 0 && tile.lane == 0;
    FixupSeat& seat = shared.seats[ptx::thread_in_block() / kWarpgroupThreads];
    if (is_first) seat = meet(own_fixup_space().counters + item.counter, item.peers);
    wait_for_warpgroup();
    const auto store = [&](int piece, const FixupPiece<float>& sums_of_piece) {
      constexpr int kPiecesOfStrip = kColumns / 8;
      const int strip = piece % kPieces / kPiecesOfStrip;
      const int row = (piece / kPieces - tile.warp) * kWarpRows;
      store_piece<kConfig.input>(sums_of_piece, alpha_of_product(), header.operands,
                                 tile.row + strip * kWarpgroupRows + row,
                                 tile.col + piece % kPiecesOfStrip * 8, tile.lane);
    };
    if (seat.share.parts > 0) {
      add_pieces<kPieces>(static_cast<const FixupPiece<float>*>(own_fixup_space().slots), item,
                          seat.share.of_warps(4, tile.warp), store);
    }
    if (is_first) leave(own_fixup_space().counters + item.counter, seat.readers);
  };

  // The first turn is the first warpgroup's.
  if (kInTurns && own_turn() == 1) give_turn();
  const auto items = [&] {
    if constexpr (kIsPlain) {
      return OwnItems(header, block.worker);
    } else {
      return AnnouncedItems(shared);
    }
  }();
  auto at = items.begin();
  for (; at != items.end(); ++at) {
    const WorkItem& item = *at;
    int iterations = 0;
    if constexpr (kInTurns) {
      // Found before the turn, as all that can be.
      iterations =
          block.task_in_ring(item).multiplies ? ptx::uniform(item.k_end - item.k_begin) : 0;
      const std::uint32_t first = at.add_stages(iterations);
      if (!is_turn(at.passed())) continue;
      stage = RingCursor<kConfig.block.stages>::after(first);
    }
    ptx::forget_registers(sums);
    const BlockTask task = block.task_in_ring(item);
    BiasShare<kConfig> bias;
    if constexpr (kFinishes) {
      if (item.is_whole_tile()) {
        if (kAlwaysFinishes || header.finishes_sums) {
          prepare_finish(item, bias);
        } else if (header.epilogue.beta != 0) {
          ask_for_c(item);
        }
      }
    }
    WarpTile tile;
    float alpha = 1;
    if constexpr (kIsWhole) {
      tile = tile_of(item);
      alpha = alpha_of_product();
    }
    // In turns the sums begin with zeros, whether multiplied or not: with another way to zeros
    // ptxas 13.0 serialises the wgmmas. It takes no time, for the other warpgroup's wgmmas are
    // under way.
    if constexpr (kInTurns) {
#pragma unroll
      for (float& sum : sums) sum = 0;
      // Or the compiler would set them when the turn has come; alone it has no registers for that.
      if constexpr (kIsGrouped) ptx::hold_registers(sums);
      wait_for_turn();
    }
    if (task.multiplies) {
      if constexpr (!kInTurns) iterations = ptx::uniform(item.k_end - item.k_begin);
      if constexpr (kIsGrouped) {
        accumulate_columns.template operator()<kColumns>(accumulate_columns, task.columns.count,
                                                         iterations);
      } else {
        accumulate.template operator()<kColumns>(iterations);
      }
    } else {
      give_turn();
      if constexpr (!kInTurns) {
#pragma unroll
        for (float& sum : sums) sum = 0;
      }
    }
    // Asked for anew, the item's address is not kept across the main loop.
    const auto again = [&]() -> const WorkItem& {
      if constexpr (kAsksForItem) {
        return *at;
      } else {
        return item;
      }
    };
    if constexpr (kMeets) {
      if (header.peers_meet) {
        publish_sums(item);
        break;
      }
    }
    if (kIsWhole || again().is_whole_tile() ||
        fix_up<kWarpgroupThreads, kPiecesInFlight>(again, own_fixup_space, sums,
                                                   ptx::thread_in_block() % kWarpgroupThreads,
                                                   any_of_warpgroup)) {
      // The first item may have come before its group's record.
      if constexpr (kIsGrouped) ptx::wait_for_previous_kernel();
      if constexpr (!kIsWhole) {
        tile = tile_of(again());
        alpha = alpha_of_product();
      }
      if constexpr (kFinishes) {
        if (kAlwaysFinishes || header.finishes_sums) {
          if (!again().is_whole_tile()) prepare_finish(again(), bias);
          finish_sums(again(), bias);
          continue;
        }
      }
      finish(again(), tile, alpha);
    }
  }
  if constexpr (kMeets) {
    if (at != items.end()) {
      finish_together(*at);
      ++at;
    }
  }
  // The turn that was given for an item that there is not.
  if constexpr (kInTurns) {
    if (is_turn(at.passed())) wait_for_turn();
  }
  // Shared memory must outlive the stores that read it.
  if (lane_of_thread() == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
}

template <Sm90Config kConfig>
__device__ __forceinline__ void multiply(const BlockContext<kConfig>& block) {
  if constexpr (kConfig.purpose() == Sm90Purpose::plain) {
    if (block.header().units.splits == 1) {
      if (block.header().stores_dense_rows) {
        multiply_items<WayToC::whole_rows>(block);
      } else {
        multiply_items<WayToC::whole_columns>(block);
      }
      return;
    }
  }
  multiply_items<WayToC::any>(block);
}

}  // namespace tessera::cuda
