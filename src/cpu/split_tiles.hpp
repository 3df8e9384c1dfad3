// Tiles that several WorkItems share: who adds up the partial tiles that these leave behind.
//
// An item counts itself in when its partial tile is in its slot. The last one opens the tile: from
// then on strips of it are added up by whoever comes, first of all the thread that opened it, and
// threads that have no items left. In a call of sixteen threads and one tile that is fifteen of
// them, and the sums of one tile pass from cache to cache, which takes one thread longer than the
// products before. Nobody waits for anybody: a strip is somebody's or left, and the call ends when
// all threads have nothing to do.
//
// The bits of C do not depend on who adds: each element's additions are those of the tree of
// schedule/fixup.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/cache_line.hpp"
#include "schedule/work_item.hpp"

namespace tessera::cpu {

// A tile whose partial tiles are all in their slots.
class alignas(kCacheLine) OpenSplit {
 public:
  void open(const WorkItem& item, std::int32_t worker, int strips) {
    item_ = item;
    worker_ = worker;
    strips_.store(strips, std::memory_order_release);
  }
  bool is_open() const { return strips_.load(std::memory_order_acquire) > 0; }

  // Its last item, once it is open, and whose that was.
  const WorkItem& item() const { return item_; }
  std::int32_t worker() const { return worker_; }

  bool has_strips() const {
    return next_.load(std::memory_order_relaxed) < strips_.load(std::memory_order_relaxed);
  }

  static constexpr int kNone = -1;

  // A strip that is the caller's now; kNone where none is left.
  int take() {
    const int strips = strips_.load(std::memory_order_relaxed);
    const int strip = next_.fetch_add(1, std::memory_order_relaxed);
    return strip < strips ? strip : kNone;
  }

 private:
  WorkItem item_;
  std::int32_t worker_ = 0;
  std::atomic<int> strips_{0};
  std::atomic<int> next_{0};
};

class SplitTiles {
 public:
  // `memory`: bytes(counters, tiles) bytes that start on a cache line, and are nobody else's until
  // the call ends; `workers`: of the partition.
  SplitTiles(void* memory, std::int64_t counters, std::int64_t tiles, std::int32_t workers)
      : opened_(static_cast<OpenSplit*>(memory)),
        arrived_(reinterpret_cast<std::atomic<std::int32_t>*>(opened_ + tiles)),
        tiles_(tiles),
        busy_(workers) {
    std::uninitialized_value_construct_n(opened_, tiles);
    std::uninitialized_value_construct_n(arrived_, counters);
  }

  static std::size_t bytes(std::int64_t counters, std::int64_t tiles) {
    return static_cast<std::size_t>(tiles) * sizeof(OpenSplit) +
           static_cast<std::size_t>(counters) * sizeof(std::atomic<std::int32_t>);
  }

  // The item's partial tile is in its slot. Whether it was the last of its tile's.
  bool arrive(const WorkItem& item) {
    std::atomic<std::int32_t>& arrived = arrived_[item.counter];
    return arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == item.peers;
  }

  // By the thread whose item was the last.
  OpenSplit& open(const WorkItem& item, std::int32_t worker, int strips) {
    OpenSplit& tile = opened_[count_.fetch_add(1, std::memory_order_relaxed)];
    tile.open(item, worker, strips);
    return tile;
  }

  // All items of one worker are done.
  void leave() { busy_.fetch_sub(1, std::memory_order_release); }
  bool are_all_done() const { return busy_.load(std::memory_order_acquire) == 0; }

  // The i-th tile that was opened; null as long as there is none.
  OpenSplit* opened(std::int64_t i) {
    return i < tiles_ && opened_[i].is_open() ? &opened_[i] : nullptr;
  }

 private:
  OpenSplit* opened_;
  std::atomic<std::int32_t>* arrived_;  // for each item's `counter`
  std::int64_t tiles_;
  std::atomic<std::int64_t> count_{0};  // opened ones
  alignas(kCacheLine) std::atomic<std::int32_t> busy_;
};

}  // namespace tessera::cpu
