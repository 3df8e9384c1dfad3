// The rings of shared memory between the roles of a Hopper block: stages of A and B from the
// loaders to the multipliers, and WorkItems from the dispatcher to both. A slot's `full` barrier is
// passed by its readers, its `empty` barrier by its writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda/ptx>

#include "cuda/ptx/anew.cuh"
#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_config.hpp"
#include "schedule/fixup_meeting.hpp"
#include "schedule/work_item.hpp"

namespace tessera::cuda {

using Barrier = std::uint64_t;

// A position in a ring and the parity of the round it is in.
template <int kSlots>
struct RingCursor {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ void advance() {
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
    }
  }
  // After so many steps from the start.
  __device__ static RingCursor after(std::uint32_t steps) {
    return {static_cast<int>(steps % kSlots), steps / kSlots % 2};
  }
};

__device__ inline void wait_for(Barrier& barrier, std::uint32_t parity) {
  while (!::cuda::ptx::mbarrier_try_wait_parity(&barrier, parity)) {
  }
}

// The writer's side starts with empty slots: a fresh barrier lets the parity of the round before
// pass.
template <int kSlots>
__device__ inline void wait_until_empty(Barrier (&empty)[kSlots], const RingCursor<kSlots>& at) {
  wait_for(empty[at.slot], at.parity ^ 1);
}

template <int kSlots>
__device__ inline void wait_until_full(Barrier (&full)[kSlots], const RingCursor<kSlots>& at) {
  wait_for(full[at.slot], at.parity);
}

__device__ inline void arrive(Barrier& barrier) {
  ::cuda::ptx::mbarrier_arrive(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                               ::cuda::ptx::space_shared, &barrier);
}

inline constexpr int kLoaders = 2;  // one for each operand: both wait for an empty stage

// Columns of C, from the first on.
struct Columns {
  std::int32_t first = 0;
  std::int32_t count = 0;  // none or fewer than none: nothing of C
};

// What loaders and multipliers need to know of an item's group, so that they do not wait for the
// group's record between two tiles: in kernels for groups.
struct GroupView {
  Columns columns;
  bool multiplies = true;
  bool store_by_tma = false;
  // Where the group begins in the tensor maps of A and B.
  std::int32_t first_a = 0;
  std::int32_t first_b = 0;
};

// Items that a warp of the multipliers has passed, and the stages that were loaded for them.
struct PassedItems {
  std::uint32_t items;
  std::uint32_t stages;
};

// A warp of the multipliers lets go of an item by one lane's arrival. compute-sanitizer's racecheck
// follows a barrier only for threads that arrive themselves, so that a build for it has all lanes
// arrive, and spills registers where there are most sums.
#ifdef TESSERA_EVERY_LANE_ARRIVES
inline constexpr int kArrivalsOfWarp = 32;
#else
inline constexpr int kArrivalsOfWarp = 1;
#endif

// Where kernels for groups claim their units.
struct ClaimRing {
  Barrier wanted;     // the loader of A comes to the end of an item
  std::int32_t unit;  // that the cluster's first block has claimed for all, in each of the others
  Barrier full;
  Barrier empty;  // the first block's
};

// C of before on its way into two boxes of staging memory.
struct BeforeRing {
  Barrier full[2];
};

// Announced in place of a WorkItem when there is no more work.
inline constexpr std::int32_t kNoPeers = 0;

template <Sm90Config kConfig>
struct SharedStorage {
  static constexpr int kStages = kConfig.block.stages;
  static constexpr bool kHasViews = kConfig.is_grouped;
  static constexpr bool kFinishes = kConfig.finishes;
  // Where the multipliers have no register left to count: tiles in turns, and 192 columns to which
  // a bias may be added.
  static constexpr bool kCountsHere =
      !kConfig.is_plain &&
      (kConfig.block.in_turns || (!kConfig.is_grouped && kConfig.block.cols == 192));

  alignas(1024) std::byte a[kStages][kConfig.a().bytes()];  // (BM, BK, STAGE), swizzled
  alignas(1024) std::byte b[kStages][kConfig.b().bytes()];  // (BN, BK, STAGE), swizzled
  alignas(1024) std::byte staging[kConfig.warps()][kConfig.staging_bytes()];
  Sm90Header header;
  IterationSpace space;  // the dispatcher's
  union {
    WorkItem items[kDispatchDepth];
    FixupSeat seats[kConfig.warpgroups()];  // where peers meet, in plain kernels
  };
  // Kernels for groups have views and claims, the others finish tiles with a bias and C of before;
  // the largest block fills its memory to the last byte.
  union {
    GroupView views[kHasViews ? kDispatchDepth : 1];
    std::uint8_t before_parities[kConfig.warps()];  // bit b: of the next round of full[b]
  };
  CutGroup cut_groups[kConfig.is_grouped ? CutRows::kMostGroups + 1 : 1];  // the dispatcher's
  PassedItems passed[kCountsHere ? kConfig.warps() : 1];  // by each warp of the multipliers
  alignas(
      8) float bias[kFinishes ? kConfig.warpgroups() : 1][kFinishes ? kConfig.bias_values() : 1];
  union {
    ClaimRing claims;
    BeforeRing before[kFinishes ? kConfig.warps() : 1];
  };
  Barrier stage_full[kStages];
  Barrier stage_empty[kStages];
  Barrier item_full[kDispatchDepth];
  Barrier item_empty[kDispatchDepth];

  // By all warps but the loaders', each of which fetches a line of its own, so that they arrive
  // together. `warp` counts them.
  __device__ void copy_header(const Sm90Header& from, int warp) {
    constexpr int kWords = sizeof(Sm90Header) / sizeof(std::uint32_t);
    static_assert(kWords <= (kConfig.threads() / 32 - kLoaders) * 32,
                  "a lane copies one word at most");
    const int word = warp * 32 + static_cast<int>(threadIdx.x) % 32;
    if (word < kWords) {
      reinterpret_cast<std::uint32_t*>(&header)[word] =
          reinterpret_cast<const std::uint32_t*>(&from)[word];
    }
  }

  // By one thread. (By a lane for each slot it is slower: the hardware takes them one by one.) A
  // traced block has one more reader of both rings.
  __device__ void initialize_barriers(int blocks, bool is_traced) {
    const int recorders = is_traced ? 1 : 0;
    const int multipliers = kConfig.sharers() * 4 + recorders;
#pragma unroll
    for (int s = 0; s < kStages; ++s) {
      ::cuda::ptx::mbarrier_init(&stage_full[s], kLoaders);
      ::cuda::ptx::mbarrier_init(&stage_empty[s], multipliers * blocks);
    }
    if constexpr (!kConfig.is_plain) {
#pragma unroll
      for (int s = 0; s < kDispatchDepth; ++s) {
        ::cuda::ptx::mbarrier_init(&item_full[s], 1);
        ::cuda::ptx::mbarrier_init(&item_empty[s],
                                   kLoaders + kConfig.warps() * kArrivalsOfWarp + recorders);
      }
    }
    if constexpr (kFinishes) {
#pragma unroll
      for (int warp = 0; warp < kConfig.warps(); ++warp) {
        for (Barrier& barrier : before[warp].full) ::cuda::ptx::mbarrier_init(&barrier, 1);
        before_parities[warp] = 0;
      }
    }
    if constexpr (kConfig.is_grouped) {
      ::cuda::ptx::mbarrier_init(&claims.wanted, 1);
      ::cuda::ptx::mbarrier_init(&claims.full, 1);
      ::cuda::ptx::mbarrier_init(&claims.empty, blocks > 1 ? blocks - 1 : 1);
    }
    ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
  }
};

// The dispatcher's end of the item ring.
template <class Storage>
class ItemWriter {
 public:
  __device__ explicit ItemWriter(Storage& shared) : shared_(shared) {}

  __device__ void announce(const WorkItem& item, const GroupView& view = {}) {
    wait_until_empty(shared_.item_empty, at_);
    shared_.items[at_.slot] = item;
    if constexpr (Storage::kHasViews) shared_.views[at_.slot] = view;
    arrive(shared_.item_full[at_.slot]);
    at_.advance();
  }
  // The first item, which has been written into the ring before its barriers were set up.
  __device__ void announce_prepared() {
    arrive(shared_.item_full[0]);
    at_.advance();
  }
  __device__ void close() {
    WorkItem end;
    end.peers = kNoPeers;
    announce(end);
  }

 private:
  Storage& shared_;
  RingCursor<kDispatchDepth> at_;
};

// A loader's end of the item ring, one thread's.
template <class Storage>
class ItemReader {
 public:
  __device__ explicit ItemReader(Storage& shared) : shared_(shared) {}

  // False where there is no more work.
  __device__ bool read(WorkItem& item) const {
    wait_until_full(shared_.item_full, at_);
    item = shared_.items[at_.slot];
    return item.peers != kNoPeers;
  }
  __device__ const GroupView& view() const { return shared_.views[at_.slot]; }
  // Lets go of the item that was read, or that the reader knew without.
  __device__ void release() {
    arrive(shared_.item_empty[at_.slot]);
    at_.advance();
  }

 private:
  Storage& shared_;
  RingCursor<kDispatchDepth> at_;
};

// The announced items as a range, for a warp of the multipliers. They are read where they lie, in
// shared memory: registers are scarce there.
template <class Storage>
class AnnouncedItems {
 public:
  __device__ explicit AnnouncedItems(Storage& shared) : shared_(shared) {}

  struct End {};
  class Iterator {
   public:
    __device__ explicit Iterator(Storage& shared) : shared_(shared) {
      keep({0, 0});
      wait_until_full(shared_.item_full, at());
    }
    __device__ const WorkItem& operator*() const { return shared_.items[at().slot]; }
    __device__ Iterator& operator++() {
      __syncwarp();
      if (threadIdx.x % 32 < kArrivalsOfWarp) arrive(shared_.item_empty[at().slot]);
      const PassedItems before = kept();
      keep({before.items + 1, before.stages});
      wait_until_full(shared_.item_full, at());
      return *this;
    }
    // Items before this one.
    __device__ std::uint32_t passed() const { return kept().items; }
    // Adds the stages of this one and returns those of all before.
    __device__ std::uint32_t add_stages(std::uint32_t stages) {
      const PassedItems before = kept();
      keep({before.items, before.stages + stages});
      return before.stages;
    }
    __device__ bool operator!=(End) const { return shared_.items[at().slot].peers != kNoPeers; }

   private:
    // A cursor in one register; in groups' kernels, which have none to spare, without the slot in
    // another.
    __device__ RingCursor<kDispatchDepth> at() const {
      const std::uint32_t items = passed();
      return RingCursor<kDispatchDepth>::after(Storage::kHasViews ? ptx::anew(items) : items);
    }
    __device__ PassedItems& own() const { return shared_.passed[ptx::thread_in_block() / 32]; }
    __device__ PassedItems kept() const {
      if constexpr (Storage::kCountsHere) {
        const volatile PassedItems& kept = own();
        return {kept.items, kept.stages};
      } else {
        return passed_;
      }
    }
    __device__ void keep(const PassedItems& passed) {
      if constexpr (Storage::kCountsHere) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) own() = passed;
        __syncwarp();
      } else {
        passed_ = passed;
      }
    }

    Storage& shared_;
    PassedItems passed_;
  };

  __device__ Iterator begin() const { return Iterator(shared_); }
  __device__ End end() const { return {}; }

 private:
  Storage& shared_;
};

// A worker's items in a plain kernel, where everyone finds them by itself. `header` may be the
// kernel's parameter or its copy.
class OwnItems {
 public:
  __device__ OwnItems(const Sm90Header& header, std::int32_t worker)
      : header_(header), worker_(worker) {}

  struct End {};
  class Iterator {
   public:
    __device__ Iterator(const Sm90Header& header, std::int32_t worker)
        : header_(header), unit_(static_cast<std::uint32_t>(worker)) {}
    __device__ WorkItem operator*() const { return header_.units.of(unit_); }
    __device__ Iterator& operator++() {
      unit_ += static_cast<std::uint32_t>(header_.partition.workers);
      ++passed_;
      return *this;
    }
    __device__ std::uint32_t passed() const { return passed_; }
    __device__ std::uint32_t add_stages(std::uint32_t stages) {
      stages_ += stages;
      return stages_ - stages;
    }
    __device__ bool operator!=(End) const { return unit_ < header_.units.count; }

   private:
    const Sm90Header& header_;
    std::uint32_t unit_;
    std::uint32_t passed_ = 0;
    std::uint32_t stages_ = 0;
  };

  __device__ Iterator begin() const { return {header_, worker_}; }
  __device__ End end() const { return {}; }

 private:
  const Sm90Header& header_;
  std::int32_t worker_;
};

}  // namespace tessera::cuda
