// The dispatcher of a Hopper block: one thread that walks the worker's WorkItems and announces them
// to the other roles through the ring of items (pipeline.cuh). In kernels for groups it claims
// them.
#pragma once

#include <cstdint>
#include <cuda/ptx>

#include "cuda/pipeline.cuh"
#include "cuda/ptx/cluster_arrive.cuh"
#include "cuda/ptx/cluster_store.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/sm90_block.cuh"
#include "cuda/sm90_cut_tiles.cuh"
#include "schedule/partition.hpp"

namespace tessera::cuda {

// `has_first_tile`: of cut rows, the worker's first lies prepared in the ring.
template <Sm90Config kConfig>
__device__ __forceinline__ void dispatch(const BlockContext<kConfig>& block, bool has_first_tile) {
  namespace cptx = ::cuda::ptx;
  using Storage = SharedStorage<kConfig>;
  constexpr bool kIsGrouped = kConfig.is_grouped;
  const Sm90Arguments& arguments = block.arguments;
  Storage& shared = block.shared;
  const Sm90Header& header = shared.header;
  const std::int32_t worker = block.worker;
  const int blocks = block.blocks;

  // Without a prologue there is a claim for each tile, for those that find none are as many as
  // first tiles; the last one leaves the counter as it was.
  const auto claim = [&]() -> std::int32_t {
    if (!block.stands_alone()) return atomicAdd(&header.line->next_unit, 1);
    const std::int32_t before = atomicAdd(header.claims, 1);
    if (before + 1 == arguments.cut.whole_tiles(shared.cut_groups)) *header.claims = 0;
    return header.partition.workers + before;
  };
  // The next unit that nobody has, the same for all blocks of the cluster. `round` counts the
  // calls.
  const auto claim_unit = [&](std::uint32_t round) -> std::int32_t {
    if (cptx::get_sreg_cluster_ctarank() == 0) {
      const std::int32_t unit = claim();
      if (blocks > 1) wait_for(shared.claims.empty, round % 2 ^ 1);
      for (int rank = 1; rank < blocks; ++rank) {
        ptx::store_to_block(&shared.claims.unit, unit, &shared.claims.full, rank);
      }
      return unit;
    }
    cptx::mbarrier_arrive_expect_tx(cptx::sem_release, cptx::scope_cta, cptx::space_shared,
                                    &shared.claims.full, sizeof shared.claims.unit);
    wait_for(shared.claims.full, round % 2);
    const std::int32_t unit = *const_cast<volatile std::int32_t*>(&shared.claims.unit);
    ptx::arrive_at_first_block_after(unit, &shared.claims.empty);
    return unit;
  };
  // The group of a tile that follows one of `group`: mostly the same or the next with tiles.
  const auto next_group = [&](std::int32_t group, std::int64_t tile) -> std::int32_t {
    constexpr int kSteps = 4;
    for (int step = 0; step < kSteps; ++step) {
      if (group + 1 == header.group_count || shared.space.groups[group + 1].first_tile > tile) {
        return group;
      }
      ++group;
    }
    return shared.space.group_of_tile(tile);
  };
  ItemWriter<Storage> writer(shared);
  std::uint32_t announced = 0;
  const auto announce = [&](const WorkItem& item, const GroupView& view) {
    writer.announce(item, view);
    ++announced;
  };
  // A unit is claimed when the loader comes to the end of the one before: later it would have to
  // wait, sooner another worker might be free first.
  std::uint32_t claims = 0;
  const auto next_unit = [&]() -> std::int32_t {
    if (announced > 0) wait_for(shared.claims.wanted, (announced - 1) % 2);
    return claim_unit(claims++);
  };
  // The first block's shared memory must outlive the others' arrivals there, of which it has not
  // waited for the last.
  const auto close = [&] {
    writer.close();
    if (blocks > 1 && claims > 0 && cptx::get_sreg_cluster_ctarank() == 0) {
      wait_for(shared.claims.empty, (claims - 1) % 2);
    }
  };
  // Of cut rows, the whole tiles that the worker claims: they wait for nothing but the claim.
  // Returns the first unit that is none.
  const auto dispatch_tiles = [&]() -> std::int32_t {
    const std::int32_t tiles = arguments.cut.whole_tiles(shared.cut_groups);
    for (;;) {
      const std::int32_t unit = next_unit();
      if (unit >= tiles) return unit;
      const CutTile tile = cut_tile(block, unit);
      announce(tile.item, tile.view);
    }
  };
  // The run of the worker's own, then units that it claims, the first of which is `unit`; `given`
  // is the group of one that has been announced, below 0 where none has.
  const auto dispatch_claims = [&](std::int32_t unit, std::int32_t given) {
    const std::int64_t first = header.partition.stream_tiles;
    const std::int64_t units = claimed_units(header.partition, header.tiles);
    if (first > 0) {
      shared.space.tiles = first;
      for (const WorkItem& item : items_of(shared.space, header.partition, worker)) {
        announce(item, block.view_of(header, item));
        wait_for(shared.claims.wanted, (announced - 1) % 2);
      }
      shared.space.tiles = header.tiles;
    }
    shared.header.partition = after_whole_tiles(header.partition);
    bool was_announced = given >= 0;
    std::int32_t group = max(given, 0);  // of the last unit; the next is never in one before it
    for (; unit < units; unit = next_unit()) {
      if (was_announced) {
        was_announced = false;
      } else if (unit < header.partition.whole_tiles) {
        const std::int64_t tile = first + unit;
        group = next_group(group, tile);
        const WorkItem item = whole_tile(shared.space, header.partition, group, tile);
        announce(item, block.view_of(header, item));
      } else {
        const auto piece = static_cast<std::int32_t>(unit - header.partition.whole_tiles);
        const WorkItem item = claimed_piece(shared.space, header.partition, piece);
        if (item.peers != kNoPeers) announce(item, block.view_of(header, item));
      }
    }
    close();
  };

  if constexpr (!kIsGrouped) {
    // The walk over any partition is far more code, and neither a second tile nor the end of the
    // last one can come before it is announced.
    const auto units = static_cast<std::int32_t>(header.units.count);
    if (units > 0) {
      for (std::int32_t unit = worker; unit < units; unit += header.partition.workers) {
        writer.announce(header.units.of(static_cast<std::uint32_t>(unit)));
      }
      writer.close();
      return;
    }
  }
  bool is_announced = true;
  std::int32_t unit = worker;
  std::int32_t given = -1;
  if constexpr (kIsGrouped) {
    if (has_first_tile) {
      writer.announce_prepared();
      ++announced;
    }
    ptx::wait_for_previous_kernel();
    ptx::let_next_kernel_start();
    if (has_first_tile) {
      unit = dispatch_tiles();
    } else if (block.was_given_first_item()) {
      const WorkItem item = arguments.header.first_items[worker];
      announce(item, block.view_of(arguments.header, item));
      given = item.group;
    }
    if (block.stands_alone()) {
      close();
      return;
    }
  } else if (block.was_given_first_item()) {
    writer.announce(arguments.header.first_items[worker]);
  } else {
    is_announced = false;
  }
  if (header.line != nullptr) {
    shared.header.partition = header.line->partition;
    shared.header.tiles = header.line->tiles;
    shared.header.iterations = header.line->iterations;
  }
  IterationSpace& space = shared.space;
  space = {header.tasks == nullptr ? &header.extent : header.extents, header.group_count,
           header.tiles, header.iterations};
  if constexpr (kIsGrouped) {
    dispatch_claims(unit, given);
  } else {
    for (const WorkItem& item : items_of(space, header.partition, worker)) {
      if (!is_announced) writer.announce(item);
      is_announced = false;
    }
    writer.close();
  }
}

}  // namespace tessera::cuda
