// Tensor maps: the descriptions of a matrix in device memory from which the tensor memory
// accelerator copies boxes.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "tessera/element_type.hpp"

namespace tessera::cuda {

// A matrix as TMA sees it: `inner` elements lie side by side, `outer` such lines `stride` elements
// apart.
struct TensorMapRequest {
  const void* data = nullptr;
  ElementType type = ElementType::bf16;
  std::int64_t inner = 0;
  std::int64_t outer = 0;
  std::int64_t stride = 0;
  int box_inner = 0;
  int box_outer = 0;
  int swizzle_bytes = 128;
  // The cache fetches 256 bytes at a time instead of 128, where all lines begin at multiples.
  bool may_fetch_pairs = false;
};

// Throws Error(invalid_argument) that names `operand` where TMA cannot describe the matrix, and
// Error(unsupported) where the driver has no tensor maps.
CUtensorMap make_tensor_map(const TensorMapRequest& request, const char* operand);

// What TMA asks of base address and stride.
bool fits_tensor_map(const TensorMapRequest& request);

}  // namespace tessera::cuda
