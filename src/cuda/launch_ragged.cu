#include "cuda/launch_ragged.hpp"

#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/group_prologue.cuh"
#include "cuda/group_records.hpp"
#include "cuda/launch_general.hpp"
#include "cuda/launch_trace.hpp"
#include "cuda/sm90_launch.hpp"

namespace tessera::cuda {
namespace {

// The records of a launch, in its workspace: one per group, their extents, the line, and the
// workers' first items.
template <class Record>
struct Records {
  static std::size_t bytes(std::int32_t groups, std::int32_t workers) {
    return static_cast<std::size_t>(groups) * (sizeof(Record) + sizeof(GroupExtent)) +
           sizeof(DeviceLine) + static_cast<std::size_t>(workers) * sizeof(WorkItem);
  }

  Records(std::byte* at, std::int32_t groups)
      : records(reinterpret_cast<Record*>(at)),
        extents(reinterpret_cast<GroupExtent*>(records + groups)),
        line(reinterpret_cast<DeviceLine*>(extents + groups)),
        first_items(reinterpret_cast<WorkItem*>(line + 1)) {}

  Record* records;
  GroupExtent* extents;
  DeviceLine* line;
  WorkItem* first_items;
};

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

// The host knows no sizes, so a worker gets room for every tile, up to a quarter of a gigabyte in
// all.
TracedLaunch traced_launch(const Plan& plan, std::int64_t tiles) {
  constexpr std::int64_t kMostItems = 16384;
  const std::int64_t pieces =
      plan.schedule.kind == ScheduleKind::split_k ? plan.schedule.splits : 1;
  return {.workers = plan.schedule.workers,
          .items_per_worker = std::min(tiles * pieces + 1, kMostItems),
          .items_at_once = takes_turns(plan.tile) ? 2U : 1U};
}

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
  if (sizes.source != SizeSource::row_segments) return sizes.groups * down * across;
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
  // Tiles of a single block that is not turned cost alike.
  launch.config.is_grouped =
      launch.kernel.has_groups() && (launch.transposed || launch.cluster.cols > 1);
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
  common.load_step = launch.config.load_step();
  common.steps_of_block = launch.config.block.cols / common.load_step;
  common.blocks_across = launch.cluster.cols;
  // The gated pair has an epilogue of its own.
  const bool is_plain = problem.epilogue == Epilogue{} || launch.config.is_gated;
  common.may_store_by_tma = problem.beta == 0 && is_plain &&
                            problem.types.c == launch.config.input &&
                            problem.c.major != Major::general;
  common.maps =
      template_maps(launch, problem.types.a, problem.types.c, common.may_store_by_tma, workspace);

  GroupPrologue prologue =
      prologue_of(plan, groups, line_tile(launch.tile, launch.transposed), workspace);
  prologue.claims_units = launch.config.is_grouped;
  prologue.extents = records.extents;
  prologue.line = records.line;
  prologue.first_items = records.first_items;
  check(start_task_prologue(prologue, common, records.records, stream),
        "reading the groups' sizes");

  Sm90Arguments arguments;
  Sm90Header& header = arguments.header;
  header.partition.workers = plan.schedule.workers;
  header.group_count = groups.sizes.groups;
  header.epilogue = epilogue_of(problem, bias_type);
  header.epilogue.bias = turned(header.epilogue.bias, launch.transposed);
  fill_header(header, launch, layout, workspace);
  header.extents = records.extents;
  header.tasks = records.records;
  header.line = records.line;
  header.first_items = records.first_items;
  TracedLaunch traced =
      traced_launch(plan, most_tiles(groups.sizes, line_tile(launch.tile, launch.transposed)));
  traced.blocks_per_worker = launch.cluster.rows * launch.cluster.cols;
  traced.transposed = launch.transposed;
  LaunchTrace trace(options.trace, traced, stream);
  header.trace = trace.space();
  start(launch, arguments, stream);
  trace.finish();
  return records.line;
}

const DeviceLine* run_ragged_general(const CudaKernel& kernel, const Plan& plan,
                                     const DeviceGroups& groups, ElementType bias_type,
                                     const RunOptions& options) {
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
