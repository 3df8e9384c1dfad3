#include "report/schedule_rows.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "schedule/fixup.hpp"
#include "schedule/worker_items.hpp"

namespace tessera::report {
namespace {

// One peer's sum on its way up the fix-up tree.
struct Sum {
  std::size_t row = 0;
  double ready = 0;
};

struct SharedTile {
  int number = 0;
  std::vector<std::pair<std::int32_t, Sum>> pieces;  // by peer
};

// The last of a node's children to arrive takes the others' sums (schedule/fixup.hpp).
void hand_over(const SharedTile& tile, std::int32_t peers, std::vector<HandOver>& out) {
  std::map<std::int32_t, Sum> sums(tile.pieces.begin(), tile.pieces.end());
  for (std::int32_t stride = 1; stride < peers; stride *= kFixupFanIn) {
    std::map<std::int32_t, Sum> above;
    for (auto child = sums.begin(); child != sums.end();) {
      const std::int32_t width = stride * kFixupFanIn;
      const std::int32_t node = child->first / width * width;
      auto last = child;
      auto end = child;
      for (; end != sums.end() && end->first < node + width; ++end) {
        if (end->second.ready >= last->second.ready) last = end;
      }
      for (auto from = child; from != end; ++from) {
        if (from == last) continue;
        out.push_back({tile.number, from->second.row, last->second.row, from->second.ready,
                       last->second.ready});
      }
      above[node] = last->second;
      child = end;
    }
    sums = std::move(above);
  }
}

Meeting meeting_of(const SharedTile& tile) {
  Meeting meeting;
  meeting.tile = tile.number;
  for (const auto& [peer, sum] : tile.pieces) {
    meeting.peers.push_back({sum.row, sum.ready});
    meeting.complete = std::max(meeting.complete, sum.ready);
  }
  return meeting;
}

}  // namespace

ScheduleRows schedule_rows(const IterationSpace& space, const Partition& partition, FixUp fix_up,
                           std::int32_t first, std::int32_t count, std::size_t most_items) {
  ScheduleRows result;
  using TileKey = std::tuple<std::int32_t, std::int32_t, std::int32_t>;
  std::map<TileKey, std::pair<SharedTile, std::int32_t>> shared;
  const std::int32_t last = std::min<std::int32_t>(partition.workers, first + count);
  const WorkerItems items(space, partition);
  for (std::int32_t worker = first; worker < last; ++worker) {
    ScheduleRow row;
    row.worker = worker;
    double at = 0;
    for (const WorkItem& item : items.of(worker, most_items)) {
      PlacedItem placed{item, at, at + (item.k_end - item.k_begin), -1};
      if (!item.is_whole_tile()) {
        const TileKey key{item.group, item.tile_m, item.tile_n};
        const auto [found, is_new] = shared.try_emplace(key);
        auto& [tile, peers] = found->second;
        if (is_new) {
          tile.number = static_cast<int>(shared.size()) - 1;
          peers = item.peers;
        }
        tile.pieces.push_back({item.peer, {result.rows.size(), placed.end}});
        placed.tile = tile.number;
      }
      at = placed.end;
      row.items.push_back(placed);
    }
    if (row.items.size() == most_items || partition.units_are_claimed) {
      // Whole tiles fill whatever is left: the stream region gives a worker few items.
      row.more_tiles = std::max<std::int64_t>(
          0, items.units_of(worker) - static_cast<std::int64_t>(row.items.size()));
      const std::int64_t all = partition.stream_tiles + claimed_units(partition, space.tiles);
      const double each =
          all > 0 ? static_cast<double>(space.iterations) / static_cast<double>(all) : 0;
      at += each * static_cast<double>(row.more_tiles);
    }
    row.end = at;
    result.rows.push_back(std::move(row));
    result.stream_end = std::max(
        result.stream_end,
        static_cast<double>(partition.run_begin(worker + 1) - partition.run_begin(worker)));
  }
  for (const auto& [key, value] : shared) {
    const auto& [tile, peers] = value;
    if (fix_up == FixUp::meeting) {
      result.meetings.push_back(meeting_of(tile));
    } else {
      hand_over(tile, peers, result.hand_overs);
    }
  }
  return result;
}

ScheduleFacts schedule_facts(const IterationSpace& space, const Partition& partition) {
  // Beyond this many items they are counted from the sizes of a sample.
  constexpr std::int64_t kMostWalked = 1 << 20;
  ScheduleFacts facts;
  facts.waves = ceil_div(space.tiles, partition.workers);
  facts.last_wave = space.tiles > 0 ? space.tiles - (facts.waves - 1) * partition.workers : 0;
  const std::int64_t units = claimed_units(partition, space.tiles);
  if (units + 2 * partition.stream_tiles + partition.workers <= kMostWalked) {
    const WorkerItems items(space, partition);
    for (std::int32_t worker = 0; worker < partition.workers; ++worker) {
      std::int64_t iterations = 0;
      for (const WorkItem& item : items.of(worker)) {
        iterations += item.k_end - item.k_begin;
        facts.most_peers = std::max<std::int64_t>(facts.most_peers, item.peers);
        if (item.peers > 1 && item.peer == 0) ++facts.shared_tiles;
      }
      facts.longest = std::max(facts.longest, static_cast<double>(iterations));
    }
  } else {
    const ScheduleRows sample = schedule_rows(space, partition, FixUp::tree, 0, 64, 4096);
    for (const ScheduleRow& row : sample.rows) {
      facts.longest = std::max(facts.longest, row.end);
      for (const PlacedItem& placed : row.items) {
        facts.most_peers = std::max<std::int64_t>(facts.most_peers, placed.item.peers);
      }
    }
    if (facts.most_peers > 1) {
      facts.shared_tiles =
          partition.splits > 1 ? space.tiles - partition.whole_tiles : partition.stream_tiles;
    }
  }
  if (facts.longest > 0) {
    facts.busy_share =
        std::min(1.0, static_cast<double>(space.iterations) / (facts.longest * partition.workers));
  }
  return facts;
}

}  // namespace tessera::report
