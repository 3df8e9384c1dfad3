// Records of groups for the Hopper kernel, with tensor maps that end where the group's matrices do:
// TMA then neither reads a neighbour's k nor writes its rows.
#include <cuda/ptx>

#include "cuda/group_prologue.cuh"
#include "cuda/group_records.hpp"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/smem_descriptor.cuh"
#include "cuda/ptx/tensor_map.cuh"
#include "cuda/sm90_config.hpp"

namespace tessera::cuda {
namespace {

// A matrix as TMA sees it.
struct Lines {
  const void* data;
  std::int64_t inner;
  std::int64_t outer;
  std::int64_t stride;  // in elements

  // The stride of a single line is never used, but has to look right.
  __device__ std::int64_t stride_bytes() const { return outer == 1 ? 16 : stride * kElementBytes; }
  __device__ bool fit_tma() const {
    return ((reinterpret_cast<std::uint64_t>(data) | static_cast<std::uint64_t>(stride_bytes())) %
            16) == 0;
  }
};

struct TaskLines {
  Lines a, b, c;
};

__device__ TaskLines lines_of(const GroupOperands& group, const TaskTemplate& common) {
  return {common.a_k_contiguous ? Lines{group.a, group.k, group.m, group.a_row_stride}
                                : Lines{group.a, group.m, group.k, group.a_col_stride},
          common.b_k_contiguous ? Lines{group.b, group.k, group.n, group.b_col_stride}
                                : Lines{group.b, group.n, group.k, group.b_row_stride},
          common.stores_dense_rows ? Lines{group.c, group.n, group.m, group.c_row_stride}
                                   : Lines{group.c, group.m, group.n, group.c_col_stride}};
}

__device__ GroupOperands operands_of(const DeviceGroups& groups, const TaskTemplate& common,
                                     std::int64_t group) {
  const GroupOperands operands = groups.operands(group);
  return common.is_turned ? operands.turned() : operands;
}

__device__ bool has_tiles(const GroupOperands& group) {
  return group.m > 0 && group.n > 0;
}
__device__ bool multiplies(const GroupOperands& group, const TaskTemplate& common) {
  return common.multiplies && group.k > 0 && has_tiles(group);
}

__device__ SizeFault fault_of(const DeviceGroups& groups, const TaskTemplate& common,
                              std::int32_t group) {
  const SizeFault fault = groups.fault(group);
  if (fault != SizeFault::none || groups.a.pointers == nullptr) return fault;
  const GroupOperands operands = operands_of(groups, common, group);
  if (!multiplies(operands, common)) return SizeFault::none;
  const TaskLines lines = lines_of(operands, common);
  return lines.a.fit_tma() && lines.b.fit_tma() ? SizeFault::none : SizeFault::misaligned;
}

__device__ void point_map_at(CUtensorMap& map, const Lines& lines) {
  const std::uint32_t address = ptx::shared_address(&map);
  ptx::set_map_address(address, lines.data);
  ptx::set_map_extent<0>(address, static_cast<std::uint32_t>(lines.inner));
  ptx::set_map_extent<1>(address, static_cast<std::uint32_t>(lines.outer));
  ptx::set_map_stride(address, static_cast<std::uint64_t>(lines.stride_bytes()));
}

// By a whole warp. `maps` is the warp's own shared memory; `up` may be null.
__device__ void write_task(const GroupOperands& group, const void* up, std::int64_t begin,
                           const TaskTemplate& common, Sm90Maps& maps, Sm90Task& to) {
  namespace cptx = ::cuda::ptx;
  constexpr int kPieces = sizeof(Sm90Maps) / sizeof(uint4);
  static_assert(kPieces <= 32, "a lane copies one piece at most");
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const TaskLines lines = lines_of(group, common);
  const bool reads = multiplies(group, common);
  // TMA clips what it writes to whole 16 bytes of a line, not to elements.
  const bool stores = common.may_store_by_tma && has_tiles(group) && lines.c.fit_tma() &&
                      lines.c.inner * kElementBytes % 16 == 0;

  if (lane < kPieces) {
    reinterpret_cast<uint4*>(&maps)[lane] = reinterpret_cast<const uint4*>(&common.maps)[lane];
  }
  __syncwarp();
  if (lane == 0 && reads) point_map_at(maps.a, lines.a);
  if (lane == 1 && reads) point_map_at(maps.b, lines.b);
  if (lane == 2 && stores) point_map_at(maps.c, lines.c);
  const bool is_gated = up != nullptr && reads;
  if (lane == 4 && is_gated) {
    point_map_at(maps.up, {up, lines.a.inner, lines.a.outer, lines.a.stride});
  }
  if (lane == 3) {
    to.operands = group;
    to.columns = common.column_steps.columns_of(group.n);
    to.first_row = static_cast<std::int32_t>(begin);
    to.multiplies = reads;
    to.store_by_tma = stores;
  }
  __syncwarp();
  const auto publish = [](CUtensorMap& there, const CUtensorMap& here) {
    cptx::tensormap_cp_fenceproxy(cptx::sem_release, cptx::scope_gpu, &there, &here,
                                  cptx::n32_t<sizeof(CUtensorMap)>{});
  };
  if (reads) publish(to.maps.a, maps.a);
  if (reads) publish(to.maps.b, maps.b);
  if (stores) publish(to.maps.c, maps.c);
  if (is_gated) publish(to.maps.up, maps.up);
}

__global__ void __launch_bounds__(kPrologueThreads)
    task_prologue(const __grid_constant__ GroupPrologue prologue,
                  const __grid_constant__ TaskTemplate common, Sm90Task* tasks) {
  __shared__ alignas(128) Sm90Maps maps[kPrologueWarps];
  // The sizes may come from the kernel before, and the records are still in use there. The
  // product's kernel reads sizes, too, and loads operands, before it waits for this one.
  ptx::wait_for_previous_kernel();
  ptx::let_next_kernel_start();
  if (blockIdx.x == 0) {
    make_line<true>(prologue,
                    [&](std::int32_t group) { return fault_of(prologue.groups, common, group); });
    return;
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(gridDim.x - 1) * kPrologueWarps;
  for (int group = static_cast<int>(blockIdx.x - 1) * kPrologueWarps + warp;
       group < prologue.groups.sizes.groups; group += warps) {
    write_task(operands_of(prologue.groups, common, group), prologue.groups.up.data(group, 0),
               prologue.groups.sizes.slice(group).begin, common, maps[warp], tasks[group]);
    __syncwarp();
  }
}

}  // namespace

cudaError_t start_task_prologue(const GroupPrologue& prologue, const TaskTemplate& common,
                                Sm90Task* tasks, cudaStream_t stream) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = prologue_blocks(prologue.groups.sizes.groups, kPrologueWarps);
  config.blockDim = kPrologueThreads;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, task_prologue, prologue, common, tasks);
}

}  // namespace tessera::cuda
