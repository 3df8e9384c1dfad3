#include "backend.hpp"

#include "core/environment.hpp"
#include "core/validate.hpp"
#include "cpu/run.hpp"
#include "cuda/run.hpp"
#include "dispatch_line.hpp"
#include "tessera/log.hpp"

namespace tessera {
namespace {

int default_threads() {
  static const int threads = environment_number("TESSERA_THREADS", 1, kMostThreads).value_or(0);
  return threads;
}

void refuse_packed(std::span<const Operands> groups) {
  for (const Operands& operands : groups) {
    if (operands.packed_b == nullptr) continue;
    throw Error(ErrorCode::unsupported, "packed_b", "be null for a GPU", "a packed matrix",
                "pass B itself, in device memory");
  }
}

}  // namespace

int threads_of(const RunOptions& options) {
  return options.threads != 0 ? options.threads : default_threads();
}

void run_on_backend(const Plan& plan, std::span<const Operands> groups, const RunOptions& options) {
  if (plan.machine.kind == MachineKind::gpu) {
    refuse_packed(groups);
    cuda::run_plan(plan, groups, options);
  } else if (options.threads == threads_of(options)) {
    cpu::run_plan(plan, groups, options);
  } else {
    RunOptions with_threads = options;
    with_threads.threads = threads_of(options);
    cpu::run_plan(plan, groups, with_threads);
  }
}

// A receiver may itself call the library, which must not take the plan away: hence the copy.
void log_path(std::string_view call, const FoundPlan& found) {
  const std::shared_ptr<const Plan> plan = found.plan;
  const std::string_view origin = found.origin == PlanOrigin::made     ? "made"
                                  : found.origin == PlanOrigin::shared ? "from the cache"
                                                                       : "from this thread's cache";
  log_line(dispatch_line(call, *plan, origin));
}

}  // namespace tessera
