// The partition of an iteration space: a Schedule resolved into the few numbers from which each
// worker finds its own WorkItems. Host and device compile this file; kernels read
//
//   for (WorkItem item : items_of(space, partition, worker)) …
//
// and never ask which schedule they run, because all four are the same two regions of the line:
//
//   stream region: the first `stream_tiles` tiles, cut into one nearly equal run per worker;
//   unit region:   the remaining tiles, each in `splits` nearly equal pieces, dealt round robin.
//
// data_parallel is no stream region and splits = 1; split_k(s) is splits = s; stream_k is all
// stream; hybrid is a stream region for the partial wave and whole tiles after it.
#pragma once

#include <cstdint>
#include <limits>

#include "schedule/host_device.hpp"
#include "schedule/iteration_space.hpp"
#include "schedule/tile_order.hpp"
#include "schedule/work_item.hpp"
#include "tessera/schedule.hpp"

namespace tessera {

struct Partition {
  std::int32_t workers = 1;
  std::int32_t splits = 1;
  std::int64_t stream_tiles = 0;
  std::int64_t stream_iterations = 0;
  std::int64_t whole_tiles = 0;  // at the front of the unit region, where units are claimed
  TileOrder order = TileOrder::linear;
  bool units_are_claimed = false;  // instead of dealt; each worker's first has its number
  std::int32_t group_m = 1;

  // The stream region's run of worker w is [run_begin(w), run_begin(w + 1)); the first
  // stream_iterations mod workers runs are one longer.
  TESSERA_HD std::int64_t run_begin(std::int64_t worker) const {
    const auto [each, left] = divide(stream_iterations, workers);
    return worker * each + (worker < left ? worker : left);
  }
  TESSERA_HD std::int64_t run_owner(std::int64_t iteration) const {
    const auto [each, left] = divide(stream_iterations, workers);
    const std::int64_t long_part = left * (each + 1);
    return iteration < long_part ? divide(iteration, each + 1).quotient
                                 : left + divide(iteration - long_part, each).quotient;
  }
};

// Stream-K tiles of a hybrid: the partial wave's, and one full wave more where that leaves at least
// one full wave of whole tiles, so that a stream-K worker has between one and two tiles of work.
TESSERA_HD inline std::int64_t hybrid_stream_tiles(std::int64_t tiles, std::int64_t workers,
                                                   bool two_tile) {
  const std::int64_t partial = tiles % workers;
  return two_tile && tiles - partial > workers ? partial + workers : partial;
}

TESSERA_HD inline Partition make_partition(const Schedule& schedule, const IterationSpace& space) {
  Partition partition;
  partition.workers = schedule.workers;
  partition.order = schedule.order;
  partition.group_m = schedule.group_m;
  switch (schedule.kind) {
    case ScheduleKind::data_parallel:
      break;
    case ScheduleKind::split_k:
      partition.splits = schedule.splits;
      break;
    case ScheduleKind::stream_k:
      partition.stream_tiles = space.tiles;
      break;
    case ScheduleKind::hybrid:
      partition.stream_tiles =
          hybrid_stream_tiles(space.tiles, schedule.workers, schedule.two_tile);
      break;
  }
  partition.stream_iterations = space.iteration_of_tile(partition.stream_tiles);
  return partition;
}

// Workspace a partition needs: slots, each one tile of accumulators, and arrival counters (on a
// GPU for each level of the fix-up tree; see fixup.hpp). A stream worker leaves at most two partial
// tiles behind, one at each end of its run.
TESSERA_HD inline std::int64_t partial_slots(const Partition& partition, std::int64_t tiles) {
  const std::int64_t stream = partition.stream_tiles > 0 ? 2LL * partition.workers : 0;
  const std::int64_t split = partition.splits > 1 ? tiles * partition.splits : 0;
  return stream > split ? stream : split;
}
TESSERA_HD inline std::int64_t arrival_counters(const Partition& partition, std::int64_t tiles) {
  const std::int64_t stream = partition.stream_tiles > 0 ? partition.workers : 0;
  const std::int64_t split = partition.splits > 1 ? tiles * partition.splits : 0;
  return stream > split ? stream : split;
}
// And how many tiles have several contributors, at most.
TESSERA_HD inline std::int64_t split_tiles(const Partition& partition, std::int64_t tiles) {
  const std::int64_t stream = partition.stream_tiles > 0 ? partition.workers : 0;
  const std::int64_t split = partition.splits > 1 ? tiles : 0;
  return stream + split;
}

// The WorkItems of one worker, as a range.
class WorkItems {
 public:
  TESSERA_HD WorkItems(const IterationSpace& space, const Partition& partition, std::int32_t worker)
      : space_(space), partition_(partition), worker_(worker) {}

  struct End {};

  class Iterator {
   public:
    TESSERA_HD Iterator(const IterationSpace& space, const Partition& partition,
                        std::int32_t worker)
        : space_(space),
          partition_(partition),
          worker_(worker),
          position_(partition.stream_tiles > 0 ? partition.run_begin(worker) : 0),
          run_end_(partition.stream_tiles > 0 ? partition.run_begin(worker + 1) : 0),
          unit_(worker),
          units_((space.tiles - partition.stream_tiles) * partition.splits) {
      find();
    }

    TESSERA_HD const WorkItem& operator*() const { return item_; }
    TESSERA_HD Iterator& operator++() {
      find();
      return *this;
    }
    TESSERA_HD bool operator!=(End) const { return !done_; }

   private:
    TESSERA_HD void find() {
      if (position_ < run_end_) {
        next_of_run();
        return;
      }
      while (unit_ < units_) {
        const bool found = next_unit();
        unit_ += partition_.workers;
        if (found) return;
      }
      done_ = true;
    }

    // The piece of the tile at position_ that lies in this worker's run.
    TESSERA_HD void next_of_run() {
      const std::int32_t group = space_.group_of_iteration(position_);
      const GroupExtent& extent = space_.groups[group];
      const std::int64_t in_group =
          divide(position_ - extent.first_iteration, extent.iterations).quotient;
      const std::int64_t tile_begin = extent.first_iteration + in_group * extent.iterations;
      const std::int64_t tile_end = tile_begin + extent.iterations;
      const std::int64_t piece_end = tile_end < run_end_ ? tile_end : run_end_;

      place(group, extent, in_group);
      item_.k_begin = static_cast<std::int32_t>(position_ - tile_begin);
      item_.k_end = static_cast<std::int32_t>(piece_end - tile_begin);
      const std::int64_t first = item_.k_begin == 0 ? worker_ : partition_.run_owner(tile_begin);
      const std::int64_t last =
          piece_end == tile_end ? worker_ : partition_.run_owner(tile_end - 1);
      item_.peers = static_cast<std::int32_t>(last - first + 1);
      item_.peer = static_cast<std::int32_t>(worker_ - first);
      item_.counter = first;
      // Worker w keeps the piece at the head of its run in slot 2w, the one at its tail in 2w + 1.
      item_.first_slot = 2 * first + 1;
      item_.next_slot = 2 * first + 2;
      item_.slot_stride = 2;
      position_ = piece_end;
    }

    // Piece unit_ / tiles of tile unit_ mod tiles: tiles that are worked on together are at the
    // same k, so that the shared cache serves what they have in common. False where the piece is
    // empty, because the tile has fewer iterations than there are splits.
    TESSERA_HD bool next_unit() {
      const auto [unit_piece, unit_tile] = divide(unit_, space_.tiles - partition_.stream_tiles);
      const std::int64_t tile = partition_.stream_tiles + unit_tile;
      const auto piece = static_cast<std::int32_t>(unit_piece);
      const std::int32_t group = space_.group_of_tile(tile);
      const GroupExtent& extent = space_.groups[group];
      const bool is_split = partition_.splits > 1;
      const std::int32_t each =
          is_split ? extent.iterations / partition_.splits : extent.iterations;
      const std::int32_t left = is_split ? extent.iterations % partition_.splits : 0;
      const std::int32_t pieces = each > 0 ? partition_.splits : left;
      if (piece >= pieces) return false;

      place(group, extent, tile - extent.first_tile);
      item_.k_begin = piece * each + (piece < left ? piece : left);
      item_.k_end = item_.k_begin + each + (piece < left ? 1 : 0);
      item_.peers = pieces;
      item_.peer = piece;
      item_.counter = tile * partition_.splits;
      item_.first_slot = tile * partition_.splits;
      item_.next_slot = item_.first_slot + 1;
      item_.slot_stride = 1;
      return true;
    }

    TESSERA_HD void place(std::int32_t group, const GroupExtent& extent, std::int64_t in_group) {
      const TileCoord at =
          tile_at(partition_.order, partition_.group_m, in_group, extent.grid_m, extent.grid_n);
      item_.group = group;
      item_.tile_m = at.m;
      item_.tile_n = at.n;
    }

    const IterationSpace& space_;
    const Partition& partition_;
    std::int32_t worker_;
    std::int64_t position_;
    std::int64_t run_end_;
    std::int64_t unit_;
    std::int64_t units_;
    WorkItem item_;
    bool done_ = false;
  };

  TESSERA_HD Iterator begin() const { return {space_, partition_, worker_}; }
  TESSERA_HD End end() const { return {}; }

 private:
  const IterationSpace& space_;
  const Partition& partition_;
  std::int32_t worker_;
};

// A whole tile, by its number and its group's, of a partition without a stream region.
TESSERA_HD inline WorkItem whole_tile(const IterationSpace& space, const Partition& partition,
                                      std::int32_t group, std::int64_t tile) {
  const GroupExtent& extent = space.groups[group];
  const TileCoord at = tile_at(partition.order, partition.group_m, tile - extent.first_tile,
                               extent.grid_m, extent.grid_n);
  WorkItem item;
  item.group = group;
  item.tile_m = at.m;
  item.tile_n = at.n;
  item.k_end = extent.iterations;
  return item;
}

TESSERA_HD inline WorkItems items_of(const IterationSpace& space, const Partition& partition,
                                     std::int32_t worker) {
  return {space, partition, worker};
}

// ---- Units that workers claim one by one, because tiles differ in cost (docs/grouped.md) ----
//
// First the whole tiles, then pieces; of split_k there are pieces alone. Whole tiles alone let
// workers end a tile's time apart; so a hybrid has no stream region here, but its last tiles, as
// many as leave each worker one piece, come in three.

inline constexpr std::int32_t kClaimedPieces = 3;

// How many of the last tiles come in pieces; below 0 for a schedule without whole tiles in front.
TESSERA_HD inline std::int32_t tiles_in_pieces(const Schedule& schedule) {
  return schedule.kind == ScheduleKind::data_parallel ? 0
         : schedule.kind == ScheduleKind::hybrid      ? schedule.workers / kClaimedPieces
                                                      : -1;
}

TESSERA_HD inline Partition make_claimed_partition(const Schedule& schedule,
                                                   const IterationSpace& space) {
  const std::int64_t shared = tiles_in_pieces(schedule);
  if (shared < 0) {
    Partition partition = make_partition(schedule, space);
    partition.units_are_claimed = schedule.kind == ScheduleKind::split_k;
    return partition;
  }
  Partition partition;
  partition.units_are_claimed = true;
  partition.workers = schedule.workers;
  partition.order = schedule.order;
  partition.group_m = schedule.group_m;
  partition.whole_tiles = space.tiles > shared ? space.tiles - shared : 0;
  if (schedule.kind == ScheduleKind::hybrid) partition.splits = kClaimedPieces;
  return partition;
}

TESSERA_HD inline std::int64_t claimed_units(const Partition& partition, std::int64_t tiles) {
  return partition.whole_tiles +
         (tiles - partition.stream_tiles - partition.whole_tiles) * partition.splits;
}

// The partition of what is left after the whole tiles. Each of so many workers has but one unit:
// that of its own number.
TESSERA_HD inline Partition after_whole_tiles(Partition partition) {
  partition.workers = std::numeric_limits<std::int32_t>::max();
  partition.stream_tiles += partition.whole_tiles;
  partition.stream_iterations = 0;
  return partition;
}

// Unit `unit` of such a partition; without peers where a tile has fewer iterations than pieces.
// Counters and slots begin at 0.
TESSERA_HD inline WorkItem claimed_piece(const IterationSpace& space, const Partition& rest,
                                         std::int32_t unit) {
  WorkItem item;
  item.peers = 0;
  const auto found = items_of(space, rest, unit).begin();
  if (found != WorkItems::End{}) {
    item = *found;
    const std::int64_t before = rest.stream_tiles * rest.splits;
    item.counter -= before;
    item.first_slot -= before;
    item.next_slot -= before;
  }
  return item;
}

}  // namespace tessera
