// The loaders of a Hopper block, a thread each for A and B: they bring an item's operands into the
// ring of stages (pipeline.cuh) by TMA, ahead across items. Blocks of the cluster that need the
// same rows or columns load a share each and multicast it.
#pragma once

#include <cstdint>
#include <cuda/ptx>

#include "cuda/pipeline.cuh"
#include "cuda/ptx/elect.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/sm90_block.cuh"

namespace tessera::cuda {

// A block's share of an operand's tile, and the blocks of the cluster that need the same.
struct LoadShare {
  int first;  // line of each box
  bool multicasts;
  std::uint16_t blocks;

  // A box whose first element is (inner, outer) of the operand.
  __device__ void load(const CUtensorMap& map, std::byte* to, int inner, int outer,
                       Barrier& full) const {
    namespace cptx = ::cuda::ptx;
    const std::int32_t at[2] = {inner, outer};
    if (multicasts) {
      cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, to, &map, at, &full,
                                 blocks);
    } else {
      cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, to, &map, at, &full);
    }
  }

  // The share of a whole tile; `outside` is the first row of A or column of B.
  template <OperandTile kOperand>
  __device__ void load_tile(const CUtensorMap& map, std::byte* stage, int outside, int k,
                            Barrier& full) const {
    constexpr bool kAlongK = kOperand.k_contiguous;
    const int inner = kAlongK ? k : outside;
    const int outer = (kAlongK ? outside : k) + first;
#pragma unroll
    for (int slab = 0; slab < kOperand.slabs(); ++slab) {
      load(map, stage + slab * kOperand.slab_bytes() + first * kOperand.swizzle_bytes(),
           inner + slab * kOperand.box_inner(), outer, full);
    }
  }
};

// By a whole warp, of which one thread loads A or B. All that can be known beforehand is found
// before the waiting.
template <bool kIsA, Sm90Config kConfig>
__device__ __forceinline__ void load(const BlockContext<kConfig>& block) {
  namespace cptx = ::cuda::ptx;
  using Storage = SharedStorage<kConfig>;
  constexpr OperandTile kA = kConfig.a();
  constexpr OperandTile kB = kConfig.b();
  constexpr int kStages = kConfig.block.stages;
  constexpr bool kIsGrouped = kConfig.is_grouped;
  constexpr bool kIsPlain = kConfig.is_plain;
  constexpr bool kLoadsBoxes = kConfig.b().box_lines > 0;
  constexpr int kLoadStep = kConfig.load_step();
  constexpr int kRowsOfC = kConfig.c_rows();
  Storage& shared = block.shared;
  const Sm90Header& own = block.arguments.header;
  const Sm90Shares& shares = own.shares;
  const auto place = PlaceInCluster::of(shares);
  const LoadShare share =
      kIsA ? LoadShare{place.col * shares.a_lines, shares.cluster_cols > 1,
                       static_cast<std::uint16_t>(shares.a_ranks << place.row)}
           : LoadShare{
                 place.row * shares.b_lines, shares.cluster_rows > 1,
                 static_cast<std::uint16_t>(shares.b_ranks << (place.col << shares.rows_log2))};
  const auto expect = [&](Barrier& full, int bytes) {
    cptx::mbarrier_arrive_expect_tx(cptx::sem_release, cptx::scope_cta, cptx::space_shared, &full,
                                    bytes);
  };
  // The gated pair's A is half gate and half up.
  const auto load_a = [&](const Sm90Maps& maps, int slot, int row, int k) {
    Barrier& full = shared.stage_full[slot];
    expect(full, kA.bytes());
    if constexpr (kConfig.is_gated) {
      constexpr OperandTile kHalf = {
          .extent = kRowsOfC, .block_k = kSm90BlockK, .k_contiguous = kA.k_contiguous};
      share.load_tile<kHalf>(maps.a, shared.a[slot], row, k, full);
      share.load_tile<kHalf>(maps.up, shared.a[slot] + kHalf.bytes(), row, k, full);
    } else {
      share.load_tile<kA>(maps.a, shared.a[slot], row, k, full);
    }
  };
  // In groups B comes in boxes, as many as have columns of C; the blocks that need the same take
  // turns.
  const auto load_b = [&](const Sm90Maps& maps, int slot, int col, int k, int boxes) {
    Barrier& full = shared.stage_full[slot];
    if constexpr (!kLoadsBoxes) {
      expect(full, kB.bytes());
      share.load_tile<kB>(maps.b, shared.b[slot], col, k, full);
    } else {
      constexpr int kBoxBytes = kB.box_outer() * kB.swizzle_bytes();
      expect(full, boxes * kBoxBytes);
      for (int box = place.row; box < boxes; box += shares.cluster_rows) {
        share.load(maps.b, shared.b[slot] + box * kBoxBytes, k, col + box * kLoadStep, full);
      }
    }
  };

  struct Run {  // the part of an item that is loaded
    const Sm90Maps* maps = nullptr;
    int outside = 0;
    int k = 0;
    int end = 0;
    int claims_at = 0;
    int boxes = 0;
  };
  const auto run_of = [&](const WorkItem& item, const Sm90Maps& maps, bool multiplies,
                          const Columns& columns) -> Run {
    if (!multiplies) return {};
    Run run{.maps = &maps,
            .outside = block.inside((item.tile_m * shares.cluster_rows + place.row) * kRowsOfC,
                                    own.last_row),
            .k = item.k_begin * kSm90BlockK,
            .end = item.k_end * kSm90BlockK,
            .claims_at = max(item.k_begin, item.k_end - kClaimIterations) * kSm90BlockK};
    if constexpr (!kIsA) {
      run.outside = columns.first;
      run.boxes = columns.count <= 0 ? 0 : (columns.count + kLoadStep - 1) / kLoadStep;
    }
    return run;
  };
  const auto run_of_task = [&](const WorkItem& item) -> Run {
    const BlockTask task = block.task_of(own, item);
    return run_of(item, task.maps, task.multiplies, task.columns);
  };
  // Of the item that the ring says all about.
  const auto run_of_view = [&](const WorkItem& item, const GroupView& view) -> Run {
    Run run = run_of(item, block.maps_of(item.group), view.multiplies, view.columns);
    if constexpr (!kIsA) {
      run.outside += view.first_b;
    } else if constexpr (kConfig.a_k_contiguous) {
      run.outside += view.first_a;
    } else {
      run.k += view.first_a;
      run.end += view.first_a;
      run.claims_at += view.first_a;
    }
    return run;
  };

  WorkItem item;
  Run run;
  bool found = block.has_first_item();
  if (found) {
    item = block.first_item();
    run = run_of_task(item);
  }
  if constexpr (!kIsA) block.wait_for_start();
  block.wait_for_cluster();
  if constexpr (!kIsGrouped) ptx::wait_for_previous_kernel();  // the dispatcher does
  if (!ptx::elect_one()) return;

  RingCursor<kStages> stage;
  ItemReader<Storage> items(shared);
  const OwnItems own_items(own, block.worker);
  auto own_item = own_items.begin();
  const auto next = [&] {
    if constexpr (kIsPlain) {
      found = ++own_item != own_items.end();
      if (found) item = *own_item;
    } else {
      found = items.read(item);
    }
    if (!found) return;
    if constexpr (kIsGrouped) {
      run = run_of_view(item, items.view());
    } else {
      run = run_of_task(item);
    }
  };
  if (!kIsPlain && !found) {
    if (!kIsGrouped && block.was_given_first_item()) {
      found = true;
      item = own.first_items[block.worker];
      run = run_of_task(item);
    } else {
      next();
    }
  }
  std::int32_t seen = -1;  // the group whose tensor maps were last looked at
  while (found) {
    if (run.k < run.end && item.group != seen && !(kIsGrouped && block.are_rows_cut())) {
      if constexpr (kIsA) {
        block.see_tensor_map(run.maps->a);
        if constexpr (kConfig.is_gated) block.see_tensor_map(run.maps->up);
      } else {
        block.see_tensor_map(run.maps->b);
      }
      seen = item.group;
    }
    if (kIsGrouped && kIsA && run.k >= run.end) arrive(shared.claims.wanted);
    for (; run.k < run.end; run.k += kSm90BlockK) {
      if (kIsGrouped && kIsA && run.k == run.claims_at) arrive(shared.claims.wanted);
      wait_until_empty(shared.stage_empty, stage);
      if constexpr (kIsA) {
        load_a(*run.maps, stage.slot, run.outside, run.k);
      } else {
        load_b(*run.maps, stage.slot, run.outside, run.k, run.boxes);
      }
      stage.advance();
    }
    if constexpr (!kIsPlain) items.release();
    next();
  }
  // A block's shared memory must outlive its neighbours' arrivals; what they multicast has been
  // multiplied.
  if (kIsA && block.blocks > 1) {
    for (int i = 0; i < kStages; ++i) {
      wait_until_empty(shared.stage_empty, stage);
      stage.advance();
    }
  }
}

}  // namespace tessera::cuda
