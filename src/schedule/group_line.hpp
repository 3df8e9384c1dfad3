// The iteration space of sizes that only the device knows, built by many lanes at once: the threads
// of a block, or one caller on the host. Each lane takes a run of groups:
//
//   1. line_totals: the tiles and iterations of its run;
//   2. the lanes' totals are scanned (operator+ is associative), so that each knows what lies
//   before
//      its run;
//   3. write_extents: its groups' stretches of the line.
//
// What comes out is the array that IterationSpace views, bit for bit as HostIterationSpace makes it
// (grouped.hpp); from there on a worker finds its stream-K run, and by binary search the group it
// starts in, as for sizes that the host knows (partition.hpp).
#pragma once

#include <cstdint>

#include "schedule/group_sizes.hpp"
#include "schedule/host_device.hpp"
#include "schedule/iteration_space.hpp"

namespace tessera {

struct LineTotals {
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;

  friend TESSERA_HD LineTotals operator+(const LineTotals& p, const LineTotals& q) {
    return {p.tiles + q.tiles, p.iterations + q.iterations};
  }
};

// A tile's size: of TileConfig what the line depends on. A kernel that computes Cᵀ counts rows
// where the sizes count columns.
struct LineTile {
  std::int32_t block_m = 1;
  std::int32_t block_n = 1;
  std::int32_t block_k = 1;
  bool is_turned = false;
};

// Groups [begin, end): runs differ in length by one at most.
struct LaneGroups {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};
TESSERA_HD inline LaneGroups groups_of_lane(std::int32_t groups, std::int32_t lanes,
                                            std::int32_t lane) {
  const std::int32_t each = groups / lanes;
  const std::int32_t left = groups % lanes;
  const std::int32_t begin = lane * each + (lane < left ? lane : left);
  return {begin, begin + each + (lane < left ? 1 : 0)};
}

TESSERA_HD inline GroupExtent extent_of(const GroupSizes& sizes, const LineTile& tile,
                                        std::int32_t group, const LineTotals& before) {
  const GroupSlice slice = sizes.slice(group);
  return make_extent(tile.is_turned ? slice.n : slice.m, tile.is_turned ? slice.m : slice.n,
                     slice.k, tile.block_m, tile.block_n, tile.block_k, before.tiles,
                     before.iterations);
}

TESSERA_HD inline LineTotals totals_of(const GroupExtent& extent) {
  return {extent.tiles(), extent.tiles() * extent.iterations};
}

// Step 1.
TESSERA_HD inline LineTotals line_totals(const GroupSizes& sizes, const LineTile& tile,
                                         const LaneGroups& run) {
  LineTotals totals;
  for (std::int32_t group = run.begin; group < run.end; ++group) {
    totals = totals + totals_of(extent_of(sizes, tile, group, {}));
  }
  return totals;
}

// Step 3: `before` are the totals of all groups before the run. Returns those after it; the last
// lane's are the line's.
TESSERA_HD inline LineTotals write_extents(const GroupSizes& sizes, const LineTile& tile,
                                           const LaneGroups& run, LineTotals before,
                                           GroupExtent* extents) {
  for (std::int32_t group = run.begin; group < run.end; ++group) {
    extents[group] = extent_of(sizes, tile, group, before);
    before = before + totals_of(extents[group]);
  }
  return before;
}

// The first fault of a run, for the call's error word.
TESSERA_HD inline SizeFault fault_of_run(const GroupSizes& sizes, const LaneGroups& run) {
  for (std::int32_t group = run.begin; group < run.end; ++group) {
    const SizeFault fault = sizes.fault(group);
    if (fault != SizeFault::none) return fault;
  }
  return SizeFault::none;
}

}  // namespace tessera
