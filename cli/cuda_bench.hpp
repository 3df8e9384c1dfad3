// The GPU's part of `tessera bench`: hands over to bench/cuda where that was built.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "cli/cpu_bench.hpp"
#include "cli/matrix.hpp"
#include "tessera/element_type.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {

struct CudaBenchOptions {
  std::vector<bench::Case> cases;
  std::string corpus;  // what the cases are called in the record
  std::vector<GemmTypes> types;
  std::vector<PlanOptions> variants;
  StoredLayouts layouts;
  bool cold = true;
  bool against_cublaslt = false;
  std::string cublaslt_path;  // empty: the usual names
  bool json = false;
};

// Prints a table, or the record as JSON; returns the record of the last type and variant. Throws
// Error(unsupported) in a build without the GPU benchmark, and where there is no device.
std::string run_cuda_bench(const CudaBenchOptions& options);

// One case of a sweep on the GPU, as run_cpu_bench gives it: `options` without peers, threads and
// limits, which are the device's own.
class CudaSweep {
 public:
  // Throws like run_cuda_bench.
  CudaSweep(const CpuBenchOptions& options, bool against_cublaslt,
            const std::string& cublaslt_path);
  ~CudaSweep();
  CaseResult measure(const bench::Case& what);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The path that --peer names for cuBLASLt, the only peer on a GPU; empty for the usual names.
std::string cublaslt_path_from(const std::vector<std::string>& peers);

}  // namespace tessera::cli
