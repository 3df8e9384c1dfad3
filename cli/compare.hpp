// One workload by all four schedules, side by side: `tessera run --compare`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/execution.hpp"

namespace tessera::cli {

struct ComparedSchedule {
  std::string name;
  Plan plan;
  double seconds = 0;  // median of alternating runs on a CPU, the fastest on a GPU
  Speed speed;
  Verification check;  // passed where it was not asked for
};

// `plan_for` makes the plan for a schedule by name. With `check`, each result is verified before
// any time is taken.
std::vector<ComparedSchedule> compare_schedules(
    const ExecutionOptions& options, Workload& workload, bool check,
    const std::function<Plan(const std::string& schedule)>& plan_for);

}  // namespace tessera::cli
