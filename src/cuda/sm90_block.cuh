// What all roles of a Hopper block know: the kernel's parameters, the block's shared memory, its
// place in the cluster that is its worker, and what an item asks of it.
#pragma once

#include <cstdint>
#include <cuda/ptx>

#include "cuda/pipeline.cuh"
#include "cuda/ptx/named_barrier.cuh"
#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_config.hpp"

namespace tessera::cuda {

// What an item asks of a block.
struct BlockTask {
  const Sm90Maps& maps;
  const GroupOperands& operands;
  Columns columns;  // of the block's tile
  bool multiplies;
  bool store_by_tma;
};

struct PlaceInCluster {
  int row;
  int col;

  __device__ static PlaceInCluster of(const Sm90Shares& shares) {
    const auto rank = static_cast<int>(::cuda::ptx::get_sreg_cluster_ctarank());
    return {rank & (shares.cluster_rows - 1), rank >> shares.rows_log2};
  }
};

template <Sm90Config kConfig>
struct BlockContext {
  const Sm90Arguments& arguments;
  SharedStorage<kConfig>& shared;
  std::int32_t worker;
  int blocks;  // of the worker's cluster
  int warp;    // of the block, and known to the compiler to be the same in all lanes

  // A copy of the arguments', once wait_for_start has returned.
  __device__ const Sm90Header& header() const { return shared.header; }

  // A line of a box beyond its operand takes TMA three times as long as one that it reads, so that
  // a tile at the edge would hold up its cluster. In a plain kernel the last tiles begin where they
  // end with C, and compute some of it again, alike.
  template <class Place>
  __device__ static Place inside(Place first, std::int32_t last) {
    return kConfig.is_plain ? min(first, Place{last}) : first;
  }

  // As the group's record has it.
  __device__ BlockTask task_of(const Sm90Header& from, const WorkItem& item) const {
    constexpr int kColumns = kConfig.block.cols;
    const int tile = item.tile_n * from.shares.cluster_cols + PlaceInCluster::of(from.shares).col;
    Columns columns{inside(tile * kColumns, from.last_col), kColumns};
    if constexpr (kConfig.is_plain) return {arguments.maps, from.operands, columns, true, true};
    if (from.tasks == nullptr) {
      return {arguments.maps, from.operands, columns, from.multiplies, from.store_by_tma};
    }
    const Sm90Task& task = from.tasks[item.group];
    if constexpr (kConfig.is_grouped) {
      columns.first = task.columns.first(tile);
      const int left = static_cast<int>(task.operands.n) - columns.first;
      columns.count = min(left, task.columns.most(tile));
    }
    return {task.maps, task.operands, columns, task.multiplies, task.store_by_tma};
  }

  // What the ring has of it, with an item where it lies there.
  __device__ GroupView view_of(const Sm90Header& from, const WorkItem& item) const {
    const BlockTask task = task_of(from, item);
    GroupView view{task.columns, task.multiplies, task.store_by_tma};
    if (are_rows_cut()) {
      view.first_a = item.group * arguments.cut.lines_of_group;
      view.first_b = from.tasks[item.group].first_row;
    }
    return view;
  }
  __device__ BlockTask task_in_ring(const WorkItem& item) const {
    if constexpr (kConfig.is_grouped) {
      const Sm90Task& task = header().tasks[item.group];
      const GroupView& view = shared.views[&item - shared.items];
      return {task.maps, task.operands, view.columns, view.multiplies, view.store_by_tma};
    } else {
      return task_of(header(), item);
    }
  }

  // Groups whose first items are found here, and whose A and B have a tensor map for all.
  __device__ bool are_rows_cut() const { return arguments.cut.groups > 0; }
  // Such groups without a prologue: C has a map for all, too, and columns are counted through all.
  __device__ bool stands_alone() const {
    return kConfig.is_grouped && !kConfig.is_gated && arguments.header.claims != nullptr;
  }
  // As an item's multipliers store it.
  __device__ const CUtensorMap& map_of_c(const BlockTask& task) const {
    return stands_alone() ? arguments.maps.c : task.maps.c;
  }
  __device__ const GroupOperands& c_of(const BlockTask& task) const {
    return stands_alone() ? header().operands : task.operands;
  }
  __device__ const Sm90Maps& maps_of(std::int32_t group) const {
    return are_rows_cut() ? arguments.maps : arguments.header.tasks[group].maps;
  }

  // The worker's first item is found by a short way by everyone who needs it early. Read where the
  // parameters come in, ahead of their copy in shared memory.
  __device__ bool has_first_item() const {
    return static_cast<std::uint32_t>(worker) < arguments.header.units.count;
  }
  __device__ WorkItem first_item() const {
    return arguments.header.units.of(static_cast<std::uint32_t>(worker));
  }
  // Likewise for groups, once the kernel before is done.
  __device__ bool was_given_first_item() const {
    return arguments.header.first_items != nullptr &&
           arguments.header.first_items[worker].peers != kNoPeers;
  }

  // Tensor maps in global memory were written through another proxy than the one that reads them.
  __device__ void see_tensor_map(const CUtensorMap& map) const {
    if (!kConfig.is_plain && arguments.header.tasks != nullptr) {
      ::cuda::ptx::fence_proxy_tensormap_generic(::cuda::ptx::sem_acquire, ::cuda::ptx::scope_gpu,
                                                 &map, ::cuda::ptx::n32_t<128>{});
    }
  }

  // Barriers are set up and the header is copied once the block has started. Those of a cluster
  // may be used by its other blocks once the cluster has.
  __device__ void arrive_at_start() const { ptx::barrier_arrive<kConfig.threads()>(kStartBarrier); }
  __device__ void wait_for_start() const { ptx::barrier_wait<kConfig.threads()>(kStartBarrier); }
  __device__ void arrive_at_cluster() const {
    if (blocks > 1) ::cuda::ptx::barrier_cluster_arrive(::cuda::ptx::sem_relaxed);
  }
  __device__ void wait_for_cluster() const {
    if (blocks > 1) ::cuda::ptx::barrier_cluster_wait();
  }

 private:
  static constexpr int kStartBarrier = 0;
};

}  // namespace tessera::cuda
