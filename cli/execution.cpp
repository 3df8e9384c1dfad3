#include "cli/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/clock.hpp"
#include "cli/cuda_device.hpp"
#include "cli/interrupt.hpp"
#include "cli/packed_operands.hpp"
#include "cli/progress.hpp"
#include "core/catalogue.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

// Repetitions stop after this long, unless their number was asked for.
constexpr double kPatienceSeconds = 2;
constexpr int kDefaultRepeats = 3;

int repeats_of(const ExecutionOptions& options) {
  return options.repeat > 0 ? options.repeat : kDefaultRepeats;
}

Timing execute_on_cpu(const ExecutionOptions& options, const Plan& plan, Workload& workload) {
  Timing timing;
  std::vector<Operands> operands = workload.operands();
  std::vector<PackedMatrix> packed;
  if (workload.b_is_packed) packed = pack_each(plan, operands);
  RunOptions run_options;
  run_options.threads = options.threads;
  const int repeats = repeats_of(options);
  const auto work = [&] {
    double spent = 0;
    while (timing.repeats < repeats && (options.repeat > 0 || spent < kPatienceSeconds)) {
      for (Product& product : workload.products) product.restore_c();
      const double taken = bench::seconds_of([&] { run(plan, operands, run_options); });
      timing.seconds = timing.repeats == 0 ? taken : std::min(timing.seconds, taken);
      spent += taken;
      ++timing.repeats;
    }
  };
  // How far a product has come cannot be asked, so the bar goes by the prediction.
  Progress progress("multiplying, as predicted", plan.cost.seconds * repeats, "s");
  const auto start = bench::Clock::now();
  call_interruptibly(work, [&] {
    progress.at(std::min(bench::seconds_since(start), 0.99 * plan.cost.seconds * repeats));
  });
  return timing;
}

}  // namespace

void check_runs_here(const Plan& plan) {
  if (plan.machine.kind == MachineKind::gpu) return;
  const Machine host = host_machine();
  const KernelEntry* const kernel = find_kernel(plan.kernel);
  if (kernel != nullptr && !architecture_runs(host.architecture, kernel->architecture)) {
    throw Error(ErrorCode::unsupported, "kernel", "run on this processor, " + host.architecture,
                fmt::format("{}, which needs {}", plan.kernel, kernel->architecture),
                "leave --machine and --kernel out");
  }
}

Timing execute(const ExecutionOptions& options, const Plan& plan, Workload& workload) {
  if (plan.machine.kind == MachineKind::cpu) return execute_on_cpu(options, plan, workload);
  return {run_on_cuda(plan, workload, repeats_of(options)), repeats_of(options)};
}

Verification verify_all(const ExecutionOptions& options, const Plan& plan, Workload& workload) {
  Verification total{true, "", 0, ""};
  Progress progress("verifying", static_cast<double>(workload.products.size()), "products");
  for (std::size_t g = 0; g < workload.products.size(); ++g) {
    Product& product = workload.products[g];
    VerifyOptions verify_options;
    verify_options.alpha = workload.alpha;
    verify_options.beta = workload.beta;
    verify_options.epilogue = workload.epilogue;
    // No tile is in more pieces than it has iterations.
    const std::int64_t k = plan.problem.groups[g].k;
    verify_options.contributors = (k + plan.tile.block_k - 1) / plan.tile.block_k;
    verify_options.seed = options.seed;
    const Verification one = verify(product.operands(), product.c_before.view(), verify_options);
    total.method = one.method;
    total.worst = std::max(total.worst, one.worst);
    if (!one.passed) {
      total.passed = false;
      total.failure = fmt::format("product {}: {}", g, one.failure);
      return total;
    }
    progress.at(static_cast<double>(g + 1));
  }
  if (workload.products.size() > 1) {
    total.method = fmt::format("{} products, each by its size", workload.products.size());
  }
  return total;
}

int threads_of(const ExecutionOptions& options, const Plan& plan) {
  return options.threads > 0 ? options.threads : plan.machine.workers;
}

Speed speed_of(const ExecutionOptions& options, const Plan& plan, double seconds) {
  Speed speed;
  if (seconds > 0) speed.flops_per_second = flops_of(plan.problem) / seconds;
  if (plan.machine.kind == MachineKind::cpu) {
    speed.peak = bench::measure_peak(plan.problem.types.a, threads_of(options, plan));
  } else {
    speed.peak = {plan.machine.peak(plan.problem.types.a) * plan.machine.workers, "described"};
  }
  return speed;
}

nlohmann::json check_json(const Verification& check) {
  return {{"passed", check.passed},
          {"method", check.method},
          {"largest_error_over_bound", check.worst},
          {"failure", check.failure}};
}

}  // namespace tessera::cli
