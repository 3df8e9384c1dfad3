// Groups whose sizes stand in arrays: a router's offsets, a decoder's counts. Nothing is padded or
// aligned between groups, and empty groups are legal.
//
//   RaggedRows experts{.a = tokens, .offsets = index_array(offsets), .b = weights, .c = out};
//   ragged_gemm(1.0, experts, 0.0);                  // out[rows of g] = tokens[rows of g] ·
//   weights[g]
//
// The arrays are read when a call runs, where it runs; a plan knows only the bounds that the views
// give (make_ragged_plan), so one plan serves any sizes. On a CUDA device the arrays lie in its
// memory and the host never waits for them: a call may be captured in a graph and replayed with
// other sizes. docs/grouped.md has a complete example.
//
// Start reading at src/ragged_api.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>

#include "tessera/element_type.hpp"
#include "tessera/export.hpp"
#include "tessera/machine.hpp"
#include "tessera/matrix_view.hpp"
#include "tessera/plan.hpp"
#include "tessera/problem.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

enum class IndexType : std::uint8_t { i32, i64 };

// Whole numbers in the memory of the device that runs the call. Not owned; they must not change
// before the call is done (CPU: until it returns).
struct IndexArray {
  const void* data = nullptr;
  std::int64_t size = 0;
  IndexType type = IndexType::i32;
};
inline IndexArray index_array(std::span<const std::int32_t> values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), IndexType::i32};
}
inline IndexArray index_array(std::span<const std::int64_t> values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), IndexType::i64};
}

// One matrix per group: element (g, i, j) is at data + g·group_stride + i·row_stride +
// j·col_stride. [G, K, N] and [G, N, K] differ in nothing but `transposed`. An input's
// group_stride may be 0: one matrix for all groups.
struct ConstBatchView {
  const void* data = nullptr;
  std::int64_t groups = 0;
  std::int64_t rows = 0;  // of each matrix
  std::int64_t cols = 0;
  std::int64_t group_stride = 0;  // in elements, as the others
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  ElementType type = ElementType::f32;

  // Of every matrix.
  ConstBatchView transposed() const {
    return {data, groups, cols, rows, group_stride, col_stride, row_stride, type};
  }
};

struct BatchView {
  void* data = nullptr;
  std::int64_t groups = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t group_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  ElementType type = ElementType::f32;

  operator ConstBatchView() const {
    return {data, groups, rows, cols, group_stride, row_stride, col_stride, type};
  }
  BatchView transposed() const {
    return {data, groups, cols, rows, group_stride, col_stride, row_stride, type};
  }
};

// Row-major matrices that lie one after another.
template <class T>
BatchView batch(T* data, std::int64_t groups, std::int64_t rows, std::int64_t cols) {
  return {data, groups, rows, cols, rows * cols, cols, 1, element_type_of<T>};
}
template <class T>
ConstBatchView batch(const T* data, std::int64_t groups, std::int64_t rows, std::int64_t cols) {
  return {data, groups, rows, cols, rows * cols, cols, 1, element_type_of<T>};
}

// `offsets` of G groups, below: G + 1 numbers that never fall, where group g is [offsets[g],
// offsets[g + 1]); or its G ends alone, where group 0 begins at 0. The first is at least 0, the
// last at most the length that is divided. What lies outside all groups is not written, and what it
// holds changes nothing.
//
// `bias` is (G, values), group g's in row g; row_stride 0 is one bias for all groups. It is read
// only where the epilogue asks for one.

// Ragged rows (a layer forward, and its input's gradient): rows sorted by group.
// C[rows of g] (m_g×N) ← activation(alpha·A[rows of g] (m_g×K)·B[g] (K×N) + beta·C[rows of g] +
// bias[g]).
struct RaggedRows {
  ConstMatrixView a;          // (T, K)
  IndexArray offsets;         // into T
  ConstBatchView b;           // (G, K, N)
  MatrixView c;               // (T, N)
  ConstMatrixView bias = {};  // (G, N), with BiasAxis::column
};

// Masked (decoding with a fixed capacity): of the M_max rows of each group the first counts[g] are
// there. C[g][:counts[g]] ← … A[g][:counts[g]]·B[g] …
struct MaskedRows {
  ConstBatchView a;           // (G, M_max, K)
  IndexArray counts;          // G numbers from 0 to M_max
  ConstBatchView b;           // (G, K, N)
  BatchView c;                // (G, M_max, N)
  ConstMatrixView bias = {};  // (G, N), with BiasAxis::column
};

// Ragged k (a weight's gradient): the columns of A and the rows of B are sorted by group.
// C[g] (M×N) ← … A[:, k of g]·B[k of g, :] …; an empty segment has k = 0: C[g] ← beta·C[g] ….
struct RaggedK {
  ConstMatrixView a;          // (M, T); of activations (T, M) pass the transposed view
  ConstMatrixView b;          // (T, N)
  IndexArray offsets;         // into T
  BatchView c;                // (G, M, N)
  ConstMatrixView bias = {};  // (G, N) with BiasAxis::column, (G, M) with BiasAxis::row
};

inline constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

// Pointer array: products of any sizes at any addresses that are multiples of their elements' size;
// on a CUDA device one that is not, or is null, or a leading dimension shorter than a line, is a
// fault like a wrong size (check_sizes). The arrays have `groups` entries; a pointer may be null
// where its matrix is empty.
struct PointerArray {
  std::int64_t groups = 0;
  GemmTypes types = {};
  const void* const* a = nullptr;
  const void* const* b = nullptr;
  void* const* c = nullptr;
  const void* const* bias = nullptr;  // n (or m) values of C's type each, side by side
  IndexArray m, n, k;
  // From row to row of a row-major matrix, from column to column of a column-major one.
  IndexArray lda, ldb, ldc;
  // Row or column, of every matrix alike.
  Major a_major = Major::row;
  Major b_major = Major::row;
  Major c_major = Major::row;
  // On a CUDA device: bytes of which every pointer of A and B and their leading dimensions (in
  // bytes) are multiples. 16 lets kernels read them by the tensor memory accelerator; 0 promises
  // nothing. A product that breaks the promise is a fault like a wrong size (check_sizes).
  int alignment = 0;
  // No product is larger; make_ragged_plan needs it on the CPU.
  GemmShape bound{kUnbounded, kUnbounded, kUnbounded};
};

// The uniform case: every product has the same size.
struct StridedBatch {
  ConstBatchView a;           // (G, M, K)
  ConstBatchView b;           // (G, K, N)
  BatchView c;                // (G, M, N)
  ConstMatrixView bias = {};  // (G, N) with BiasAxis::column, (G, M) with BiasAxis::row
};

using RaggedProducts = std::variant<RaggedRows, MaskedRows, RaggedK, PointerArray, StridedBatch>;

// Plans and runs: on the CPU with the same bits as grouped_gemm on the products one by one, since
// the plan is made for the sizes found. Such plans stay with the thread's last few and never fill
// the process's cache. Throws Error before anything is written: invalid_argument for sizes that
// break the rules above or do not fit the views, and whatever describe throws.
//
// On a CUDA device (RunOptions::device): the plan is make_ragged_plan's, and the work is queued on
// the stream. Where sizes break the rules nothing is written; check_sizes says so.
TESSERA_API void ragged_gemm(double alpha, const RaggedProducts& products, double beta,
                             const Epilogue& epilogue = {}, const RunOptions& options = {});

// A plan for any sizes within the views; the sizes' memory is not read and may hold anything.
// problem.groups are the sizes it assumes: on the CPU a total (T, or G·M_max) dealt evenly; on a
// GPU shares like those of a flat Dirichlet distribution, the largest first.
TESSERA_API Plan make_ragged_plan(const RaggedProducts& products, double alpha, double beta,
                                  const Epilogue& epilogue, const Machine& machine,
                                  const PlanOptions& options = {});

// Runs such a plan on the sizes found at the time of the call: kernel, tile and schedule are the
// plan's, so bits are those of `run` on a plan with these sizes in problem.groups. The number of
// groups, the types and the sizes that are the same for every group must be the plan's. With
// PlanOptions::batch_invariant a row of C does not depend on the other groups' sizes.
TESSERA_API void run_ragged(const Plan& plan, const RaggedProducts& products,
                            const RunOptions& options = {});

// Bytes of RunOptions::workspace that run_ragged needs, whatever the sizes within the views.
TESSERA_API std::size_t ragged_workspace_bytes(const Plan& plan, const RaggedProducts& products);

// What ragged_gemm, run_ragged and gated_gemm found wrong with sizes in a CUDA device's memory, on
// the stream and with the workspace of `options`, since this was last asked: throws
// Error(invalid_argument) that names the group. The call that found it, and every replay of it,
// wrote nothing. Waits for the stream, which must not be under capture. A graph's calls are asked
// about on the stream that they were captured on, once the graph has run.
TESSERA_API void check_sizes(const RunOptions& options);

// The gated pair (SwiGLU with silu): C ← activation(A·B) ∘ (A·B_up), rounded to C once, for ragged
// rows, masked rows or a strided batch; `up` has the shape and the type of their B. Floating-point
// types; no bias is applied. RunOptions::workspace is not used: the CPU keeps scratch memory per
// thread; on a CUDA device it is allocated and freed in the stream's order, which a graph captures.
TESSERA_API void gated_gemm(const RaggedProducts& products, const ConstBatchView& up,
                            Activation activation = Activation::silu,
                            const RunOptions& options = {});
// The same for one product.
TESSERA_API void gated_gemm(ConstMatrixView a, ConstMatrixView gate, ConstMatrixView up,
                            MatrixView c, Activation activation = Activation::silu,
                            const RunOptions& options = {});

}  // namespace tessera
