// `tessera bench --suite moe`: layers of experts whose sizes stand in an array, through the
// ragged-rows door, on the CPU or a GPU.
#pragma once

#include <string>
#include <vector>

#include "bench/moe.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {

struct MoeBenchOptions {
  std::vector<bench::Case> cases;
  GemmTypes types;
  Machine machine;
  PlanOptions plan;
  int threads = 0;       // CPU
  double seconds = 0.5;  // CPU: timed work for each contender and layer
  bool cold = true;
  bool against_cublaslt = false;  // GPU
  std::string cublaslt_path;
  std::uint64_t seed = 0;  // that the sizes were drawn with, for the record
  bool json = false;
};

// Prints a table, or the record as JSON; returns the record. Throws Error(unsupported) for a GPU in
// a build without its benchmark, and whatever the library throws; Error(interrupted) on Ctrl-C.
std::string run_moe_bench(const MoeBenchOptions& options);

// All that was found, for programs and for people.
struct MoeReport {
  bench::ProcessorLimits limits;
  std::string peer;  // empty: none
  std::vector<bench::MoeResult> results;
  std::vector<bench::MoeExtra> extras;
};
std::string moe_json(const MoeBenchOptions& options, const MoeReport& report);
std::string moe_table_header();
std::string moe_table_line(const bench::MoeResult& result);
std::string moe_table_summary(const MoeReport& report);

}  // namespace tessera::cli
