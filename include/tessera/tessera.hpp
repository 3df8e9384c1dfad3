// Tessera: matrix multiplication as a scheduling problem. The C++ API.
//
//   tessera::gemm(1.0, A, B, 0.0, C);                    // plan and run in one call
//
//   Plan plan = make_plan(describe(groups, 1, 0, {}), host_machine());
//   run(plan, groups);                                   // plan once, run often
//
// Start reading at src/api.cpp: gemm → run → cpu::run_plan → the microkernel.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/element_type.hpp"
#include "tessera/error.hpp"
#include "tessera/export.hpp"
#include "tessera/machine.hpp"
#include "tessera/matrix_view.hpp"
#include "tessera/packed.hpp"
#include "tessera/plan.hpp"
#include "tessera/problem.hpp"
#include "tessera/schedule.hpp"
#include "tessera/tile_config.hpp"
#include "tessera/trace.hpp"

namespace tessera {

// RunOptions::device for products on the host.
inline constexpr int kHost = -1;

struct RunOptions {
  // Threads for this call on a CPU, up to 4096; 0 takes the machine's workers. gemm and
  // grouped_gemm plan for as many, and the order of additions is the plan's; a given plan gives the
  // same bits on any number of threads.
  int threads = 0;
  // Of gemm and grouped_gemm: the CUDA device whose memory the operands lie in, which has to be the
  // thread's current one; kHost for the host. `run` goes where its plan was made for.
  int device = kHost;
  // A cudaStream_t for a plan made for a GPU; null is the legacy default stream.
  void* stream = nullptr;
  // Memory of at least workspace_bytes(plan), for the duration of the call (GPU: until the work on
  // the stream is done, device memory that initialize_workspace has prepared). Null lets the
  // library keep one per thread (CPU) or per device and stream (GPU), which threads may share, and
  // another for the graphs that are captured on a stream: they may run beside the stream's work,
  // but two of them at once need workspaces of their own. What a graph uses is never freed.
  void* workspace = nullptr;
  std::size_t workspace_size = 0;
  // Filled with what happened when. On a GPU the run then waits until it is done, and throws
  // Error(unsupported) while its stream is being captured.
  Trace* trace = nullptr;
};

// Runs a plan on operands, one per group, in the order of plan.problem.groups. CPU: returns when C
// is written. GPU: returns when the work is queued on the stream. Throws Error before anything is
// written if the operands do not fit the plan.
TESSERA_API void run(const Plan& plan, std::span<const Operands> groups,
                     const RunOptions& options = {});

// Bytes that `run` needs; the same function sizes the library's own workspace.
TESSERA_API std::size_t workspace_bytes(const Plan& plan);

// C ← activation(alpha·A·B + beta·C + bias). beta = 0 never reads C. Plans are kept and found again
// when a problem repeats; which path a call takes can be logged (log.hpp).
TESSERA_API void gemm(double alpha, ConstMatrixView a, ConstMatrixView b, double beta, MatrixView c,
                      const Epilogue& epilogue = {}, ConstVectorView bias = {},
                      const RunOptions& options = {});
TESSERA_API void gemm(double alpha, const Operands& operands, double beta,
                      const Epilogue& epilogue = {}, const RunOptions& options = {});

// Many products of any sizes in one schedule.
TESSERA_API void grouped_gemm(double alpha, std::span<const Operands> groups, double beta,
                              const Epilogue& epilogue = {}, const RunOptions& options = {});

// CUDA devices that this process can use; 0 without a driver, or in a build without CUDA.
TESSERA_API int device_count();

// A CUDA device as a Machine, to plan for. Throws Error(unsupported) where there is none.
TESSERA_API Machine device_machine(int device = 0);

// Prepares device memory to be RunOptions::workspace, in the order of a cudaStream_t. Once is
// enough: every run leaves it ready for the next, as long as they run one after another.
TESSERA_API void initialize_workspace(void* workspace, std::size_t size, void* stream);

// "0.1.0"
TESSERA_API const char* version();

}  // namespace tessera
