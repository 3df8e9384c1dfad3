#include "cuda/launch_sm90.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/plain_product.hpp"
#include "core/sm90_tiles.hpp"
#include "core/turned_axis.hpp"
#include "cuda/flatten.hpp"
#include "cuda/group_prologue.cuh"
#include "cuda/group_records.hpp"
#include "cuda/launch_ragged.hpp"
#include "cuda/launch_trace.hpp"
#include "cuda/operand_copies.hpp"
#include "cuda/sm90_launch.hpp"
#include "schedule/fix_up_of.hpp"
#include "schedule/partition_of.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

// Several products go to the code for groups where there is such code: tiles that share operands
// are begun one after another there, and the cache serves what they share. Dealt round robin,
// workers drift apart (docs/grouped.md).
Sm90Launch launch_of(const Plan& plan) {
  Sm90Launch launch = resolve(plan);
  launch.config.is_grouped = claims_tiles(launch.entry, plan.problem);
  return launch;
}

WorkspaceLayout workspace_of(const Plan& plan, const Sm90Launch& launch, const Partition& partition,
                             std::int64_t tiles) {
  const auto groups = static_cast<std::int32_t>(launch.shapes.size());
  const bool claims = launch.config.is_grouped;
  const std::size_t group_bytes =
      groups > 1 ? Records<Sm90Task>::bytes(groups, claims ? partition.workers : 0) : 0;
  WorkspaceLayout layout = sm90_layout(
      launch, claims ? roomiest_partition(plan.schedule) : partition, tiles, group_bytes);
  add_copies(layout, copy_bytes(plan));
  return layout;
}

void check_dense_side(const ConstMatrixView& view, bool rows_dense, const char* operand) {
  const bool fits =
      rows_dense ? view.col_stride == 1 || view.cols == 1 : view.row_stride == 1 || view.rows == 1;
  if (!fits) {
    throw Error(
        ErrorCode::invalid_argument, operand,
        rows_dense ? "have dense rows, as planned" : "have dense columns, as planned",
        "strides " + std::to_string(view.row_stride) + " and " + std::to_string(view.col_stride),
        "plan for these operands: describe() tells the planner how they lie");
  }
}

// In the input's type or f32 and a layout that TMA writes. Groups' kernels have no registers for
// more than C = alpha·A·B, and an activation of many instructions comes before C of before is
// there.
bool can_store_by_tma(const Problem& problem, const Sm90Launch& launch,
                      std::span<const Operands> groups) {
  if ((launch.config.is_grouped && !is_scaled_product(problem)) ||
      (problem.beta != 0 && is_heavy(problem.epilogue.activation)) ||
      (problem.types.c != launch.config.input && problem.types.c != ElementType::f32)) {
    return false;
  }
  const StoreBox box = launch.store_box(problem.types.c);
  for (const Operands& group : groups) {
    if (group.c.rows == 0 || group.c.cols == 0) continue;
    const bool dense = (box.dense_rows ? group.c.col_stride : group.c.row_stride) == 1;
    const std::int64_t line = box.dense_rows ? group.c.cols : group.c.rows;
    if (!dense || !tma_writes_lines_of(line, group.c.type) ||
        !fits_tensor_map(store_map(group.c, box))) {
      return false;
    }
  }
  return true;
}

Sm90Task make_task(const Sm90Launch& launch, const Operands& group, double alpha,
                   bool store_by_tma) {
  Sm90Task task = {};
  task.operands = flatten(group);
  const bool has_tiles = group.c.rows > 0 && group.c.cols > 0;
  task.store_by_tma = store_by_tma;
  task.multiplies = alpha != 0 && group.a.cols > 0 && has_tiles;
  if (task.multiplies) {
    check_dense_side(group.a, launch.config.a_k_contiguous, launch.transposed ? "B" : "A");
    check_dense_side(group.b, !launch.config.b_k_contiguous, launch.transposed ? "A" : "B");
    task.maps.a =
        make_tensor_map(operand_map(group.a, launch.a(), true), launch.transposed ? "B" : "A");
    task.maps.b =
        make_tensor_map(operand_map(group.b, launch.b(), false), launch.transposed ? "A" : "B");
  }
  if (store_by_tma && has_tiles)
    task.maps.c = make_tensor_map(store_map(group.c, launch.store_box(group.c.type)), "C");
  if (launch.config.is_grouped)
    task.columns = launch.column_steps(group.a.cols).columns_of(group.c.cols);
  return task;
}

// Where the last block of so many rows or columns begins that lies wholly inside. A block that
// reads C must not begin where another ends that has written it.
std::int32_t last_start(std::int64_t size, int block, bool reads_c) {
  if (reads_c) return INT32_MAX;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(size - block, 0, INT32_MAX));
}

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
  const std::span<const std::byte> more = std::as_bytes(values);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// Sends all groups' records, and where workers claim units also the line that they claim from.
void send_records(Sm90Header& header, std::span<const Sm90Task> tasks, const IterationSpace& space,
                  bool claims, std::byte* to, cudaStream_t stream) {
  const Records<Sm90Task> there(to, space.group_count);
  header.tasks = there.records;
  header.extents = there.extents;
  std::vector<std::byte> bytes;
  append(bytes, tasks);
  append(bytes, std::span(space.groups, tasks.size()));
  if (claims) {
    header.line = there.line;
    header.first_items = there.first_items;
    const Partition& partition = header.partition;
    const DeviceLine line{partition, space.tiles, space.iterations, partition.workers};
    append(bytes, std::span(&line, 1));
    std::vector<WorkItem> items(static_cast<std::size_t>(partition.workers));
    for (std::int32_t worker = 0; worker < partition.workers; ++worker) {
      items[static_cast<std::size_t>(worker)] =
          first_item(space, partition, space.group_of_tile(worker), worker);
    }
    append(bytes, std::span<const WorkItem>(items));
  }
  upload(to, bytes, stream);
}

std::vector<Operands> in_kernel_orientation(std::span<const Operands> groups, bool transposed) {
  std::vector<Operands> turned(groups.begin(), groups.end());
  if (transposed) {
    for (Operands& group : turned) {
      group = {group.b.transposed(), group.a.transposed(), group.c.transposed(), group.bias};
    }
  }
  return turned;
}

}  // namespace

WorkspaceLayout sm90_workspace(const Plan& plan) {
  const Sm90Launch launch = launch_of(plan);
  const HostIterationSpace space(launch.shapes, launch.tile);
  return workspace_of(plan, launch, partition_of(plan, space), space.space().tiles);
}

void run_sm90(const Plan& plan, std::span<const Operands> groups, const RunOptions& options) {
  const Sm90Launch launch = launch_of(plan);
  const HostIterationSpace host_space(launch.shapes, launch.tile);
  const IterationSpace& space = host_space;
  if (space.tiles == 0) return;

  const Problem& problem = plan.problem;
  const cudaStream_t stream = stream_of(options);
  const Partition partition = partition_of(plan, space);
  const WorkspaceLayout layout = workspace_of(plan, launch, partition, space.tiles);
  std::byte* const workspace = workspace_for(layout, options);
  std::vector<Operands> products;
  if (layout.copies_offset > 0 && problem.alpha != 0) {
    products = copy_operands(plan, groups, workspace + layout.copies_offset, stream);
    products = in_kernel_orientation(products, launch.transposed);
  } else {
    products = in_kernel_orientation(groups, launch.transposed);
  }

  Sm90Arguments arguments;
  Sm90Header& header = arguments.header;
  header.partition = partition;
  header.group_count = space.group_count;
  header.tiles = space.tiles;
  header.iterations = space.iterations;
  const bool store_by_tma = can_store_by_tma(problem, launch, products);
  header.epilogue = epilogue_of(problem, bias_type_of(problem, groups));
  header.epilogue.bias = turned(header.epilogue.bias, launch.transposed);

  fill_header(header, launch, layout, workspace);
  header.finishes_sums =
      store_by_tma && (!is_scaled_product(problem) || problem.types.c != launch.config.input);

  if (products.size() == 1) {
    const Sm90Task task = make_task(launch, products[0], problem.alpha, store_by_tma);
    header.units = unit_items(space, header.partition);
    header.peers_meet = !header.finishes_sums &&
                        fix_up_of(launch.config.block, partition, space.tiles) == FixUp::meeting;
    header.last_row = last_start(products[0].c.rows, launch.config.block.rows, problem.beta != 0);
    header.last_col = last_start(products[0].c.cols, launch.config.block.cols, problem.beta != 0);
    header.extent = space.groups[0];
    header.operands = task.operands;
    header.multiplies = task.multiplies;
    header.store_by_tma = task.store_by_tma;
    arguments.maps = task.maps;
  } else {
    std::vector<Sm90Task> tasks;
    tasks.reserve(products.size());
    for (const Operands& product : products) {
      tasks.push_back(make_task(launch, product, problem.alpha, store_by_tma));
    }
    send_records(header, tasks, space, launch.config.is_grouped, workspace + layout.groups_offset,
                 stream);
  }
  const auto items_per_worker = [&]() -> std::int64_t {
    if (options.trace == nullptr) return 0;
    return launch.config.is_grouped
               ? most_claims(partition.stream_tiles + claimed_units(partition, space.tiles))
               : most_items(space, partition);
  };
  LaunchTrace trace(options.trace,
                    {.workers = header.partition.workers,
                     .blocks_per_worker = launch.cluster.rows * launch.cluster.cols,
                     .items_per_worker = items_per_worker(),
                     .items_at_once = takes_turns(plan.tile) ? 2U : 1U,
                     .transposed = launch.transposed},
                    stream);
  header.trace = trace.space();
  start(launch, arguments, stream);
  trace.finish();
}

}  // namespace tessera::cuda
