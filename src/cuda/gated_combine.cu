#include "cuda/gated_combine.hpp"

#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/epilogue.cuh"
#include "cuda/launch.hpp"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlocksPerProcessor = 8;

std::int64_t processors() {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
        "asking for the number of multiprocessors");
  return count;
}

// Where a row of the scratch matrices goes in C; null where no group owns it.
__device__ char* row_of_c(const GatedCombine& work, std::int64_t row) {
  const GroupSizes& sizes = work.sizes;
  std::int64_t group = 0;
  std::int64_t in_group = row;
  if (sizes.source == SizeSource::row_segments) {
    if (row < sizes.slice(0).begin) return nullptr;
    const GroupSlice last = sizes.slice(sizes.groups - 1);
    if (row >= last.begin + last.m) return nullptr;
  } else {
    const Division place = divide(row, sizes.bound_m);
    group = place.quotient;
    in_group = place.remainder;
    if (in_group >= sizes.slice(group).m) return nullptr;
  }
  const OperandRule& c = work.c;
  return static_cast<char*>(const_cast<void*>(c.base)) +
         (group * c.group_stride + in_group * c.row_stride) * c.element_bytes;
}

template <class T>
__global__ void __launch_bounds__(kThreads) combine(const __grid_constant__ GatedCombine work) {
  if (work.line != nullptr && work.line->tiles == 0) return;
  for (std::int64_t row = blockIdx.x; row < work.rows; row += gridDim.x) {
    char* const c = row_of_c(work, row);
    if (c == nullptr) continue;
    const T* const gate = static_cast<const T*>(work.gate) + row * work.stride;
    const T* const up = static_cast<const T*>(work.up) + row * work.stride;
    for (std::int64_t col = threadIdx.x; col < work.cols; col += kThreads) {
      store_element(c, col * work.c.col_stride, work.c_type, gate[col] * up[col]);
    }
  }
}

}  // namespace

void combine_gated(const GatedCombine& work, const RunOptions& options) {
  if (work.rows == 0 || work.cols == 0) return;
  cudaLaunchConfig_t config = {};
  config.gridDim = static_cast<unsigned>(std::min(work.rows, kBlocksPerProcessor * processors()));
  config.blockDim = kThreads;
  config.stream = stream_of(options);
  const auto kernel = work.type == ElementType::f64 ? combine<double> : combine<float>;
  check(cudaLaunchKernelEx(&config, kernel, work), "combining the gated pair");
}

}  // namespace tessera::cuda
