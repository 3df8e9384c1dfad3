#include "cuda/launch_sm90.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/sm90_kernels.hpp"
#include "cuda/tensor_map.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

// A plan as its kernel sees it: wgmma's M runs along the rows of `groups`, which are the caller's
// products or, transposed, Cᵀ = Bᵀ·Aᵀ.
struct Sm90Launch {
  const Sm90Kernel& kernel;
  Sm90Config config;
  bool transposed;
  std::vector<GemmShape> shapes;
};

// Kernels write C along its dense rows, so a column-major C is computed transposed; a swapped tile
// is the same turn with another purpose.
Sm90Launch resolve(const Plan& plan) {
  const Sm90Kernel* const kernel = find_sm90_kernel(plan.kernel);
  if (kernel == nullptr) {
    throw Error(ErrorCode::unsupported, "plan", "name a kernel of this build", plan.kernel,
                "plan with this version of the library");
  }
  const Problem& problem = plan.problem;
  const bool transposed = plan.tile.swap_operands || problem.c.major == Major::column;
  const bool a_dense_rows = problem.a.major == Major::row;
  const bool b_dense_rows = problem.b.major == Major::row;
  Sm90Launch launch{*kernel,
                    transposed ? kernel->config(!b_dense_rows, a_dense_rows)
                               : kernel->config(a_dense_rows, !b_dense_rows),
                    transposed, problem.groups};
  if (transposed) {
    for (GemmShape& shape : launch.shapes) std::swap(shape.m, shape.n);
  }
  return launch;
}

WorkspaceLayout workspace_of(const Sm90Launch& launch, const Partition& partition,
                             std::int64_t tiles) {
  const int parts = launch.config.cluster() * launch.config.tile.warpgroups;
  const std::size_t slot_bytes =
      sizeof(float) * launch.config.sums_per_thread() * kWarpgroupThreads;
  const std::size_t groups = launch.shapes.size();
  const std::size_t group_bytes =
      groups > 1 ? groups * (sizeof(Sm90Task) + sizeof(GroupExtent)) : 0;
  return workspace_layout(partition, tiles, parts, slot_bytes, group_bytes);
}

TensorMapRequest operand_map(const ConstMatrixView& view, const OperandTile& tile,
                             bool k_is_columns) {
  const bool dense_rows = k_is_columns == tile.k_contiguous;
  return {.data = view.data,
          .type = view.type,
          .inner = dense_rows ? view.cols : view.rows,
          .outer = dense_rows ? view.rows : view.cols,
          .stride = dense_rows ? view.row_stride : view.col_stride,
          .box_inner = tile.box_inner(),
          .box_outer = tile.box_outer(),
          .swizzle_bytes = tile.swizzle_bytes()};
}

TensorMapRequest store_map(const MatrixView& c, const StoreBox& box) {
  return {.data = c.data,
          .type = c.type,
          .inner = box.dense_rows ? c.cols : c.rows,
          .outer = box.dense_rows ? c.rows : c.cols,
          .stride = box.dense_rows ? c.row_stride : c.col_stride,
          .box_inner = box.inner(),
          .box_outer = box.outer(),
          .swizzle_bytes = box.swizzle_bytes()};
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

// C = alpha·A·B and nothing else, in the input's type and a layout that TMA writes.
bool can_store_by_tma(const Problem& problem, const Sm90Config& config,
                      std::span<const Operands> groups) {
  if (problem.beta != 0 || problem.epilogue != Epilogue{} || problem.types.c != config.input) {
    return false;
  }
  const StoreBox box = store_box(config.cols());
  for (const Operands& group : groups) {
    if (group.c.rows == 0 || group.c.cols == 0) continue;
    const bool dense = (box.dense_rows ? group.c.col_stride : group.c.row_stride) == 1;
    // TMA clips what it writes to whole 16 bytes of a row, not to elements (seen on an H200).
    const std::int64_t row_bytes =
        (box.dense_rows ? group.c.cols : group.c.rows) * size_of(group.c.type);
    if (!dense || row_bytes % 16 != 0 || !fits_tensor_map(store_map(group.c, box))) return false;
  }
  return true;
}

Sm90Task make_task(const Sm90Launch& launch, const Operands& group, double alpha,
                   bool store_by_tma) {
  Sm90Task task = {};
  task.operands = flatten(group);
  const bool has_tiles = group.c.rows > 0 && group.c.cols > 0;
  task.multiplies = alpha != 0 && group.a.cols > 0 && has_tiles;
  if (task.multiplies) {
    check_dense_side(group.a, launch.config.a_k_contiguous, launch.transposed ? "B" : "A");
    check_dense_side(group.b, !launch.config.b_k_contiguous, launch.transposed ? "A" : "B");
    task.maps.a = make_tensor_map(operand_map(group.a, launch.config.a(), true),
                                  launch.transposed ? "B" : "A");
    task.maps.b = make_tensor_map(operand_map(group.b, launch.config.b(), false),
                                  launch.transposed ? "A" : "B");
  }
  if (store_by_tma && has_tiles)
    task.maps.c = make_tensor_map(store_map(group.c, store_box(launch.config.cols())), "C");
  return task;
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

BiasAxis turned(BiasAxis axis, bool transposed) {
  if (!transposed || axis == BiasAxis::none) return axis;
  return axis == BiasAxis::row ? BiasAxis::column : BiasAxis::row;
}

// More shared memory than 48 KB has to be asked for, once for each function and device.
void allow_shared_memory(const void* function, int bytes) {
  struct Allowed {
    const void* function = nullptr;
    int device = -1;
  };
  thread_local Allowed last;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  if (last.function == function && last.device == device) return;
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "asking for shared memory");
  last = {function, device};
}

void start(const Sm90Launch& launch, const Sm90Arguments& arguments, cudaStream_t stream) {
  const Sm90Kernel& kernel = launch.kernel;
  const Sm90Config& config = launch.config;
  const void* const function = kernel.functions[config.a_k_contiguous][config.b_k_contiguous];
  allow_shared_memory(function, kernel.shared_bytes);

  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = static_cast<unsigned>(config.cluster());
  attributes[1].val.clusterDim.y = 1;
  attributes[1].val.clusterDim.z = 1;

  cudaLaunchConfig_t launch_config = {};
  launch_config.gridDim =
      static_cast<unsigned>(arguments.header.partition.workers * config.cluster());
  launch_config.blockDim = static_cast<unsigned>(kernel.threads);
  launch_config.dynamicSmemBytes = static_cast<std::size_t>(kernel.shared_bytes);
  launch_config.stream = stream;
  launch_config.attrs = attributes;
  launch_config.numAttrs = config.cluster() > 1 ? 2 : 1;
  void* parameters[] = {const_cast<Sm90Arguments*>(&arguments)};
  check(cudaLaunchKernelExC(&launch_config, function, parameters), "starting the Hopper kernel");
}

}  // namespace

WorkspaceLayout sm90_workspace(const Plan& plan) {
  const Sm90Launch launch = resolve(plan);
  const HostIterationSpace space(launch.shapes, launch.config.tile);
  return workspace_of(launch, make_partition(plan.schedule, space), space.space().tiles);
}

void run_sm90(const Plan& plan, std::span<const Operands> groups, const RunOptions& options) {
  const Sm90Launch launch = resolve(plan);
  const HostIterationSpace host_space(launch.shapes, launch.config.tile);
  const IterationSpace& space = host_space;
  if (space.tiles == 0) return;

  const Problem& problem = plan.problem;
  const std::vector<Operands> products = in_kernel_orientation(groups, launch.transposed);
  const cudaStream_t stream = stream_of(options);

  Sm90Arguments arguments;
  Sm90Header& header = arguments.header;
  header.partition = make_partition(plan.schedule, space);
  header.group_count = space.group_count;
  header.tiles = space.tiles;
  header.iterations = space.iterations;
  header.store_by_tma = can_store_by_tma(problem, launch.config, products);
  header.epilogue = {.alpha = problem.alpha,
                     .beta = problem.beta,
                     .bias = turned(problem.epilogue.bias, launch.transposed),
                     .activation = problem.epilogue.activation,
                     .bias_type = products[0].bias.type,
                     .c_type = problem.types.c};

  const WorkspaceLayout layout = workspace_of(launch, header.partition, space.tiles);
  std::byte* const workspace = workspace_for(layout, options);
  header.fixup = {.slots = workspace + layout.slots_offset,
                  .counters = reinterpret_cast<std::uint32_t*>(workspace),
                  .counters_per_level = layout.counters_per_level};
  header.fixup_part_bytes = static_cast<std::int64_t>(layout.slot_bytes_per_part);
  header.fixup_part_counters = layout.counters_per_part;

  if (products.size() == 1) {
    const Sm90Task task = make_task(launch, products[0], problem.alpha, header.store_by_tma);
    header.extent = space.groups[0];
    header.operands = task.operands;
    header.multiplies = task.multiplies;
    arguments.maps = task.maps;
  } else {
    std::vector<Sm90Task> tasks;
    tasks.reserve(products.size());
    for (const Operands& product : products) {
      tasks.push_back(make_task(launch, product, problem.alpha, header.store_by_tma));
    }
    const std::vector<GroupExtent> extents(space.groups, space.groups + space.group_count);
    std::byte* const on_device = workspace + layout.groups_offset;
    std::byte* const extents_on_device = on_device + bytes_of(tasks).size();
    upload(on_device, bytes_of(tasks), stream);
    upload(extents_on_device, bytes_of(extents), stream);
    header.tasks = reinterpret_cast<const Sm90Task*>(on_device);
    header.extents = reinterpret_cast<const GroupExtent*>(extents_on_device);
  }
  start(launch, arguments, stream);
}

}  // namespace tessera::cuda
