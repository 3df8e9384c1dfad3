#include "cuda/operand_copies.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operand_copies.hpp"
#include "cuda/check.hpp"
#include "cuda/ptx/griddepcontrol.cuh"
#include "schedule/iteration_space.hpp"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPieces = 4;    // of 16 bytes, that a thread copies
constexpr int kElements = 8;  // of 16 bits, in a piece
constexpr int kPiecesOfBlock = kThreads * kPieces;

// One operand: `lines` of `length` 16-bit elements.
struct CopyTask {
  const std::uint16_t* from;
  std::byte* to;
  std::int64_t inner_stride;  // in elements, of what is copied
  std::int64_t line_stride;
  std::int64_t length;
  std::int64_t lines;
  std::int64_t to_line_bytes;
};

// As kernel parameters: nothing has to be brought to the device before. A launch takes the host
// longer the more of them there are.
template <std::size_t kMost>
struct CopyTasks {
  CopyTask tasks[kMost];
};
constexpr std::size_t kProduct = 2;  // operands of one
constexpr std::size_t kMostTasks = 64;
static_assert(sizeof(CopyTasks<kMostTasks>) <= 4096,
              "kernel parameters have 4 KB on every GPU and driver");

// Words `bytes` past the start of eight; bytes is even and below 16.
__device__ uint4 shifted(const uint4& low, const uint4& high, unsigned bytes) {
  unsigned w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = (bytes & 8) != 0 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = (bytes & 4) != 0 ? w[i + 1] : w[i];
  const unsigned bits = (bytes & 2) * 8;
  return make_uint4(__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
                    __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits));
}

// Eight elements of a line. Those beyond its end become zero.
__device__ uint4 load_piece(const CopyTask& task, std::int64_t line, std::int64_t first) {
  const std::uint16_t* const from = task.from + line * task.line_stride + first * task.inner_stride;
  const std::uint16_t* const end =
      task.from + (task.lines - 1) * task.line_stride + (task.length - 1) * task.inner_stride + 1;
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto misaligned = static_cast<unsigned>(address % 16);
  const auto* const aligned = reinterpret_cast<const uint4*>(address - misaligned);
  // The aligned pieces around these elements hold neighbours too, which have to be the operand's.
  const bool is_inside = reinterpret_cast<const std::uint16_t*>(aligned) >= task.from &&
                         reinterpret_cast<const std::uint16_t*>(aligned + 2) <= end;
  if (task.inner_stride == 1 && first + kElements <= task.length && is_inside) {
    const uint4 low = aligned[0];
    return misaligned == 0 ? low : shifted(low, aligned[1], misaligned);
  }
  unsigned words[kElements / 2] = {};
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    if (first + i >= task.length) break;
    words[i / 2] |= static_cast<unsigned>(from[i * task.inner_stride]) << i % 2 * 16;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// A block for so many pieces of a task, and a row of blocks for each task.
template <std::size_t kMost>
__global__ void __launch_bounds__(kThreads)
    copy_lines(const __grid_constant__ CopyTasks<kMost> all) {
  ptx::wait_for_previous_kernel();
  ptx::let_next_kernel_start();
  const CopyTask& task = all.tasks[blockIdx.y];
  const auto pieces_of_line = static_cast<std::uint32_t>((task.length + kElements - 1) / kElements);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPiecesOfBlock;
  const std::int64_t first_line = begin / pieces_of_line;
  const auto in_line = static_cast<std::uint32_t>(begin - first_line * pieces_of_line);

  uint4 pieces[kPieces];
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    const std::uint32_t at = in_line + i * kThreads + threadIdx.x;
    const std::int64_t line = first_line + at / pieces_of_line;
    if (line < task.lines) {
      pieces[i] = load_piece(task, line, std::int64_t{at % pieces_of_line} * kElements);
    }
  }
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    const std::uint32_t at = in_line + i * kThreads + threadIdx.x;
    const std::int64_t line = first_line + at / pieces_of_line;
    if (line < task.lines) {
      reinterpret_cast<uint4*>(task.to + line * task.to_line_bytes)[at % pieces_of_line] =
          pieces[i];
    }
  }
}

std::int64_t blocks_of(const CopyTask& task) {
  return ceil_div(task.lines * ceil_div(task.length, kElements), kPiecesOfBlock);
}

// At most kMost tasks.
template <std::size_t kMost>
void start_copying_some(std::span<const CopyTask> tasks, cudaStream_t stream) {
  CopyTasks<kMost> some;
  std::ranges::copy(tasks, some.tasks);
  std::int64_t blocks = 1;
  for (const CopyTask& task : tasks) blocks = std::max(blocks, blocks_of(task));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(tasks.size()));
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, copy_lines<kMost>, some), "copying operands");
}

void start_copying(std::span<const CopyTask> tasks, cudaStream_t stream) {
  while (tasks.size() > kProduct) {
    const auto some = tasks.first(std::min(kMostTasks, tasks.size()));
    start_copying_some<kMostTasks>(some, stream);
    tasks = tasks.subspan(some.size());
  }
  if (!tasks.empty()) start_copying_some<kProduct>(tasks, stream);
}

}  // namespace

std::size_t copy_bytes(const Plan& plan) {
  const Problem& problem = plan.problem;
  if (suits_tma(problem.a) && suits_tma(problem.b)) return 0;
  const OperandCopies copies = copies_of(*find_kernel(plan.kernel), problem);
  std::int64_t elements = 0;
  for (const GemmShape& s : problem.groups) {
    if (copies.a) elements += copy_layout(problem.a, problem.types.a, s.m, s.k).elements();
    if (copies.b) elements += copy_layout(problem.b, problem.types.b, s.k, s.n).elements();
  }
  return static_cast<std::size_t>(elements * size_of(problem.types.a));
}

std::vector<Operands> copy_operands(const Plan& plan, std::span<const Operands> groups,
                                    std::byte* to, cudaStream_t stream) {
  const OperandCopies copies = copies_of(*find_kernel(plan.kernel), plan.problem);
  std::vector<Operands> aligned(groups.begin(), groups.end());
  std::vector<CopyTask> tasks;
  const auto copy = [&](ConstMatrixView& view, const OperandLayout& layout) {
    const CopyLayout as = copy_layout(layout, view.type, view.rows, view.cols);
    if (as.elements() > 0) {
      tasks.push_back({.from = static_cast<const std::uint16_t*>(view.data),
                       .to = to,
                       .inner_stride = as.dense_rows ? view.col_stride : view.row_stride,
                       .line_stride = as.dense_rows ? view.row_stride : view.col_stride,
                       .length = as.length,
                       .lines = as.lines,
                       .to_line_bytes = as.stride * size_of(view.type)});
    }
    view.data = to;
    view.row_stride = as.dense_rows ? as.stride : 1;
    view.col_stride = as.dense_rows ? 1 : as.stride;
    to += as.elements() * size_of(view.type);
  };
  for (Operands& group : aligned) {
    if (copies.a) copy(group.a, plan.problem.a);
    if (copies.b) copy(group.b, plan.problem.b);
  }
  start_copying(tasks, stream);
  return aligned;
}

}  // namespace tessera::cuda
