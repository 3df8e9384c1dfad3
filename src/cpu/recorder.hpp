// Fills a Trace: when each WorkItem began, was multiplied and ended, and on which thread. Without a
// trace nothing is timed; what is left of it in a run is a test of a pointer per item and per
// packed block.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "schedule/partition.hpp"
#include "tessera/trace.hpp"

namespace tessera::cpu {

// The times of the item that one thread is at.
class ItemClock {
 public:
  // Null: nothing is recorded from here on.
  void begin(TracedItem* item, std::chrono::steady_clock::time_point origin) {
    item_ = item;
    origin_ = origin;
    if (item_ != nullptr) item_->start = now();
  }
  void multiplied() {
    if (item_ != nullptr) item_->multiplied = now();
  }
  void wrote_tile() {
    if (item_ != nullptr) item_->wrote_tile = true;
  }
  void end() {
    if (item_ == nullptr) return;
    item_->end = now();
    if (item_->peers == 1) {
      item_->multiplied = item_->end;
      item_->wrote_tile = true;
    }
  }

 private:
  friend class PackingTime;

  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - origin_).count();
  }

  TracedItem* item_ = nullptr;
  std::chrono::steady_clock::time_point origin_;
};

// Counts its own lifetime as packing.
class PackingTime {
 public:
  explicit PackingTime(ItemClock& clock) : clock_(clock) {
    if (clock_.item_ != nullptr) start_ = clock_.now();
  }
  ~PackingTime() {
    if (clock_.item_ != nullptr) clock_.item_->data_seconds += clock_.now() - start_;
  }
  PackingTime(const PackingTime&) = delete;
  PackingTime& operator=(const PackingTime&) = delete;

 private:
  ItemClock& clock_;
  double start_ = 0;
};

// All items of a run. Room for them is made before the threads start, because none may throw.
class Recorder {
 public:
  // `trace` may be null. May throw std::bad_alloc.
  Recorder(Trace* trace, const IterationSpace& space, const Partition& partition);

  // The number of the calling thread, to be asked once by each. Without a trace nobody is counted:
  // 16 threads that come at once take 2 µs to count themselves.
  std::int32_t join() {
    return trace_ == nullptr ? 0 : threads_.fetch_add(1, std::memory_order_relaxed);
  }
  // The place of a worker's item-th item; null without a trace.
  TracedItem* place(std::int32_t worker, std::int64_t item, std::int32_t thread);
  // The place of a part of a tile that a thread took over from another; null without a trace, and
  // after very many.
  TracedItem* place_part(std::int32_t worker, const WorkItem& item, std::int32_t thread);
  std::chrono::steady_clock::time_point origin() const { return origin_; }

  // After all threads are done: moves the items to the trace, by thread and in the order of time.
  void finish();

 private:
  struct Entry {
    TracedItem item;
    std::int32_t thread = -1;
  };

  Trace* trace_;
  std::chrono::steady_clock::time_point origin_;
  std::atomic<std::int32_t> threads_{0};
  std::vector<Entry> entries_;
  std::vector<std::size_t> first_;     // of each worker
  std::atomic<std::size_t> parts_{0};  // their places are the last ones
};

}  // namespace tessera::cpu
