// The recorder of a traced Hopper block: one thread that follows the rings of pipeline.cuh beside
// the other roles and notes when their barriers turn. It is counted in as a reader of both rings
// (SharedStorage::initialize_barriers), so that no round can pass it by; the multipliers' code is
// the same with and without it.
#pragma once

#include "cuda/block_recorder.cuh"
#include "cuda/pipeline.cuh"
#include "cuda/ptx/cluster_arrive.cuh"

namespace tessera::cuda {

template <Sm90Config kConfig>
class Sm90Recorder {
 public:
  __device__ explicit Sm90Recorder(SharedStorage<kConfig>& shared) : shared_(shared) {}

  // `iterations_of` an item: how many stages are loaded for it.
  template <class IterationsOf>
  __device__ void record(const TraceSpace& space, std::int32_t worker, int blocks,
                         IterationsOf iterations_of) {
    blocks_ = blocks;
    BlockRecorder recorder;
    recorder.open(space);
    for (;; item_.advance()) {
      wait_until_full(shared_.item_full, item_);
      const WorkItem& item = shared_.items[item_.slot];
      if (item.peers == kNoPeers) break;
      const WorkItem own = item;  // its place is free for another once all have let go of it
      const std::int64_t start = ptx::cycles_of_sm();
      const std::int64_t waited = follow_stages(iterations_of(own));
      const std::int64_t multiplied = ptx::cycles_of_sm();
      arrive(shared_.item_empty[item_.slot]);
      wait_for(shared_.item_empty[item_.slot], item_.parity);
      recorder.add(worker, own, start, multiplied, waited);
    }
    recorder.close();
  }

 private:
  // Returns once the multipliers have let go of the item's last stage. The cycles it returns are
  // those that they stood before a stage that was not full yet; the one before it may still have
  // been multiplied.
  __device__ std::int64_t follow_stages(int iterations) {
    std::int64_t waited = 0;
    for (int i = 0; i < iterations; ++i) {
      // They come to a stage when they have let go of the last but one.
      if (i >= 2) wait_until_released();
      if (!::cuda::ptx::mbarrier_test_wait_parity(&shared_.stage_full[full_.slot], full_.parity)) {
        const std::int64_t before = ptx::cycles_of_sm();
        wait_until_full(shared_.stage_full, full_);
        waited += ptx::cycles_of_sm() - before;
      }
      release(full_.slot);
      full_.advance();
    }
    for (int i = iterations > 2 ? 2 : iterations; i > 0; --i) wait_until_released();
    return waited;
  }

  __device__ void wait_until_released() {
    wait_for(shared_.stage_empty[released_.slot], released_.parity);
    released_.advance();
  }

  __device__ void release(int slot) {
    for (int block = 0; block < blocks_; ++block) {
      ptx::arrive_at_block(&shared_.stage_empty[slot], static_cast<std::uint32_t>(block));
    }
  }

  SharedStorage<kConfig>& shared_;
  int blocks_ = 1;  // of the cluster
  RingCursor<kDispatchDepth> item_;
  RingCursor<kConfig.block.stages> full_;      // the next stage to be full
  RingCursor<kConfig.block.stages> released_;  // the next to be released
};

}  // namespace tessera::cuda
