// The recorder of a traced Hopper block: one thread that follows the rings of pipeline.cuh beside
// the other roles and notes when their barriers turn. It is counted in as a reader of both rings
// (SharedStorage::initialize_barriers), so that no round can pass it by; the multipliers' code
// knows nothing of it.
#pragma once

#include "cuda/block_recorder.cuh"
#include "cuda/pipeline.cuh"
#include "cuda/ptx/cluster_arrive.cuh"

namespace tessera::cuda {

template <Sm90Config kConfig>
class Sm90Recorder {
 public:
  __device__ explicit Sm90Recorder(SharedStorage<kConfig>& shared) : shared_(shared) {}

  // `iterations_of` an item in the ring: how many stages are loaded for it.
  template <class IterationsOf>
  __device__ void record(const TraceSpace& space, std::int32_t worker, int blocks,
                         IterationsOf iterations_of) {
    blocks_ = blocks;
    recorder_.open(space);
    for (;; item_.advance()) {
      wait([&] { return is_over(shared_.item_full[item_.slot], item_.parity); });
      const WorkItem& item = shared_.items[item_.slot];
      if (item.peers == kNoPeers) break;
      Stored next;
      // The item's place is free for another once all have let go of it.
      next.record = recorder_.next(item, worker);
      next.start = ptx::cycles_of_sm();
      next.waited = follow_stages(iterations_of(item));
      next.multiplied = ptx::cycles_of_sm();
      arrive(shared_.item_empty[item_.slot]);
      next.at = item_;
      close(older_);
      if constexpr (kInTurns) older_ = newer_;
      newer_ = next;
      if constexpr (!kInTurns) close(newer_);
    }
    close(older_);
    close(newer_);
    recorder_.close();
  }

 private:
  static constexpr bool kInTurns = kConfig.block.in_turns;

  // An item that has been multiplied; in turns, one may be stored while the next is multiplied.
  struct Stored {
    ItemRecord* record = nullptr;  // none: it is closed
    std::int64_t start = 0;
    std::int64_t multiplied = 0;
    std::int64_t waited = 0;
    std::int64_t end = 0;
    RingCursor<kDispatchDepth> at;
    bool has_ended = false;
  };

  __device__ static bool is_over(Barrier& barrier, std::uint32_t parity) {
    return ::cuda::ptx::mbarrier_test_wait_parity(&barrier, parity);
  }
  __device__ void look_for_end(Stored& item) {
    if (item.record != nullptr && !item.has_ended &&
        is_over(shared_.item_empty[item.at.slot], item.at.parity)) {
      item.end = ptx::cycles_of_sm();
      item.has_ended = true;
    }
  }
  // Looks meanwhile whether items that are being stored end.
  template <class IsOver>
  __device__ void wait(IsOver is_over) {
    while (!is_over()) {
      if constexpr (kInTurns) {
        look_for_end(older_);
        look_for_end(newer_);
      }
    }
  }
  // Waits for the item's end and writes it down. In turns its warpgroup may have been storing the
  // last but one when the stages' turn came.
  __device__ void close(Stored& item) {
    if (item.record == nullptr) return;
    while (!item.has_ended) look_for_end(item);
    const std::int64_t busy_until = busy_until_[0];
    if (item.start < busy_until) item.start = busy_until;
    if (item.multiplied < item.start) item.multiplied = item.start;
    const std::int64_t most = item.multiplied - item.start;
    ItemRecord& record = *item.record;
    record.start = item.start;
    record.multiplied = item.multiplied;
    record.end = item.end;
    record.waited = item.waited < most ? item.waited : most;
    item.record = nullptr;
    busy_until_[0] = kInTurns ? busy_until_[1] : item.end;
    busy_until_[1] = item.end;
  }

  // Returns once the multipliers have let go of the item's last stage. The cycles it returns are
  // those that they stood before a stage that was not full yet; the one before it may still have
  // been multiplied.
  __device__ std::int64_t follow_stages(int iterations) {
    std::int64_t waited = 0;
    for (int i = 0; i < iterations; ++i) {
      // They come to a stage when they have let go of the last but one.
      if (i >= 2) wait_until_released();
      if (!is_over(shared_.stage_full[full_.slot], full_.parity)) {
        const std::int64_t before = ptx::cycles_of_sm();
        wait([&] { return is_over(shared_.stage_full[full_.slot], full_.parity); });
        waited += ptx::cycles_of_sm() - before;
      }
      release(full_.slot);
      full_.advance();
    }
    for (int i = iterations > 2 ? 2 : iterations; i > 0; --i) wait_until_released();
    return waited;
  }

  __device__ void wait_until_released() {
    wait([&] { return is_over(shared_.stage_empty[released_.slot], released_.parity); });
    released_.advance();
  }

  __device__ void release(int slot) {
    for (int block = 0; block < blocks_; ++block) {
      ptx::arrive_at_block(&shared_.stage_empty[slot], static_cast<std::uint32_t>(block));
    }
  }

  SharedStorage<kConfig>& shared_;
  BlockRecorder recorder_;
  int blocks_ = 1;  // of the cluster
  Stored older_;
  Stored newer_;
  std::int64_t busy_until_[2] = {};  // the warpgroups whose turns are next
  RingCursor<kDispatchDepth> item_;
  RingCursor<kConfig.block.stages> full_;      // the next stage to be full
  RingCursor<kConfig.block.stages> released_;  // the next to be released
};

}  // namespace tessera::cuda
