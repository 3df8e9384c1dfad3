// Where groups are cut rows, every tile is found from the offsets, of which each block has a table
// in shared memory: the block's first stages are on their way before the prologue has made the
// first record, and no later tile waits for one. Wrong offsets have no tiles.
#pragma once

#include <cstdint>

#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/sm90_block.cuh"
#include "schedule/cut_rows.hpp"

namespace tessera::cuda {

// Fills `all`, which has a place more than there are groups. By a whole warp; a lane has the groups
// from `each` times its number on. False, and nothing is written, where offsets are wrong.
__device__ inline bool find_cut_groups(const CutRows& cut, CutGroup* all) {
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
  if (__any_sync(kAll, is_wrong)) return false;
  std::int32_t through = across;
#pragma unroll
  for (int lanes = 1; lanes < CutRows::kLanes; lanes *= 2) {
    const std::int32_t other = __shfl_up_sync(kAll, through, lanes);
    if (lane >= lanes) through += other;
  }

  CutGroup group{cut.grid_m * (through - across), begin};
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i >= each) break;
    if (first + i < cut.groups) all[first + i] = group;
    group.first_tile += cut.grid_m * cut.tiles_across(ends[i] - group.first_row);
    group.first_row = ends[i];
  }
  if (lane == CutRows::kLanes - 1) all[cut.groups] = group;
  __syncwarp();
  return true;
}

struct CutTile {
  WorkItem item;
  GroupView view;
};

// One of the worker's tiles, and the block's columns of it.
template <Sm90Config kConfig>
__device__ CutTile cut_tile(const BlockContext<kConfig>& block, std::int32_t tile) {
  const CutRows& cut = block.arguments.cut;
  const Sm90Shares& shares = block.arguments.header.shares;
  const CutGroup* const all = block.shared.cut_groups;
  const std::int32_t group = cut.group_of_tile(all, tile);
  const std::int32_t rows = all[group + 1].first_row - all[group].first_row;
  const std::int32_t across = cut.tiles_across(rows);
  CutTile found;
  found.item = cut.item(group, tile - all[group].first_tile, across);

  const GroupColumns columns =
      block.arguments.column_steps.share(rows, across * shares.cluster_cols);
  const int col = found.item.tile_n * shares.cluster_cols + PlaceInCluster::of(shares).col;
  GroupView& view = found.view;
  view.columns.first = columns.first(col);
  view.columns.count = min(rows - view.columns.first, columns.most(col));
  view.store_by_tma = cut.stores_by_tma;
  view.first_a = group * cut.lines_of_group;
  (block.stands_alone() ? view.columns.first : view.first_b) += all[group].first_row;
  return found;
}

// By one thread of all blocks. The first fault that nobody has asked about yet stays.
template <Sm90Config kConfig>
__device__ void tell_of_fault(const BlockContext<kConfig>& block) {
  if (blockIdx.x != 0 || ptx::thread_in_block() % CutRows::kLanes != 0) return;
  const CutRows& cut = block.arguments.cut;
  const GroupSizes sizes{.source = SizeSource::row_segments,
                         .has_ends_only = cut.has_ends_only,
                         .groups = cut.groups,
                         .bound_m = cut.rows,
                         .values = cut.offsets};
  FoundFault& found = *block.arguments.header.fault;
  for (std::int32_t group = 0; group < cut.groups && found.fault == SizeFault::none; ++group) {
    found = {sizes.fault(group), group};
  }
}

// Writes the worker's first tile to where the dispatcher announces the first item, by its whole
// warp. False where there is none.
template <Sm90Config kConfig>
__device__ bool prepare_first_tile(const BlockContext<kConfig>& block) {
  const CutRows& cut = block.arguments.cut;
  CutGroup* const all = block.shared.cut_groups;
  if (!find_cut_groups(cut, all)) {
    if (block.stands_alone()) tell_of_fault(block);
    return false;
  }
  if (block.worker >= cut.whole_tiles(all)) return false;
  if (ptx::thread_in_block() % CutRows::kLanes == 0) {
    const CutTile first = cut_tile(block, block.worker);
    block.shared.items[0] = first.item;
    block.shared.views[0] = first.view;
  }
  return true;
}

}  // namespace tessera::cuda
