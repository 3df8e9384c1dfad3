// The GPU's part of `tessera bench`: hands over to bench/cuda where that was built.
#pragma once

#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "tessera/element_type.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {

struct CudaBenchOptions {
  std::vector<bench::Case> cases;
  std::string corpus;  // what the cases are called in the record
  std::vector<GemmTypes> types;
  std::vector<PlanOptions> variants;
  bool cold = true;
  bool against_cublaslt = false;
  std::string cublaslt_path;  // empty: the usual names
  bool json = false;
};

// Prints a table, or the record as JSON; returns the record of the last type and variant. Throws
// Error(unsupported) in a build without the GPU benchmark, and where there is no device.
std::string run_cuda_bench(const CudaBenchOptions& options);

}  // namespace tessera::cli
