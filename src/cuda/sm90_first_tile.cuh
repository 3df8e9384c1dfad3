// Where groups are cut rows, a worker's first tile, found from the offsets by one warp of each
// block while the prologue still makes the groups' records: the block's first stages are on their
// way before the first record is there. Wrong offsets have no first tile; the prologue tells the
// caller.
#pragma once

#include <cstdint>

#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/sm90_block.cuh"
#include "schedule/cut_rows.hpp"

namespace tessera::cuda {

struct FirstTile {
  std::int32_t group = -1;  // none where below 0
  std::int32_t tile = 0;    // of the group
  std::int32_t first_row = 0;
  std::int32_t rows = 0;
};

// By a whole warp, the same for all lanes. A lane has the groups from `each` times its number on.
__device__ inline FirstTile first_tile(const CutRows& cut, std::int32_t worker) {
  constexpr unsigned kAll = 0xffffffff;
  constexpr int kMost = CutRows::kGroupsPerLane;
  const int lane = ptx::thread_in_block() % CutRows::kLanes;
  const int each = (cut.groups + CutRows::kLanes - 1) / CutRows::kLanes;
  const int first = lane * each;
  const auto* const words = static_cast<const std::int32_t*>(cut.offsets.data);
  const int wide = cut.offsets.is_wide ? 1 : 0;

  // Past the L1 cache, since the kernel that wrote them is none that this one depends on directly.
  // What does not fit 31 bits is below 0 here.
  const auto bound = [&](int i) -> std::int32_t {
    const int at = cut.has_ends_only ? i - 1 : i;
    if (at < 0) return 0;
    const std::int32_t low = __ldcg(words + (at << wide));
    return wide != 0 && __ldcg(words + 2 * at + 1) != 0 ? -1 : low;
  };
  std::int32_t ends[kMost];
  const std::int32_t begin = bound(min(first, cut.groups));
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i >= each) break;
    ends[i] = bound(min(first + i + 1, cut.groups));
  }

  bool is_wrong = begin < 0;
  std::int32_t across = 0;
  std::int32_t row = begin;
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i >= each) break;
    is_wrong |= ends[i] < row || ends[i] > cut.rows;
    across += cut.tiles_across(ends[i] - row);
    row = ends[i];
  }
  if (__any_sync(kAll, is_wrong)) return {};
  std::int32_t through = across;
#pragma unroll
  for (int lanes = 1; lanes < CutRows::kLanes; lanes *= 2) {
    const std::int32_t other = __shfl_up_sync(kAll, through, lanes);
    if (lane >= lanes) through += other;
  }
  const std::int32_t all = __shfl_sync(kAll, through, CutRows::kLanes - 1);
  if (worker >= cut.grid_m * all - cut.held_back) return {};
  const int owner = __ffs(static_cast<int>(__ballot_sync(kAll, worker < cut.grid_m * through))) - 1;

  FirstTile found;
  found.tile = worker - cut.grid_m * (through - across);
  row = begin;
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i >= each) break;
    const std::int32_t tiles = cut.grid_m * cut.tiles_across(ends[i] - row);
    if (found.group < 0) {
      if (found.tile < tiles) {
        found.group = first + i;
        found.first_row = row;
        found.rows = ends[i] - row;
      } else {
        found.tile -= tiles;
      }
    }
    row = ends[i];
  }
  return {__shfl_sync(kAll, found.group, owner), __shfl_sync(kAll, found.tile, owner),
          __shfl_sync(kAll, found.first_row, owner), __shfl_sync(kAll, found.rows, owner)};
}

// Writes the worker's first item and the block's columns of it to where the dispatcher announces
// the first one, by its whole warp. Returns its group, below 0 where there is none.
template <Sm90Config kConfig>
__device__ std::int32_t prepare_first_item(const BlockContext<kConfig>& block) {
  constexpr int kLoadStep = kConfig.load_step();
  constexpr int kStepsOfBlock = kConfig.block.cols / kLoadStep;
  const CutRows& cut = block.arguments.cut;
  const Sm90Shares& shares = block.arguments.header.shares;
  const FirstTile tile = first_tile(cut, block.worker);
  if (tile.group < 0 || ptx::thread_in_block() % CutRows::kLanes != 0) return tile.group;
  const std::int32_t across = cut.tiles_across(tile.rows);
  const WorkItem item = cut.item(tile.group, tile.tile, across);
  block.shared.items[0] = item;

  const std::int32_t steps = (tile.rows + kLoadStep - 1) / kLoadStep;
  const std::int32_t blocks = across * shares.cluster_cols;
  GroupColumns columns;
#pragma unroll
  for (int i = 1; i <= kStepsOfBlock; ++i) columns.steps += steps >= i * blocks ? 1 : 0;
  columns.wider = steps - columns.steps * blocks;
  const int col = item.tile_n * shares.cluster_cols + PlaceInCluster::of(shares).col;
  GroupView view;
  view.columns.first = columns.first_step(col) * kLoadStep;
  view.columns.count = min(tile.rows - view.columns.first, columns.steps_of(col) * kLoadStep);
  view.store_by_tma = cut.stores_by_tma;
  view.first_a = tile.group * cut.lines_of_group;
  view.first_b = tile.first_row;
  block.shared.views[0] = view;
  return tile.group;
}

}  // namespace tessera::cuda
