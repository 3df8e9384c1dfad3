#include "cuda/launch_general.hpp"

#include <vector>

#include "cuda/check.hpp"
#include "cuda/flatten.hpp"
#include "cuda/launch_trace.hpp"
#include "schedule/partition_of.hpp"

namespace tessera::cuda {
namespace {

WorkspaceLayout workspace_of(const Plan& plan, const Partition& partition, std::int64_t tiles) {
  const std::size_t groups = plan.problem.groups.size();
  const std::size_t group_bytes = groups > KernelArguments::kInlineGroups
                                      ? groups * (sizeof(GroupOperands) + sizeof(GroupExtent))
                                      : 0;
  return general_layout(plan, partition, tiles, group_bytes);
}

}  // namespace

WorkspaceLayout general_layout(const Plan& plan, const Partition& partition, std::int64_t tiles,
                               std::size_t group_bytes) {
  const std::size_t slot_bytes =
      static_cast<std::size_t>(plan.tile.block_m) * static_cast<std::size_t>(plan.tile.block_n) *
      static_cast<std::size_t>(size_of(accumulator_of(plan.problem.types)));
  return workspace_layout(partition, tiles, 1, slot_bytes, group_bytes);
}

WorkspaceLayout general_workspace(const Plan& plan) {
  const HostIterationSpace space(plan.problem.groups, plan.tile);
  return workspace_of(plan, partition_of(plan, space), space.space().tiles);
}

void run_general(const CudaKernel& kernel, const Plan& plan, std::span<const Operands> groups,
                 const RunOptions& options) {
  const Problem& problem = plan.problem;
  const HostIterationSpace host_space(problem.groups, plan.tile);
  const IterationSpace& space = host_space;
  if (space.tiles == 0) return;
  check_nothing_is_pending();
  const cudaStream_t stream = stream_of(options);

  LaunchRequest request;
  request.a = problem.a;
  request.b = problem.b;
  request.c = problem.c;
  request.stream = stream;
  KernelArguments& arguments = request.arguments;
  arguments.partition = partition_of(plan, space);
  arguments.group_count = space.group_count;
  arguments.tiles = space.tiles;
  arguments.iterations = space.iterations;
  arguments.epilogue = epilogue_of(problem, bias_type_of(problem, groups));

  const WorkspaceLayout layout = workspace_of(plan, arguments.partition, space.tiles);
  std::byte* const workspace = workspace_for(layout, options);
  arguments.fixup = fixup_space(layout, workspace);

  if (groups.size() <= KernelArguments::kInlineGroups) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      arguments.inline_extents[g] = space.groups[g];
      arguments.inline_operands[g] = flatten(groups[g]);
    }
  } else {
    std::vector<GroupOperands> operands;
    operands.reserve(groups.size());
    for (const Operands& group : groups) operands.push_back(flatten(group));
    const std::vector<GroupExtent> extents(space.groups, space.groups + space.group_count);
    std::byte* const on_device = workspace + layout.groups_offset;
    static_assert(sizeof(GroupOperands) % 16 == 0, "what is sent next begins at 16 bytes");
    std::byte* const extents_on_device = on_device + bytes_of(operands).size();
    upload(on_device, bytes_of(operands), stream);
    upload(extents_on_device, bytes_of(extents), stream);
    arguments.operands = reinterpret_cast<const GroupOperands*>(on_device);
    arguments.extents = reinterpret_cast<const GroupExtent*>(extents_on_device);
  }
  LaunchTrace trace(
      options.trace,
      {.workers = arguments.partition.workers,
       .items_per_worker = options.trace == nullptr ? 0 : most_items(space, arguments.partition)},
      stream);
  arguments.trace = trace.space();
  check(kernel.launch(request), "starting the general kernel");
  trace.finish();
}

}  // namespace tessera::cuda
