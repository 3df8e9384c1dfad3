#include "cuda/launch_ragged.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/sm90_tiles.hpp"
#include "core/turned_axis.hpp"
#include "cuda/check.hpp"
#include "cuda/group_prologue.cuh"
#include "cuda/group_records.hpp"
#include "cuda/launch_general.hpp"
#include "cuda/launch_trace.hpp"
#include "cuda/sm90_launch.hpp"

namespace tessera::cuda {
namespace {

LineTile line_tile(const TileConfig& tile, bool is_turned) {
  return {tile.block_m, tile.block_n, tile.block_k, is_turned};
}

// Maps that are right in everything that all groups share. Addresses, extents and strides are set
// on the device; those here only have to look right.
Sm90Maps template_maps(const Sm90Launch& launch, ElementType type, ElementType c_type,
                       bool may_store, const void* address) {
  const auto request = [&](ElementType of, int inner, int outer, int swizzle) {
    return TensorMapRequest{.data = address,
                            .type = of,
                            .inner = inner,
                            .outer = outer,
                            .stride = inner,
                            .box_inner = inner,
                            .box_outer = outer,
                            .swizzle_bytes = swizzle};
  };
  const auto operand = [&](const OperandTile& tile) {
    return request(type, tile.box_inner(), tile.box_outer(), tile.swizzle_bytes());
  };
  Sm90Maps maps = {};
  maps.a = make_tensor_map(operand(launch.a()), "A");
  maps.b = make_tensor_map(operand(launch.b()), "B");
  maps.up = maps.a;
  if (may_store) {
    const StoreBox box = launch.store_box(c_type);
    maps.c = make_tensor_map(request(c_type, box.inner(), box.outer(), box.swizzle_bytes()), "C");
  }
  return maps;
}

GroupPrologue prologue_of(const Plan& plan, const DeviceGroups& groups, const LineTile& tile,
                          std::byte* workspace) {
  GroupPrologue prologue;
  prologue.groups = groups;
  prologue.tile = tile;
  prologue.schedule = plan.schedule;
  prologue.fault = reinterpret_cast<FoundFault*>(workspace + WorkspaceLayout::kFaultOffset);
  return prologue;
}

TracedLaunch traced_launch(const Plan& plan, std::int64_t tiles) {
  const std::int64_t pieces =
      plan.schedule.kind == ScheduleKind::split_k ? plan.schedule.splits : 1;
  return {.workers = plan.schedule.workers,
          .items_per_worker = most_claims(tiles * pieces),
          .items_at_once = takes_turns(plan.tile) ? 2U : 1U};
}

// Lines of a matrix for every group, one below the other, as one matrix.
struct StackedLines {
  TensorMapRequest map;
  std::int64_t of_group = 0;
};

// Rows of one matrix, cut by offsets, that are multiplied by weights at even distances from one
// another: a tensor map for each operand then serves all groups.
class SharedMaps {
 public:
  SharedMaps(const Sm90Launch& launch, const Plan& plan, const DeviceGroups& groups)
      : launch_(launch), plan_(plan), groups_(groups) {}

  // Sets `arguments.cut` and the maps of A and B where that is so; else the records have maps.
  void set(Sm90Arguments& arguments, bool stores_by_tma) const {
    const GroupSizes& sizes = groups_.sizes;
    const StackedLines weights = weights_of(groups_.b);
    const TensorMapRequest rows = rows_of_all();
    if (!is_possible(weights, rows, stores_by_tma)) return;
    const LineTile tile = line_tile(launch_.tile, true);
    CutRows& cut = arguments.cut;
    cut.groups = sizes.groups;
    cut.rows = static_cast<std::int32_t>(sizes.bound_m);
    cut.offsets = sizes.values;
    cut.has_ends_only = sizes.has_ends_only;
    cut.stores_by_tma = stores_by_tma;
    cut.grid_m = static_cast<std::int32_t>(ceil_div(sizes.bound_n, tile.block_m));
    cut.iterations = static_cast<std::int32_t>(ceil_div(sizes.bound_k, tile.block_k));
    cut.held_back = tiles_in_pieces(plan_.schedule);
    cut.rows_of_tile = Reciprocal::of(static_cast<std::uint32_t>(tile.block_n));
    cut.lines_of_group = static_cast<std::int32_t>(weights.of_group);
    cut.set_order(plan_.schedule.order, plan_.schedule.group_m);
    arguments.column_steps = launch_.column_steps(sizes.bound_k);

    arguments.maps.a = make_tensor_map(weights.map, "B");
    arguments.maps.b = make_tensor_map(rows, "A");
    if (launch_.config.is_gated) {
      TensorMapRequest up = weights.map;
      up.data = groups_.up.base;
      arguments.maps.up = make_tensor_map(up, "B of up");
    }
  }

  // One map of C as well, where all tiles are whole and leave by TMA: then no prologue is needed.
  bool set_c(Sm90Arguments& arguments, bool stores_by_tma) const {
    if (!stores_by_tma || tiles_in_pieces(plan_.schedule) != 0 || launch_.config.is_gated) {
      return false;
    }
    const GroupSizes& sizes = groups_.sizes;
    const OperandRule& c = groups_.c;
    const StoreBox box = launch_.store_box(plan_.problem.types.c);
    const TensorMapRequest map{.data = c.base,
                               .type = plan_.problem.types.c,
                               .inner = sizes.bound_n,
                               .outer = sizes.bound_m,
                               .stride = c.row_stride,
                               .box_inner = box.inner(),
                               .box_outer = box.outer(),
                               .swizzle_bytes = box.swizzle_bytes()};
    if (c.begin_stride != c.row_stride || !fits_tensor_map(map)) return false;
    arguments.maps.c = make_tensor_map(map, "C");
    arguments.header.operands.c = const_cast<void*>(c.base);
    arguments.header.operands.m = sizes.bound_n;
    arguments.header.operands.c_col_stride = c.row_stride;
    return true;
  }

 private:
  // The kernel's A: rows along N, or, where K is not what is dense, along K.
  StackedLines weights_of(const OperandRule& rule) const {
    const GroupSizes& sizes = groups_.sizes;
    const OperandTile tile = launch_.a();
    const bool along_k = tile.k_contiguous;
    StackedLines lines;
    lines.map = {.data = rule.base,
                 .type = plan_.problem.types.b,
                 .inner = along_k ? sizes.bound_k : sizes.bound_n,
                 .stride = along_k ? rule.col_stride : rule.row_stride,
                 .box_inner = tile.box_inner(),
                 .box_outer = tile.box_outer(),
                 .swizzle_bytes = tile.swizzle_bytes(),
                 .may_fetch_pairs = may_fetch_pairs()};
    const std::int64_t stride = lines.map.stride;
    const bool is_even = stride > 0 && rule.group_stride >= 0 && rule.group_stride % stride == 0;
    lines.of_group = is_even ? rule.group_stride / stride : -1;
    lines.map.outer =
        (sizes.groups - 1) * lines.of_group + (along_k ? sizes.bound_n : sizes.bound_k);
    return lines;
  }

  TensorMapRequest rows_of_all() const {
    const GroupSizes& sizes = groups_.sizes;
    const OperandTile tile = launch_.b();
    return {.data = groups_.a.base,
            .type = plan_.problem.types.a,
            .inner = sizes.bound_k,
            .outer = sizes.bound_m,
            .stride = groups_.a.row_stride,
            .box_inner = tile.box_inner(),
            .box_outer = tile.box_outer(),
            .swizzle_bytes = tile.swizzle_bytes(),
            .may_fetch_pairs = may_fetch_pairs()};
  }

  // A gain for the widest tiles, a loss for the others (docs/grouped.md).
  bool may_fetch_pairs() const {
    return launch_.config.block == kSm90Block128x256 && !launch_.config.is_gated;
  }

  bool is_possible(const StackedLines& weights, const TensorMapRequest& rows,
                   bool stores_by_tma) const {
    const Problem& problem = plan_.problem;
    const GroupSizes& sizes = groups_.sizes;
    const Sm90Config& config = launch_.config;
    if (!config.is_grouped || !launch_.transposed || !config.b_k_contiguous ||
        sizes.source != SizeSource::row_segments || problem.alpha == 0) {
      return false;
    }
    if (sizes.groups > CutRows::kMostGroups || sizes.bound_m == 0 || sizes.bound_n == 0 ||
        sizes.bound_k == 0) {
      return false;
    }
    if (plan_.schedule.order == TileOrder::hilbert || tiles_in_pieces(plan_.schedule) < 0) {
      return false;
    }
    // Beyond a group's k the next one's weights follow, where those of one k lie side by side;
    // zeros times what is not a number would be none.
    if (!config.a_k_contiguous && sizes.bound_k % kSm90BlockK != 0) return false;
    if (weights.of_group < 0 || !fits_tensor_map(weights.map) || !fits_tensor_map(rows)) {
      return false;
    }
    // What is stored by TMA has to be the same for all groups.
    const OperandRule& c = groups_.c;
    const auto is_line = [&](std::int64_t elements) {
      return elements * c.element_bytes % 16 == 0;
    };
    if (stores_by_tma &&
        (launch_.stores_dense_rows || reinterpret_cast<std::uintptr_t>(c.base) % 16 != 0 ||
         !is_line(c.begin_stride) || !is_line(c.row_stride) || !is_line(sizes.bound_n))) {
      return false;
    }
    // Divisions by the numbers of a tile and of a band are multiplications in 32 bits.
    constexpr std::int64_t kSmall = std::numeric_limits<std::int32_t>::max();
    const LineTile tile = line_tile(launch_.tile, true);
    const std::int64_t tiles = most_tiles(sizes, tile);
    const std::int64_t high =
        plan_.schedule.order == TileOrder::swizzle ? plan_.schedule.group_m : 1;
    return weights.map.outer <= kSmall && (sizes.bound_m + tile.block_n) * tile.block_n <= kSmall &&
           tiles * high <= kSmall && sizes.bound_k <= kSmall - kSm90BlockK;
  }

  const Sm90Launch& launch_;
  const Plan& plan_;
  const DeviceGroups& groups_;
};

WorkspaceLayout layout_of(const Sm90Launch& launch, const Plan& plan, const GroupSizes& sizes) {
  return sm90_layout(launch, roomiest_partition(plan.schedule),
                     most_tiles(sizes, line_tile(launch.tile, launch.transposed)),
                     Records<Sm90Task>::bytes(sizes.groups, plan.schedule.workers));
}

}  // namespace

std::int64_t most_tiles(const GroupSizes& sizes, const LineTile& tile) {
  const std::int32_t rows = tile.is_turned ? tile.block_n : tile.block_m;
  const std::int64_t across = ceil_div(sizes.bound_n, tile.is_turned ? tile.block_m : tile.block_n);
  const std::int64_t down = ceil_div(sizes.bound_m, rows);
  if (sizes.source != SizeSource::row_segments) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    const double all =
        static_cast<double>(sizes.groups) * static_cast<double>(down) * static_cast<double>(across);
    return all < static_cast<double>(kMost) ? sizes.groups * down * across : kMost;
  }
  // A segment has at most one tile that is not full, and none without rows.
  return across * (sizes.bound_m / rows + std::min<std::int64_t>(sizes.groups, sizes.bound_m));
}

Partition roomiest_partition(const Schedule& schedule) {
  Partition partition;
  partition.workers = schedule.workers;
  if (schedule.kind == ScheduleKind::split_k) partition.splits = schedule.splits;
  const bool streams =
      schedule.kind == ScheduleKind::stream_k || schedule.kind == ScheduleKind::hybrid;
  partition.stream_tiles = streams ? 1 : 0;
  return partition;
}

WorkspaceLayout sm90_ragged_workspace(const Plan& plan, const GroupSizes& sizes) {
  return layout_of(resolve(plan), plan, sizes);
}

WorkspaceLayout general_ragged_workspace(const Plan& plan, const GroupSizes& sizes) {
  return general_layout(plan, roomiest_partition(plan.schedule),
                        most_tiles(sizes, line_tile(plan.tile, false)),
                        Records<GroupOperands>::bytes(sizes.groups, 0));
}

const DeviceLine* run_ragged_sm90(const Plan& plan, const DeviceGroups& groups,
                                  ElementType bias_type, const RunOptions& options) {
  Sm90Launch launch = resolve(plan);
  launch.config.is_grouped = launch.entry.has_group_code;
  launch.config.is_gated = groups.up.base != nullptr;
  launch.tile.block_m = launch.tile.block_m / launch.config.block.rows * launch.config.c_rows();
  const Problem& problem = plan.problem;
  const WorkspaceLayout layout = layout_of(launch, plan, groups.sizes);
  std::byte* const workspace = workspace_for(layout, options);
  const Records<Sm90Task> records(workspace + layout.groups_offset, groups.sizes.groups);
  const cudaStream_t stream = stream_of(options);

  TaskTemplate common;
  common.is_turned = launch.transposed;
  common.a_k_contiguous = launch.config.a_k_contiguous;
  common.b_k_contiguous = launch.config.b_k_contiguous;
  common.stores_dense_rows = launch.stores_dense_rows;
  common.multiplies = problem.alpha != 0;
  common.column_steps = launch.column_steps(groups.sizes.bound_k);
  // The gated pair has an epilogue of its own.
  const bool is_plain = problem.epilogue == Epilogue{} || launch.config.is_gated;
  common.may_store_by_tma = problem.beta == 0 && is_plain &&
                            problem.types.c == launch.config.input &&
                            problem.c.major != Major::general;
  common.maps =
      template_maps(launch, problem.types.a, problem.types.c, common.may_store_by_tma, workspace);

  Sm90Arguments arguments;
  Sm90Header& header = arguments.header;
  const SharedMaps shared(launch, plan, groups);
  shared.set(arguments, common.may_store_by_tma);
  const bool needs_prologue =
      arguments.cut.groups == 0 || !shared.set_c(arguments, common.may_store_by_tma);
  if (needs_prologue) {
    GroupPrologue prologue =
        prologue_of(plan, groups, line_tile(launch.tile, launch.transposed), workspace);
    prologue.claims_units = launch.config.is_grouped;
    prologue.extents = records.extents;
    prologue.line = records.line;
    prologue.first_items = arguments.cut.groups > 0 ? nullptr : records.first_items;
    check(start_task_prologue(prologue, common, records.records, stream),
          "reading the groups' sizes");
    header.extents = records.extents;
    header.tasks = records.records;
    header.line = records.line;
    header.first_items = prologue.first_items;
  } else {
    header.claims = reinterpret_cast<std::int32_t*>(workspace + WorkspaceLayout::kClaimsOffset);
    header.fault = reinterpret_cast<FoundFault*>(workspace + WorkspaceLayout::kFaultOffset);
  }

  header.partition.workers = plan.schedule.workers;
  header.group_count = groups.sizes.groups;
  header.epilogue = epilogue_of(problem, bias_type);
  header.epilogue.bias = turned(header.epilogue.bias, launch.transposed);
  fill_header(header, launch, layout, workspace);
  TracedLaunch traced =
      traced_launch(plan, most_tiles(groups.sizes, line_tile(launch.tile, launch.transposed)));
  traced.blocks_per_worker = launch.cluster.rows * launch.cluster.cols;
  traced.transposed = launch.transposed;
  LaunchTrace trace(options.trace, traced, stream);
  header.trace = trace.space();
  start(launch, arguments, stream);
  trace.finish();
  return needs_prologue ? records.line : nullptr;
}

const DeviceLine* run_ragged_general(const CudaKernel& kernel, const Plan& plan,
                                     const DeviceGroups& groups, ElementType bias_type,
                                     const RunOptions& options) {
  check_nothing_is_pending();
  const Problem& problem = plan.problem;
  const WorkspaceLayout layout = general_ragged_workspace(plan, groups.sizes);
  std::byte* const workspace = workspace_for(layout, options);
  const Records<GroupOperands> records(workspace + layout.groups_offset, groups.sizes.groups);

  GroupPrologue prologue = prologue_of(plan, groups, line_tile(plan.tile, false), workspace);
  prologue.extents = records.extents;
  prologue.line = records.line;
  check(start_group_prologue(prologue, records.records, stream_of(options)),
        "reading the groups' sizes");

  LaunchRequest request;
  request.a = problem.a;
  request.b = problem.b;
  request.c = problem.c;
  request.stream = stream_of(options);
  KernelArguments& arguments = request.arguments;
  arguments.partition.workers = plan.schedule.workers;
  arguments.group_count = groups.sizes.groups;
  arguments.epilogue = epilogue_of(problem, bias_type);
  arguments.fixup = fixup_space(layout, workspace);
  arguments.extents = records.extents;
  arguments.operands = records.records;
  arguments.line = records.line;
  LaunchTrace trace(options.trace,
                    traced_launch(plan, most_tiles(groups.sizes, line_tile(plan.tile, false))),
                    request.stream);
  arguments.trace = trace.space();
  check(kernel.launch(request), "starting the general kernel");
  trace.finish();
  return records.line;
}

}  // namespace tessera::cuda
