// Running a workload by a plan, wherever the plan was made for: the times, what they mean, and
// whether the result is right.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/limits.hpp"
#include "cli/verify.hpp"
#include "cli/workload.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {

struct ExecutionOptions {
  int threads = 0;  // 0: the machine's workers
  int repeat = 0;   // 0: up to three, within two seconds
  std::uint64_t seed = 0;
};

// Throws Error(unsupported) where the plan's kernel needs more than this processor has.
void check_runs_here(const Plan& plan);

struct Timing {
  double seconds = 0;  // of the fastest repetition
  int repeats = 0;
};

// Runs until the repetitions are done; C holds the result of the last one.
Timing execute(const ExecutionOptions& options, const Plan& plan, Workload& workload);

// The worst of all products; fails with the first that fails.
Verification verify_all(const ExecutionOptions& options, const Plan& plan, Workload& workload);

int threads_of(const ExecutionOptions& options, const Plan& plan);

struct Speed {
  double flops_per_second = 0;
  bench::PeakMeasurement peak;  // of the machine, with as many threads

  double share() const {
    return peak.flops_per_second > 0 ? flops_per_second / peak.flops_per_second : 0;
  }
};

// Measures the peak of this processor; a GPU's is its description's.
Speed speed_of(const ExecutionOptions& options, const Plan& plan, double seconds);

nlohmann::json check_json(const Verification& check);

}  // namespace tessera::cli
