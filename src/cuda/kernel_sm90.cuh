// The Hopper kernel: persistent, warp-specialised, one for all schedules. A worker is a cluster of
// blocks, whose shape is the launch's choice, and each block has these roles:
//
//   dispatcher   one thread: walks the worker's WorkItems and announces them to the others
//   loaders      a thread each for A and B: bring them into the ring of stages by TMA, ahead across
//                items; blocks of the cluster that need the same rows load a share each
//   multipliers  warpgroups of 64 rows each: wgmma, fix-up with the tile's other workers, epilogue
//   recorder     one thread, only in a traced launch: notes when the others were at which item
//
// docs/kernel_sm90.md has the picture. pipeline.cuh has the rings, sm90_epilogue.cuh the way to C.
#pragma once

#include <cstdint>
#include <cuda/ptx>
#include <limits>

#include "cuda/fixup.cuh"
#include "cuda/pipeline.cuh"
#include "cuda/ptx/cluster_arrive.cuh"
#include "cuda/ptx/cluster_store.cuh"
#include "cuda/ptx/elect.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/named_barrier.cuh"
#include "cuda/ptx/prefetch_tensor_map.cuh"
#include "cuda/ptx/setmaxnreg.cuh"
#include "cuda/ptx/smem_descriptor.cuh"
#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/ptx/uniform.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/sm90_arguments.hpp"
#include "cuda/sm90_config.hpp"
#include "cuda/sm90_epilogue.cuh"
#include "cuda/sm90_recorder.cuh"
#include "cuda/sm90_store_lines.cuh"

namespace tessera::cuda {

inline constexpr int kSupplyRegisters = 72;  // dispatcher and loaders
inline constexpr int kMultiplyRegisters = 216;

template <ElementType kType>
struct Sm90Input;
template <>
struct Sm90Input<ElementType::bf16> {
  using type = __nv_bfloat16;
};
template <>
struct Sm90Input<ElementType::f16> {
  using type = __half;
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kConfig.threads(), 1)
    sm90_kernel(const __grid_constant__ Sm90Arguments arguments) {
  namespace cptx = ::cuda::ptx;
  constexpr Sm90Config kConfig = Kernel::kConfig;
  using Input = typename Sm90Input<kConfig.input>::type;
  using Storage = SharedStorage<kConfig>;
  constexpr Sm90Block kBlock = kConfig.block;
  constexpr OperandTile kA = kConfig.a();
  constexpr OperandTile kB = kConfig.b();
  constexpr int kWarpgroups = kConfig.warpgroups();
  constexpr int kThreads = kConfig.threads();
  constexpr int kColumns = kBlock.cols;
  constexpr bool kIsGrouped = kConfig.is_grouped;
  constexpr bool kIsGated = kConfig.is_gated;
  constexpr int kRowsOfC = kConfig.c_rows();
  constexpr bool kAlongK = kConfig.a_k_contiguous;
  constexpr bool kLoadsBoxes = kB.box_lines > 0;
  constexpr int kLoadStep = kConfig.load_step();
  constexpr int kSteps = kSm90BlockK / 16;
  // 16-byte pieces of a partial that a thread has on their way at a time, as registers allow.
  constexpr int kPiecesInFlight = kColumns <= 128 ? 16 : 4;
  constexpr bool kReadsSlotsAnew = !(kIsGrouped && kColumns == 192);  // likewise
  // A single multiplier warpgroup leaves registers enough for all.
  constexpr bool kMovesRegisters = kWarpgroups > 1;

  static_assert(kBlock.rows % kWarpgroupRows == 0,
                "every multiplier warpgroup computes 64 rows of its block's tile");
  static_assert(kColumns % 16 == 0 && kColumns <= 256, "wgmma's N is a multiple of 16 up to 256");
  static_assert(kSm90BlockK == 64, "a stage is one 128-byte swizzle row deep");
  static_assert(sizeof(Storage) <= kSharedBytesLimit, "the stages must fit shared memory");
  static_assert(
      kSupplyRegisters * kWarpgroupThreads + kWarpgroups * kMultiplyRegisters * kWarpgroupThreads <=
          65536,
      "a block has 65536 registers to share out");

  extern __shared__ __align__(1024) std::byte shared_memory[];
  Storage& shared = *reinterpret_cast<Storage*>(shared_memory);

  const int warp = ptx::uniform(static_cast<int>(threadIdx.x) / 32);
  const int warpgroup = warp / 4;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto worker = static_cast<std::int32_t>(cptx::get_sreg_clusterid_x());
  const auto blocks = static_cast<int>(cptx::get_sreg_cluster_nctarank());
  const Sm90Header& header = shared.header;

  struct Place {
    int row;
    int col;
  };
  const auto place_in_cluster = [](const Sm90Shares& shares) -> Place {
    const auto rank = static_cast<int>(cptx::get_sreg_cluster_ctarank());
    return {rank & (shares.cluster_rows - 1), rank >> shares.rows_log2};
  };
  struct Task {
    const Sm90Maps& maps;
    const GroupOperands& operands;
    Columns columns;  // of the block's tile
    bool multiplies;
    bool store_by_tma;
  };
  // As the group's record has it.
  const auto task_of = [&](const Sm90Header& from, const WorkItem& item) -> Task {
    const int tile = item.tile_n * from.shares.cluster_cols + place_in_cluster(from.shares).col;
    Columns columns{tile * kColumns, kColumns};
    if (from.tasks == nullptr) {
      return {arguments.maps, from.operands, columns, from.multiplies, from.store_by_tma};
    }
    const Sm90Task& task = from.tasks[item.group];
    if constexpr (kIsGrouped) {
      columns.first = task.columns.first_step(tile) * kLoadStep;
      const int left = static_cast<int>(task.operands.n) - columns.first;
      columns.count = min(left, task.columns.steps_of(tile) * kLoadStep);
    }
    return {task.maps, task.operands, columns, task.multiplies, task.store_by_tma};
  };
  // What the ring has of it, with an item where it lies there.
  const auto view_of = [&](const Sm90Header& from, const WorkItem& item) -> GroupView {
    const Task task = task_of(from, item);
    return {task.columns, task.multiplies, task.store_by_tma};
  };
  const auto task_in_ring = [&](const WorkItem& item) -> Task {
    if constexpr (kIsGrouped) {
      const Sm90Task& task = header.tasks[item.group];
      const GroupView& view = shared.views[&item - shared.items];
      return {task.maps, task.operands, view.columns, view.multiplies, view.store_by_tma};
    } else {
      return task_of(header, item);
    }
  };
  // Tensor maps in global memory were written through another proxy than the one that reads them.
  const auto see_tensor_map = [&](const CUtensorMap& map) {
    if (arguments.header.tasks != nullptr) {
      cptx::fence_proxy_tensormap_generic(cptx::sem_acquire, cptx::scope_gpu, &map,
                                          cptx::n32_t<128>{});
    }
  };
  constexpr int kStartBarrier = 0;
  const auto wait_for_start = [&] { ptx::barrier_wait<kThreads>(kStartBarrier); };
  const auto wait_for_cluster = [&] {
    if (blocks > 1) cptx::barrier_cluster_wait();
  };

  // The worker's first item is found by a short way by everyone who needs it early. Read where the
  // parameters come in, ahead of their copy in shared memory.
  const auto has_first_item = [&] {
    return static_cast<std::uint32_t>(worker) < arguments.header.first.units;
  };
  const auto first_item = [&] {
    return arguments.header.first.of(static_cast<std::uint32_t>(worker));
  };
  // Likewise for sizes that the device knows, once the kernel before is done.
  const auto was_given_first_item = [&] {
    return arguments.header.first_items != nullptr &&
           arguments.header.first_items[worker].peers != kNoPeers;
  };

  // The next unit that nobody has, the same for all blocks of the cluster. `round` counts the
  // calls.
  const auto claim_unit = [&](std::uint32_t round) -> std::int32_t {
    if (cptx::get_sreg_cluster_ctarank() == 0) {
      const std::int32_t unit = atomicAdd(&header.line->next_unit, 1);
      if (blocks > 1) wait_for(shared.claim_empty, round % 2 ^ 1);
      for (int block = 1; block < blocks; ++block) {
        ptx::store_to_block(&shared.claimed_unit, unit, &shared.claim_full, block);
      }
      return unit;
    }
    cptx::mbarrier_arrive_expect_tx(cptx::sem_release, cptx::scope_cta, cptx::space_shared,
                                    &shared.claim_full, sizeof shared.claimed_unit);
    wait_for(shared.claim_full, round % 2);
    const std::int32_t unit = *const_cast<volatile std::int32_t*>(&shared.claimed_unit);
    ptx::arrive_at_block(&shared.claim_empty, 0);
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
  // The run of the worker's own, then units that it claims, each when its loader comes to the end
  // of the one before: later it would have to wait, sooner another worker might be free first.
  const auto dispatch_claims = [&](ItemWriter<Storage>& writer) {
    std::uint32_t announced = 0;
    const auto announce = [&](const WorkItem& item) {
      writer.announce(item, view_of(header, item));
      ++announced;
    };
    const auto wait_for_loader = [&] {
      if (announced > 0) wait_for(shared.claim_wanted, (announced - 1) % 2);
    };
    const std::int64_t first = header.partition.stream_tiles;
    const std::int64_t units = (header.tiles - first) * header.partition.splits;
    if (first > 0) {
      shared.space.tiles = first;
      for (const WorkItem& item : items_of(shared.space, header.partition, worker)) {
        announce(item);
        wait_for_loader();
      }
      shared.space.tiles = header.tiles;
    }
    // Of so many workers each has but one unit: that of its own number.
    shared.header.partition.workers = std::numeric_limits<std::int32_t>::max();
    std::int32_t group = 0;  // of the last unit; the next is never in one before it
    std::int32_t unit = worker;
    for (std::uint32_t round = 0; unit < units; ++round) {
      if (round == 0 && was_given_first_item()) {  // and dispatch has announced it
        group = header.first_items[worker].group;
        ++announced;
      } else if (header.partition.splits == 1) {
        const std::int64_t tile = first + unit;
        group = next_group(group, tile);
        announce(whole_tile(shared.space, header.partition, group, tile));
      } else {
        const auto item = items_of(shared.space, header.partition, unit).begin();
        if (item != WorkItems::End{}) announce(*item);
      }
      wait_for_loader();
      unit = claim_unit(round);
    }
    writer.close();
  };

  const auto dispatch = [&] {
    ItemWriter<Storage> writer(shared);
    bool is_announced = true;
    if (has_first_item()) {
      writer.announce(first_item());
    } else if (was_given_first_item()) {
      const WorkItem item = arguments.header.first_items[worker];
      if constexpr (kIsGrouped) {
        writer.announce(item, view_of(arguments.header, item));
      } else {
        writer.announce(item);
      }
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
      dispatch_claims(writer);
    } else {
      for (const WorkItem& item : items_of(space, header.partition, worker)) {
        if (!is_announced) writer.announce(item);
        is_announced = false;
      }
      writer.close();
    }
  };

  // A block's share of an operand's tile, and the blocks of the cluster that need the same.
  struct Share {
    int first;  // line of each box
    bool multicasts;
    std::uint16_t blocks;
  };
  // `outside` is the first row of A or column of B.
  const auto load_operand = [&]<OperandTile kOperand>(const CUtensorMap& map, std::byte* stage,
                                                      Barrier& full, int outside, int k,
                                                      const Share& share) {
    (kOperand.k_contiguous ? outside : k) += share.first;
#pragma unroll
    for (int slab = 0; slab < kOperand.slabs(); ++slab) {
      std::byte* const to =
          stage + slab * kOperand.slab_bytes() + share.first * kOperand.swizzle_bytes();
      const int inner = (kOperand.k_contiguous ? k : outside) + slab * kOperand.box_inner();
      const std::int32_t at[2] = {inner, kOperand.k_contiguous ? outside : k};
      if (share.multicasts) {
        cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, to, &map, at, &full,
                                   share.blocks);
      } else {
        cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, to, &map, at, &full);
      }
    }
  };

  // By a whole warp, of which one thread loads A or B. All that can be known beforehand is found
  // before the waiting.
  const auto load = [&]<bool kIsA>() {
    const Sm90Header& own = arguments.header;
    const Sm90Shares& shares = own.shares;
    const Place place = place_in_cluster(shares);
    const Share share =
        kIsA ? Share{place.col * shares.a_lines, shares.cluster_cols > 1,
                     static_cast<std::uint16_t>(shares.a_ranks << place.row)}
             : Share{place.row * shares.b_lines, shares.cluster_rows > 1,
                     static_cast<std::uint16_t>(shares.b_ranks << (place.col << shares.rows_log2))};
    const auto expect = [&](Barrier& full, int bytes) {
      cptx::mbarrier_arrive_expect_tx(cptx::sem_release, cptx::scope_cta, cptx::space_shared, &full,
                                      bytes);
    };
    // The gated pair's A is half gate and half up.
    const auto load_a = [&](const Sm90Maps& maps, Barrier& full, int slot, int row, int k) {
      expect(full, kA.bytes());
      if constexpr (kIsGated) {
        constexpr OperandTile kHalf = {
            .extent = kRowsOfC, .block_k = kSm90BlockK, .k_contiguous = kAlongK};
        load_operand.template operator()<kHalf>(maps.a, shared.a[slot], full, row, k, share);
        load_operand.template operator()<kHalf>(maps.up, shared.a[slot] + kHalf.bytes(), full, row,
                                                k, share);
      } else {
        load_operand.template operator()<kA>(maps.a, shared.a[slot], full, row, k, share);
      }
    };
    // In groups B comes in boxes, as many as have columns of C; the blocks that need the same take
    // turns.
    const auto load_b = [&](const Sm90Maps& maps, Barrier& full, int slot, int col, int k,
                            int boxes) {
      if constexpr (!kLoadsBoxes) {
        expect(full, kB.bytes());
        load_operand.template operator()<kB>(maps.b, shared.b[slot], full, col, k, share);
        return;
      }
      constexpr int kBoxBytes = kB.box_outer() * kB.swizzle_bytes();
      expect(full, boxes * kBoxBytes);
      for (int box = place.row; box < boxes; box += shares.cluster_rows) {
        std::byte* const to = shared.b[slot] + box * kBoxBytes;
        const std::int32_t at[2] = {k, col + box * kLoadStep};
        if (share.multicasts) {
          cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, to, &maps.b, at,
                                     &full, share.blocks);
        } else {
          cptx::cp_async_bulk_tensor(cptx::space_cluster, cptx::space_global, to, &maps.b, at,
                                     &full);
        }
      }
    };

    struct Run {  // the part of an item that is loaded
      const Sm90Maps* maps = nullptr;
      int outside = 0;
      int k = 0;
      int end = 0;
      int claims_at = 0;
      int boxes = 0;
    };
    const auto run_of = [&](const WorkItem& item) -> Run {
      const Task task = task_of(own, item);
      if (!task.multiplies) return {};
      Run run{.maps = &task.maps,
              .outside = (item.tile_m * shares.cluster_rows + place.row) * kRowsOfC,
              .k = item.k_begin * kSm90BlockK,
              .end = item.k_end * kSm90BlockK,
              .claims_at = max(item.k_begin, item.k_end - kClaimIterations) * kSm90BlockK};
      if constexpr (!kIsA) {
        run.outside = task.columns.first;
        run.boxes = task.columns.count <= 0 ? 0 : (task.columns.count + kLoadStep - 1) / kLoadStep;
      }
      return run;
    };

    WorkItem item;
    Run run;
    bool found = has_first_item();
    if (found) {
      item = first_item();
      run = run_of(item);
    }
    if constexpr (!kIsA) wait_for_start();
    wait_for_cluster();
    ptx::wait_for_previous_kernel();
    if (!ptx::elect_one()) return;

    RingCursor<kBlock.stages> stage;
    ItemReader<Storage> items(shared);
    if (!found) {
      found = was_given_first_item();
      if (found) {
        item = own.first_items[worker];
      } else {
        found = items.read(item);
      }
      if (found) run = run_of(item);
    }
    std::int32_t seen = -1;  // the group whose tensor maps were last looked at
    while (found) {
      if (run.k < run.end && item.group != seen) {
        if constexpr (kIsA) {
          see_tensor_map(run.maps->a);
          if constexpr (kIsGated) see_tensor_map(run.maps->up);
        } else {
          see_tensor_map(run.maps->b);
        }
        seen = item.group;
      }
      if (kIsGrouped && kIsA && run.k >= run.end) arrive(shared.claim_wanted);
      for (; run.k < run.end; run.k += kSm90BlockK) {
        if (kIsGrouped && kIsA && run.k == run.claims_at) arrive(shared.claim_wanted);
        wait_until_empty(shared.stage_empty, stage);
        Barrier& full = shared.stage_full[stage.slot];
        if constexpr (kIsA) {
          load_a(*run.maps, full, stage.slot, run.outside, run.k);
        } else {
          load_b(*run.maps, full, stage.slot, run.outside, run.k, run.boxes);
        }
        stage.advance();
      }
      items.release();
      found = items.read(item);
      if (found) run = run_of(item);
    }
    // A block's shared memory must outlive its neighbours' arrivals; what they multicast has been
    // multiplied.
    if (kIsA && blocks > 1) {
      for (int i = 0; i < kBlock.stages; ++i) {
        wait_until_empty(shared.stage_empty, stage);
        stage.advance();
      }
    }
  };

  const auto record = [&] {
    Sm90Recorder<kConfig>(shared).record(header.trace, worker, blocks, [&](const WorkItem& item) {
      return task_of(header, item).multiplies ? item.k_end - item.k_begin : 0;
    });
  };

  const auto multiply = [&] {
    // Taken apart from the header anew at each use, and so that the compiler does it: registers are
    // scarce.
    const auto own_fixup_space = [&]() -> FixupSpace {
      const int part = static_cast<int>(cptx::get_sreg_cluster_ctarank()) * kWarpgroups +
                       ptx::thread_in_block() / kWarpgroupThreads;
      void* slots = nullptr;
      if constexpr (kReadsSlotsAnew) {
        slots = *const_cast<void* const volatile*>(&header.fixup.slots);
      } else {
        slots = header.fixup.slots;
      }
      return {static_cast<std::byte*>(slots) + part * header.fixup_part_bytes,
              header.fixup.counters + part * header.fixup_part_counters,
              header.fixup.counters_per_level};
    };
    const auto any_of_warpgroup = [&](bool mine) {
      return ptx::barrier_any<kWarpgroupThreads>(1 + ptx::thread_in_block() / kWarpgroupThreads,
                                                 mine);
    };
    using DescriptorA =
        ptx::MatrixDescriptor<kA.swizzle_bytes(), kA.slab_bytes(), kA.descriptor_stride()>;
    using DescriptorB =
        ptx::MatrixDescriptor<kB.swizzle_bytes(), kB.slab_bytes(), kB.descriptor_stride()>;
    const std::uint32_t first_a = DescriptorA::low_half(
        shared.a[0] + warpgroup * kWarpgroupRows * kSm90BlockK * kElementBytes);
    const std::uint32_t first_b = DescriptorB::low_half(shared.b[0]);

    float sums[kConfig.sums_per_thread()];
    RingCursor<kBlock.stages> stage;

    const auto release = [&](int slot) {
      if (lane < blocks) ptx::arrive_at_block(&shared.stage_empty[slot], lane);
    };

    // sums = A·B over the item's iterations, of the first kWidth columns. One stage's wgmmas run
    // while the next is waited for.
    const auto accumulate = [&]<int kWidth>(int iterations) {
      auto& part = reinterpret_cast<float(&)[kWidth / 2]>(sums);
      int previous = 0;
      for (int i = 0; i < iterations; ++i) {
        wait_until_full(shared.stage_full, stage);
        ptx::hold_registers(part);
        ptx::wgmma_fence();
        const std::uint32_t a = DescriptorA::advanced(first_a, stage.slot * kA.bytes());
        const std::uint32_t b = DescriptorB::advanced(first_b, stage.slot * kB.bytes());
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          ptx::Wgmma<Input, kWidth, !kA.k_contiguous, !kB.k_contiguous>::multiply(
              part, DescriptorA::at(a, step * kA.step_bytes()),
              DescriptorB::at(b, step * kB.step_bytes()), i > 0 || step > 0);
        }
        ptx::wgmma_commit();
        ptx::hold_registers(part);
        ptx::wgmma_wait<1>();
        if (i > 0) release(previous);
        previous = stage.slot;
        stage.advance();
      }
      ptx::wgmma_wait<0>();
      ptx::hold_registers(part);
      if (iterations > 0) release(previous);
    };

    // No wider than the columns that the tile has.
    const auto accumulate_columns = [&]<int kWidth>(auto self, int columns,
                                                    int iterations) -> void {
      if constexpr (kWidth < kColumns) {
        if (columns > kWidth) {
          self.template operator()<kWidth + kGroupStep>(self, columns, iterations);
          return;
        }
      }
      accumulate.template operator()<kWidth>(iterations);
    };

    // Of the previous C, while the tile is multiplied.
    const auto ask_for_c = [&](const WorkItem& item) {
      const Task task = task_of(header, item);
      const int thread = ptx::thread_in_block();
      const Place place = place_in_cluster(header.shares);
      const std::int64_t tile_row = item.tile_m * header.shares.cluster_rows + place.row;
      const std::int64_t tile_col = item.tile_n * header.shares.cluster_cols + place.col;
      prefetch_c<kConfig>(header.epilogue, task.operands,
                          tile_row * kBlock.rows + thread / 32 * kWarpRows, tile_col * kBlock.cols,
                          thread % 32);
    };

    const auto finish = [&](const WorkItem& item) {
      // Its own, not the kernel's: addresses are not kept across the main loop.
      const int warp = ptx::thread_in_block() / 32;
      const Task task = task_in_ring(item);
      const Place place = place_in_cluster(header.shares);
      const std::int64_t tile_row = item.tile_m * header.shares.cluster_rows + place.row;
      const Columns columns = task.columns;
      WarpTile tile{.row = tile_row * kBlock.rows + warp * kWarpRows,
                    .col = columns.first,
                    .staging = shared.staging[warp],
                    .lane = ptx::thread_in_block() % 32,
                    .warp = warp % 4};
      if constexpr (kIsGated) {
        tile.row = tile_row * kRowsOfC;
        tile.staging = shared.staging[warp - tile.warp];
        if (tile.lane == 0 && tile.warp == 0) see_tensor_map(task.maps.c);
        store_gated<Input, kConfig>(sums, header.epilogue.activation, &task.maps.c, tile, warp / 4,
                                    columns.count);
      } else {
        const auto alpha = static_cast<float>(header.epilogue.alpha);
        if (!task.store_by_tma) {
          // The tile before may have left by TMA, which still reads the staging memory.
          if (tile.lane == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
          ptx::barrier_wait<kWarpgroupThreads>(1 + warp / 4);
          store_by_lines<kConfig>(sums, header.epilogue, task.operands, tile,
                                  kIsGrouped ? tile.col + columns.count : task.operands.n);
          return;
        }
        // Of each warp, the one lane that may store.
        if (tile.lane == 0) see_tensor_map(task.maps.c);
        if constexpr (!kIsGrouped) {
          if (header.epilogue.c_type == ElementType::f32) {
            store_f32_by_tma<kConfig>(sums, alpha, &task.maps.c, tile, header.stores_dense_rows);
            return;
          }
        }
        if (header.stores_dense_rows) {
          store_rows_by_tma<Input, kConfig>(sums, alpha, &task.maps.c, tile, columns.count);
        } else {
          tile.row -= tile.warp * kWarpRows;
          tile.staging = shared.staging[warp - tile.warp];
          store_columns_by_tma<Input, kConfig>(sums, alpha, &task.maps.c, tile, 1 + warp / 4,
                                               columns.count);
        }
      }
    };

    for (const WorkItem& item : items_for_warp(shared)) {
      ptx::forget_registers(sums);
      const Task task = task_in_ring(item);
      if constexpr (!kIsGrouped) {
        if (header.epilogue.beta != 0 && item.is_whole_tile()) ask_for_c(item);
      }
      if (task.multiplies) {
        const int iterations = ptx::uniform(item.k_end - item.k_begin);
        if constexpr (kIsGrouped) {
          accumulate_columns.template operator()<kGroupStep>(accumulate_columns, task.columns.count,
                                                             iterations);
        } else {
          accumulate.template operator()<kColumns>(iterations);
        }
      } else {
#pragma unroll
        for (float& sum : sums) sum = 0;
      }
      if (item.is_whole_tile() ||
          fix_up<kWarpgroupThreads, kPiecesInFlight>(item, own_fixup_space, sums,
                                                     ptx::thread_in_block() % kWarpgroupThreads,
                                                     any_of_warpgroup)) {
        finish(item);
      }
    }
    // Shared memory must outlive the stores that read it.
    if (lane == 0) cptx::cp_async_bulk_wait_group_read(cptx::n32_t<0>{});
  };

  const auto give_up_registers = [] {
    if constexpr (kMovesRegisters) ptx::give_registers_up_to<kSupplyRegisters>();
  };
  constexpr int kLoaderOfA = kWarpgroups * 4;
  constexpr int kDispatcher = kLoaderOfA + 1;
  constexpr int kRecorder = kLoaderOfA + 2;
  constexpr int kLoaderOfB = kLoaderOfA + 3;
  // The block can do nothing before its first load, whose code therefore comes first.
  if (warp == kLoaderOfA) [[likely]] {
    if (ptx::elect_one()) {
      shared.initialize_barriers(blocks, arguments.header.trace.blocks != nullptr);
    }
    __syncwarp();
    if (blocks > 1) cptx::barrier_cluster_arrive(cptx::sem_relaxed);
    ptx::barrier_arrive<kThreads>(kStartBarrier);
    give_up_registers();
    load.template operator()<true>();
  } else if (warp == kLoaderOfB) {
    if (blocks > 1) cptx::barrier_cluster_arrive(cptx::sem_relaxed);
    give_up_registers();
    load.template operator()<false>();
  } else {
    if (warp == kDispatcher && ptx::elect_one()) {
      ptx::prefetch_tensor_map(&arguments.maps.a);
      ptx::prefetch_tensor_map(&arguments.maps.b);
      ptx::prefetch_tensor_map(&arguments.maps.c);
    }
    __syncwarp();
    if (blocks > 1) cptx::barrier_cluster_arrive(cptx::sem_relaxed);
    shared.copy_header(arguments.header, warp < kLoaderOfA ? warp : warp - 1);
    if (warp > kLoaderOfA) {
      give_up_registers();
    }
    wait_for_start();
    wait_for_cluster();
    ptx::wait_for_previous_kernel();
    ptx::let_next_kernel_start();
    if (warp == kDispatcher) {
      if (ptx::elect_one()) dispatch();
    } else if (warp == kRecorder) {
      if (header.trace.blocks != nullptr && ptx::elect_one()) record();
    } else if (warp < kLoaderOfA) {
      if constexpr (kMovesRegisters) ptx::take_registers_up_to<kMultiplyRegisters>();
      multiply();
    }
  }
  // Claims are sent from block to block to the very end.
  if (kIsGrouped && blocks > 1) {
    __syncwarp();
    cptx::barrier_cluster_arrive(cptx::sem_relaxed);
    cptx::barrier_cluster_wait();
  }
}

}  // namespace tessera::cuda
