#include "cuda/sm90_launch.hpp"

#include <bit>
#include <limits>
#include <utility>

#include "core/sm90_tiles.hpp"
#include "cuda/check.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

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

Sm90Shares shares_of(const Sm90Launch& launch) {
  const auto [rows, cols] = launch.cluster;
  Sm90Shares shares;
  shares.rows_log2 = std::countr_zero(static_cast<unsigned>(rows));
  shares.cluster_rows = rows;
  shares.cluster_cols = cols;
  shares.a_lines = static_cast<std::int16_t>(launch.a().box_outer());
  shares.b_lines = static_cast<std::int16_t>(launch.b().box_outer());
  const auto rank = [](int number) { return static_cast<std::uint16_t>(1U << number); };
  shares.b_ranks = rank(rows) - 1;
  for (int col = 1; col < cols; ++col) shares.a_ranks |= rank(col * rows);
  return shares;
}

// As Sm90Config has it.
bool is_plain(const Sm90Kernel& kernel, const Sm90Header& header) {
  return kernel.has(Sm90Purpose::plain) && header.units.count > 0 && header.multiplies &&
         header.store_by_tma && header.trace.blocks == nullptr;
}

}  // namespace

OperandTile Sm90Launch::a() const {
  OperandTile tile = config.a();
  tile.parts = cluster.cols;
  return tile;
}

OperandTile Sm90Launch::b() const {
  OperandTile tile = config.b();
  tile.parts = cluster.rows;
  return tile;
}

// Measured over layers of experts (docs/grouped.md).
ColumnSteps Sm90Launch::column_steps(std::int64_t k) const {
  constexpr std::int64_t kShortK = 2048;  // below it C's boxes had better leave whole
  constexpr int kManyTiles = 12;  // of a group, few of which differ, while each loads a box's rest
  const auto log2 = [](int step) {
    return static_cast<std::int16_t>(std::countr_zero(static_cast<unsigned>(step)));
  };
  const Sm90Block& block = config.block;
  ColumnSteps steps{.load_log2 = log2(config.load_step()),
                    .fine_log2 = log2(config.multiply_step()),
                    .of_block = static_cast<std::int16_t>(block.cols),
                    .blocks_across = static_cast<std::int16_t>(cluster.cols)};
  // What leaves in boxes of rows leaves whole.
  if (config.is_gated || stores_dense_rows || (block.in_turns && k < kShortK)) return steps;
  steps.most_fine =
      block.cols == 256 ? kManyTiles * block.cols : std::numeric_limits<std::int32_t>::max();
  return steps;
}

Sm90Launch resolve(const Plan& plan) {
  const Problem& problem = plan.problem;
  const KernelEntry* const entry = find_kernel(plan.kernel);
  const Sm90Kernel* const kernel =
      entry == nullptr ? nullptr : find_sm90_kernel(problem.types.a, sm90_block(entry->tile));
  if (kernel == nullptr) {
    throw Error(ErrorCode::unsupported, "plan", "name a kernel of this build", plan.kernel,
                "plan with this version of the library");
  }
  if (const auto objection = why_not_counted(*entry, problem.groups)) {
    throw Error(ErrorCode::unsupported, "plan", "suit its kernel",
                plan.kernel + ", which " + *objection, "let the planner choose the kernel");
  }
  const bool transposed = entry->tile.swap_operands;
  const bool a_dense_rows = problem.a.major == Major::row;
  const bool b_dense_rows = problem.b.major == Major::row;
  Sm90Launch launch{*kernel,
                    *entry,
                    transposed ? kernel->config(!b_dense_rows, a_dense_rows)
                               : kernel->config(a_dense_rows, !b_dense_rows),
                    sm90_cluster(entry->tile),
                    entry->tile,
                    transposed,
                    (problem.c.major == Major::row) != transposed,
                    problem.groups};
  if (transposed) {
    std::swap(launch.tile.block_m, launch.tile.block_n);
    for (GemmShape& shape : launch.shapes) std::swap(shape.m, shape.n);
  }
  return launch;
}

WorkspaceLayout sm90_layout(const Sm90Launch& launch, const Partition& partition,
                            std::int64_t tiles, std::size_t group_bytes) {
  const int parts = launch.cluster.rows * launch.cluster.cols * launch.config.sharers();
  const std::size_t slot_bytes =
      sizeof(float) * launch.config.sums_per_thread() * kWarpgroupThreads;
  return workspace_layout(partition, tiles, parts, slot_bytes, group_bytes);
}

void fill_header(Sm90Header& header, const Sm90Launch& launch, const WorkspaceLayout& layout,
                 std::byte* workspace) {
  header.shares = shares_of(launch);
  header.stores_dense_rows = launch.stores_dense_rows;
  header.fixup = fixup_space(layout, workspace);
  header.fixup_part_bytes = static_cast<std::int64_t>(layout.slot_bytes_per_part);
  header.fixup_part_counters = layout.counters_per_part;
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

void start(const Sm90Launch& launch, const Sm90Arguments& arguments, cudaStream_t stream) {
  const Sm90Kernel& kernel = launch.kernel;
  const Sm90Config& config = launch.config;
  const Sm90Purpose purpose = !is_plain(kernel, arguments.header) ? config.purpose()
                              : arguments.header.finishes_sums    ? Sm90Purpose::finishing
                                                                  : Sm90Purpose::plain;
  const void* const function =
      kernel.functions[static_cast<int>(purpose)][config.a_k_contiguous][config.b_k_contiguous];
  allow_shared_memory(function, kernel.shared_bytes);

  const int blocks = launch.cluster.rows * launch.cluster.cols;
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = static_cast<unsigned>(blocks);
  attributes[1].val.clusterDim.y = 1;
  attributes[1].val.clusterDim.z = 1;

  cudaLaunchConfig_t launch_config = {};
  launch_config.gridDim = static_cast<unsigned>(arguments.header.partition.workers * blocks);
  launch_config.blockDim = static_cast<unsigned>(kernel.threads);
  launch_config.dynamicSmemBytes = static_cast<std::size_t>(kernel.shared_bytes);
  launch_config.stream = stream;
  launch_config.attrs = attributes;
  launch_config.numAttrs = blocks > 1 ? 2 : 1;
  void* parameters[] = {const_cast<Sm90Arguments*>(&arguments)};
  check(cudaLaunchKernelExC(&launch_config, function, parameters), "starting the Hopper kernel");
}

}  // namespace tessera::cuda
