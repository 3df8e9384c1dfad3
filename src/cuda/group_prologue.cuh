// The small kernel before the product's where sizes stand in device memory. Its first block makes
// the line of all groups' iterations (schedule/group_line.hpp) and the partition of it; the others
// make each group's record, as the product's kernel wants it. Nobody waits for the host.
//
// Wrong sizes leave a line without tiles, so that nothing is computed, and a word in the workspace.
#pragma once

#include <cstdint>

#include "cuda/device_groups.hpp"
#include "cuda/kernel_arguments.hpp"
#include "cuda/workspace.hpp"
#include "schedule/first_items.hpp"
#include "schedule/group_line.hpp"
#include "schedule/last_at_or_before.hpp"
#include "schedule/partition.hpp"

namespace tessera::cuda {

inline constexpr int kPrologueThreads = 256;
inline constexpr int kPrologueWarps = kPrologueThreads / 32;
// Blocks that make records; more would start later than these are done.
inline constexpr int kMostRecordBlocks = 64;

struct GroupPrologue {
  DeviceGroups groups;
  LineTile tile;
  Schedule schedule;
  bool claims_units = false;  // the product's workers claim theirs
  GroupExtent* extents = nullptr;
  DeviceLine* line = nullptr;
  // Each worker's first item, or one without peers where it has none that is a whole tile. Null
  // where workers find them.
  WorkItem* first_items = nullptr;
  FoundFault* fault = nullptr;

  __device__ Partition partition(const IterationSpace& space) const {
    return claims_units ? make_claimed_partition(schedule, space) : make_partition(schedule, space);
  }
};

// One block for the line, the others for records by one warp each.
inline unsigned prologue_blocks(std::int32_t groups, int groups_per_block) {
  const int blocks = (groups + groups_per_block - 1) / groups_per_block;
  return 1 + static_cast<unsigned>(blocks < kMostRecordBlocks ? blocks : kMostRecordBlocks);
}

namespace prologue_detail {

__device__ inline LineTotals shuffle_up(const LineTotals& totals, int lanes) {
  return {__shfl_up_sync(0xffffffff, totals.tiles, lanes),
          __shfl_up_sync(0xffffffff, totals.iterations, lanes)};
}

// The totals of all threads before this one.
__device__ inline LineTotals totals_before(const LineTotals& own) {
  __shared__ LineTotals of_warp[kPrologueWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  LineTotals through = own;
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2) {
    const LineTotals other = shuffle_up(through, lanes);
    if (lane >= lanes) through = other + through;
  }
  if (lane == 31) of_warp[warp] = through;
  __syncthreads();
  LineTotals before = shuffle_up(through, 1);
  if (lane == 0) before = {};
  for (int w = 0; w < warp; ++w) before = of_warp[w] + before;
  return before;
}

// The group of a worker's first tile. `firsts` are the extents of the threads' first groups.
__device__ inline std::int32_t group_of_first(const GroupPrologue& prologue, std::int32_t groups,
                                              const GroupExtent (&firsts)[kPrologueThreads],
                                              std::int32_t worker) {
  const std::int32_t lanes = groups < kPrologueThreads ? groups : kPrologueThreads;
  const std::int32_t lane = last_at_or_before<&GroupExtent::first_tile>(firsts, lanes, worker);
  const LaneGroups run = groups_of_lane(groups, kPrologueThreads, lane);
  std::int32_t group = run.begin;
  while (group + 1 < run.end && prologue.extents[group + 1].first_tile <= worker) ++group;
  return group;
}

// What workers would otherwise look for in the extents, one cache miss after another.
__device__ inline void write_first_items(const GroupPrologue& prologue, const IterationSpace& space,
                                         const Partition& partition,
                                         const GroupExtent (&firsts)[kPrologueThreads]) {
  const std::int64_t given = given_first_items(partition, space.tiles);
  for (std::int32_t worker = static_cast<std::int32_t>(threadIdx.x); worker < partition.workers;
       worker += kPrologueThreads) {
    const std::int32_t group =
        worker < given ? group_of_first(prologue, space.group_count, firsts, worker) : 0;
    prologue.first_items[worker] = first_item(space, partition, group, worker);
  }
}

}  // namespace prologue_detail

// By all threads of one block. fault_of(group) says what is wrong with a group.
template <bool kFindsFirstItems, class FaultOf>
__device__ void make_line(const GroupPrologue& prologue, FaultOf fault_of) {
  __shared__ unsigned long long first_fault;
  __shared__ LineTotals totals;
  __shared__ GroupExtent firsts[kPrologueThreads];
  constexpr unsigned long long kNoFault = ~0ULL;
  const GroupSizes& sizes = prologue.groups.sizes;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const LaneGroups run = groups_of_lane(sizes.groups, kPrologueThreads, thread);
  if (thread == 0) first_fault = kNoFault;
  __syncthreads();

  for (std::int32_t group = run.begin; group < run.end; ++group) {
    const SizeFault fault = fault_of(group);
    if (fault == SizeFault::none) continue;
    atomicMin(&first_fault, static_cast<unsigned long long>(group) << 32 |
                                static_cast<unsigned long long>(fault));
    break;
  }
  const LineTotals before = prologue_detail::totals_before(line_totals(sizes, prologue.tile, run));
  const LineTotals after = write_extents(sizes, prologue.tile, run, before, prologue.extents);
  if (thread == kPrologueThreads - 1) totals = after;
  if constexpr (kFindsFirstItems) {
    if (run.begin < run.end) firsts[thread] = extent_of(sizes, prologue.tile, run.begin, before);
  }
  __syncthreads();

  const bool is_wrong = first_fault != kNoFault;
  const IterationSpace space{prologue.extents, sizes.groups, is_wrong ? 0 : totals.tiles,
                             is_wrong ? 0 : totals.iterations};
  const bool finds = kFindsFirstItems && prologue.first_items != nullptr;
  if (!finds && thread != 0) return;
  const Partition partition = prologue.partition(space);
  if constexpr (kFindsFirstItems) {
    if (finds) prologue_detail::write_first_items(prologue, space, partition, firsts);
  }
  if (thread != 0) return;
  // The first that nobody has asked about yet stays.
  if (is_wrong && prologue.fault->fault == SizeFault::none) {
    *prologue.fault = {static_cast<SizeFault>(first_fault & 0xffffffff),
                       static_cast<std::int32_t>(first_fault >> 32)};
  }
  *prologue.line = {partition, space.tiles, space.iterations, prologue.schedule.workers};
}

}  // namespace tessera::cuda
