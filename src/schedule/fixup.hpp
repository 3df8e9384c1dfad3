// The fix-up: how the partial sums of a tile that several WorkItems share become one.
//
// Nobody waits. Each peer publishes its partial tile in its workspace slot and then counts itself
// in; whoever counts in last finds all others' partials published, and carries on with the sum. So
// there is nothing to dead-lock, whichever workers run, in whatever order, and no start ticket,
// flag or epoch to keep. The last to arrive also sets the counter back to zero for the next launch.
// Bits do not depend on who was last: the additions form a tree over the peers' numbers, fixed by
// `peers` alone, and a peer's own partial takes its place in the order whether it comes from
// registers or from its slot.
//
// A node of the tree adds up to kFixupFanIn children, so that a tile with a hundred peers is summed
// by many of them side by side. docs/schedules.md has the picture and what else was considered.
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"
#include "schedule/work_item.hpp"

namespace tessera {

inline constexpr std::int32_t kFixupFanIn = 8;
// Levels of the deepest tree. 8^6 = 262144 covers kMaxWorkers and kMaxSplits (check.hpp).
inline constexpr std::int32_t kFixupLevels = 6;

// One peer's way up the tree:
//
//   for (FixupStep step(item.peer, item.peers); step.valid(); step.up()) {
//     publish my sum in item.slot(step.peer());
//     if (not the last of step.children() to arrive at step.counter(item, counters)) return;
//     my sum = Σ over c of the partial in item.slot(step.child(c));
//   }
//   finish the tile;
class FixupStep {
 public:
  TESSERA_HD FixupStep(std::int32_t peer, std::int32_t peers) : peer_(peer), peers_(peers) {
    skip_single_children();
  }

  // False at the root: the sum is complete.
  TESSERA_HD bool valid() const { return stride_ < peers_; }

  // The peer in whose slot the current sum belongs.
  TESSERA_HD std::int32_t peer() const { return peer_; }

  TESSERA_HD std::int32_t children() const {
    const std::int32_t end = first() + stride_ * kFixupFanIn;
    return ((end < peers_ ? end : peers_) - first() + stride_ - 1) / stride_;
  }
  TESSERA_HD std::int32_t child(std::int32_t c) const { return first() + c * stride_; }
  TESSERA_HD std::int32_t my_child() const { return (peer_ - first()) / stride_; }

  // The node's arrival counter. Every level has `counters` of them (arrival_counters); a node owns
  // the one of its first peer.
  TESSERA_HD std::int64_t counter(const WorkItem& item, std::int64_t counters) const {
    return level_ * counters + item.counter + first();
  }

  TESSERA_HD void up() {
    climb();
    skip_single_children();
  }

 private:
  TESSERA_HD std::int32_t first() const {
    return peer_ / (stride_ * kFixupFanIn) * (stride_ * kFixupFanIn);
  }
  TESSERA_HD void climb() {
    peer_ = first();
    stride_ *= kFixupFanIn;
    ++level_;
  }
  // A node with one child has nothing to add and needs no counter.
  TESSERA_HD void skip_single_children() {
    while (valid() && children() == 1) climb();
  }

  std::int32_t peer_;
  std::int32_t peers_;
  std::int32_t stride_ = 1;
  std::int32_t level_ = 0;
};

// The same additions in one go, where all partial tiles are published: calls add(to, from), by
// peers' numbers, for each of them in the tree's order; the sum is in peer 0's slot then.
template <class Add>
void for_each_addition(std::int32_t peers, const Add& add) {
  for (std::int64_t stride = 1; stride < peers; stride *= kFixupFanIn) {
    for (std::int64_t node = 0; node < peers; node += stride * kFixupFanIn) {
      const std::int64_t end =
          node + stride * kFixupFanIn < peers ? node + stride * kFixupFanIn : peers;
      for (std::int64_t child = node + stride; child < end; child += stride) {
        add(static_cast<std::int32_t>(node), static_cast<std::int32_t>(child));
      }
    }
  }
}

}  // namespace tessera
