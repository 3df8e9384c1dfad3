#include "schedule/worker_items.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace tessera {
namespace {

// Dealing takes time and memory for each unit. What comes behind these is counted as if it were
// dealt by turns, and shown as no items; a traced launch keeps half as many.
constexpr std::int64_t kMostDealt = std::int64_t{1} << 22;

}  // namespace

WorkItem claimed_item(const IterationSpace& space, const Partition& partition, std::int32_t unit) {
  if (unit < partition.whole_tiles) {
    const std::int64_t tile = partition.stream_tiles + unit;
    return whole_tile(space, partition, space.group_of_tile(tile), tile);
  }
  return claimed_piece(space, after_whole_tiles(partition),
                       static_cast<std::int32_t>(unit - partition.whole_tiles));
}

WorkerItems::WorkerItems(const IterationSpace& space, const Partition& partition)
    : space_(space), partition_(partition) {
  if (partition.units_are_claimed) deal();
}

void WorkerItems::deal() {
  using Turn = std::pair<std::int64_t, std::int32_t>;  // iterations done, worker
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> free;
  for (std::int32_t worker = 0; worker < partition_.workers; ++worker) free.emplace(0, worker);
  claimed_.resize(static_cast<std::size_t>(partition_.workers));
  const auto dealt =
      static_cast<std::int32_t>(std::min(claimed_units(partition_, space_.tiles), kMostDealt));
  std::int64_t empty = 0;  // pieces in a row; behind one of each tile there are only more of them
  for (std::int32_t unit = 0; unit < dealt && empty < space_.tiles; ++unit) {
    const WorkItem item = claimed_item(space_, partition_, unit);
    empty = item.peers == 0 ? empty + 1 : 0;
    if (item.peers == 0) continue;
    const auto [done, worker] = free.top();
    free.pop();
    free.emplace(done + item.k_end - item.k_begin, worker);
    claimed_[static_cast<std::size_t>(worker)].push_back(unit);
  }
}

std::vector<WorkItem> WorkerItems::of(std::int32_t worker, std::size_t most) const {
  std::vector<WorkItem> items;
  if (claimed_.empty()) {
    for (const WorkItem& item : items_of(space_, partition_, worker)) {
      if (items.size() == most) break;
      items.push_back(item);
    }
    return items;
  }
  for (const std::int32_t unit : claimed_[static_cast<std::size_t>(worker)]) {
    if (items.size() == most) break;
    items.push_back(claimed_item(space_, partition_, unit));
  }
  return items;
}

std::int64_t WorkerItems::units_of(std::int32_t worker) const {
  const std::int64_t units = claimed_units(partition_, space_.tiles);
  const auto share_of = [&](std::int64_t dealt) {
    return worker < dealt ? (dealt - worker - 1) / partition_.workers + 1 : 0;
  };
  if (claimed_.empty()) return share_of(units);
  return std::ssize(claimed_[static_cast<std::size_t>(worker)]) + share_of(units - kMostDealt);
}

}  // namespace tessera
