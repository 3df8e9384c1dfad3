#include "cpu/recorder.hpp"

#include <algorithm>

#include "schedule/traced_item.hpp"

namespace tessera::cpu {
namespace {

constexpr std::size_t kMostParts = 1024;

}  // namespace

Recorder::Recorder(Trace* trace, const IterationSpace& space, const Partition& partition)
    : trace_(trace) {
  if (trace_ == nullptr) return;
  *trace_ = {};
  for (std::int32_t worker = 0; worker < partition.workers; ++worker) {
    first_.push_back(entries_.size());
    for (const WorkItem& item : items_of(space, partition, worker)) {
      entries_.push_back({traced_item(worker, item)});
    }
  }
  entries_.resize(entries_.size() + kMostParts);
  origin_ = std::chrono::steady_clock::now();
}

TracedItem* Recorder::place(std::int32_t worker, std::int64_t item, std::int32_t thread) {
  if (trace_ == nullptr) return nullptr;
  Entry& entry =
      entries_[first_[static_cast<std::size_t>(worker)] + static_cast<std::size_t>(item)];
  entry.thread = thread;
  return &entry.item;
}

TracedItem* Recorder::place_part(std::int32_t worker, const WorkItem& item, std::int32_t thread) {
  if (trace_ == nullptr) return nullptr;
  const std::size_t part = parts_.fetch_add(1, std::memory_order_relaxed);
  if (part >= kMostParts) return nullptr;
  Entry& entry = entries_[entries_.size() - 1 - part];
  entry.item = traced_item(worker, item);
  entry.item.part = static_cast<std::int32_t>(part) + 1;
  entry.thread = thread;
  return &entry.item;
}

void Recorder::finish() {
  if (trace_ == nullptr) return;
  trace_->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - origin_).count();
  trace_->tracks.resize(static_cast<std::size_t>(threads_.load()));
  for (const Entry& entry : entries_) {
    if (entry.thread < 0) continue;
    trace_->tracks[static_cast<std::size_t>(entry.thread)].push_back(entry.item);
  }
  for (std::vector<TracedItem>& track : trace_->tracks) {
    std::sort(track.begin(), track.end(),
              [](const TracedItem& a, const TracedItem& b) { return a.start < b.start; });
  }
  std::erase_if(trace_->tracks, [](const std::vector<TracedItem>& track) { return track.empty(); });
}

}  // namespace tessera::cpu
