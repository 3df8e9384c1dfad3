// What every launch of the Hopper kernel does alike: a plan in the kernel's orientation, the shapes
// of tensor maps, and the start itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "core/catalogue.hpp"
#include "cuda/launch.hpp"
#include "cuda/sm90_kernels.hpp"
#include "cuda/tensor_map.hpp"

namespace tessera::cuda {

// A plan as its kernel sees it: wgmma's M runs along the rows of `groups`, which are the caller's
// products or, transposed, Cᵀ = Bᵀ·Aᵀ.
struct Sm90Launch {
  const Sm90Kernel& kernel;
  const KernelEntry& entry;  // its row of the catalogue
  Sm90Config config;
  Sm90Cluster cluster;
  TileConfig tile;  // of the cluster; its block_m lies along wgmma's M
  bool transposed;
  bool stores_dense_rows;  // how C lies
  std::vector<GemmShape> shapes;

  OperandTile a() const;  // a block's share of what its cluster loads
  OperandTile b() const;
  StoreBox store_box(ElementType c) const {
    return c == ElementType::f32 ? config.store_box_f32(stores_dense_rows)
                                 : config.store_box(stores_dense_rows);
  }
  // Of groups with so long a k.
  ColumnSteps column_steps(std::int64_t k) const;
};

// Throws Error(unsupported) where this build has no such kernel.
Sm90Launch resolve(const Plan& plan);

// `group_bytes` are records of groups in device memory.
WorkspaceLayout sm90_layout(const Sm90Launch& launch, const Partition& partition,
                            std::int64_t tiles, std::size_t group_bytes);

// What a header says of the launch and of its workspace.
void fill_header(Sm90Header& header, const Sm90Launch& launch, const WorkspaceLayout& layout,
                 std::byte* workspace);

TensorMapRequest operand_map(const ConstMatrixView& view, const OperandTile& tile,
                             bool k_is_columns);
TensorMapRequest store_map(const MatrixView& c, const StoreBox& box);

void start(const Sm90Launch& launch, const Sm90Arguments& arguments, cudaStream_t stream);

}  // namespace tessera::cuda
