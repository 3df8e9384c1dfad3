// Products on the GPU against cuBLASLt's first heuristic choice and its best of several, in one
// process, alternating, with a cold cache. `tessera bench --device cuda` and tessera_cuda_bench are
// thin shells around this.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/cuda/device.hpp"
#include "bench/cuda/stopwatch.hpp"
#include "tessera/plan.hpp"

namespace tessera::bench {

struct CudaBenchmarkOptions {
  GemmTypes types = {ElementType::bf16, ElementType::bf16, ElementType::bf16};
  bool a_column_major = false;
  bool b_column_major = false;
  double beta = 0;
  Epilogue epilogue;  // its bias is one value per column of C, in C's type
  int repeats = 16;
  bool cold = true;
  bool peer = true;          // measure cuBLASLt
  std::string peer_library;  // its path; empty: the usual names
  int peer_choices = 8;      // of its heuristic
  PlanOptions plan;          // what to force on the planner
  bool sweep = false;        // also measure every kernel under every schedule that it might use
  int sweep_repeats = 3;     // of those that come near the fastest
};

// One of our kernels under one schedule, as measured by a sweep.
struct SweptPlan {
  std::string kernel;
  Schedule schedule;
  double predicted = 0;  // seconds
  Sample measured;
  bool is_final = false;  // timed as often as the chosen plan, beside it
};

struct CudaCaseResult {
  Case what;
  Plan plan;
  Sample ours;
  std::optional<Sample> peer_first;  // absent without a peer, and for groups
  std::optional<Sample> peer_best;
  int peer_best_choice = 0;
  std::optional<double> difference;  // from the peer's result: max |p − q| / max |q|
  double planning_seconds = 0;       // of the host, for one make_plan
  double run_seconds = 0;            // of the host, until run() returns
  double gemm_seconds = 0;           // of the host, until gemm() returns, its plan cached
  ClockReading clocks;
  std::vector<SweptPlan> sweep;
  Sample ours_in_sweep;  // the chosen plan, timed beside the sweep's best
};

// Ratios of the peer's time to ours: above 1 we are faster.
struct CudaSummary {
  int cases = 0;
  double over_first = 0;  // geometric means
  double over_best = 0;
  double worst = 0;  // against the first choice
  std::string worst_case;
  double cost_error = 0;  // median |predicted / measured − 1|
  double regret = 0;      // means of regret_of; 0 without a sweep
  double median_regret = 0;
  double worst_regret = 0;
  double planning_seconds = 0;  // medians
  double run_seconds = 0;
  double gemm_seconds = 0;
};

class CudaBenchmark {
 public:
  // Opens the current device. Throws Error(unsupported) where there is none, or no peer.
  explicit CudaBenchmark(const CudaBenchmarkOptions& options);
  ~CudaBenchmark();

  // What is measured on, and against: for a report's head.
  const Machine& machine() const;
  std::string peer_name() const;

  CudaCaseResult measure(const Case& what);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of those in the final; null without a sweep.
const SweptPlan* best_of_sweep(const CudaCaseResult& result);

// The chosen plan's time over the sweep's best, less 1.
double regret_of(const CudaCaseResult& result);

CudaSummary summarize(const std::vector<CudaCaseResult>& results);

// One line for people; above such lines the machine, the peer if any, and what is in them.
std::string cuda_heading(const CudaBenchmark& benchmark);
std::string to_line(const CudaCaseResult& result);
std::string to_text(const CudaSummary& summary);

// The whole report: machine, date, versions, options, clocks, every case, the summary. `commit`
// says which source was measured.
std::string cuda_report_json(const CudaBenchmark& benchmark, const CudaBenchmarkOptions& options,
                             const std::vector<CudaCaseResult>& results, const std::string& corpus,
                             const std::string& commit);

}  // namespace tessera::bench
