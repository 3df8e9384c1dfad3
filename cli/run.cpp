// `tessera run`: multiplies real matrices by a planned schedule, says how fast, and verifies.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/limits.hpp"
#include "cli/cuda_device.hpp"
#include "cli/interrupt.hpp"
#include "cli/npy.hpp"
#include "cli/plan_text.hpp"
#include "cli/progress.hpp"
#include "cli/shape.hpp"
#include "cli/text_file.hpp"
#include "cli/verbs.hpp"
#include "cli/verify.hpp"
#include "cli/workload.hpp"
#include "core/catalogue.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

// Repetitions stop after this long, unless --repeat asks for them.
constexpr double kPatienceSeconds = 2;
constexpr int kDefaultRepeats = 3;

struct Options {
  WorkloadOptions workload;
  MachineOptions machine;
  ScheduleOptions schedule;
  std::string plan_file;
  int threads = 0;
  int repeat = 0;
  bool check = false;
  bool compare = false;
  bool json = false;
};

struct Timing {
  double seconds = 0;  // of the fastest repetition
  int repeats = 0;
};

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

Plan plan_for(const Options& options, const Problem& problem) {
  if (!options.plan_file.empty()) return plan_from_json(read_text_file(options.plan_file));
  return make_plan(problem, machine_from(options.machine), plan_options_from(options.schedule));
}

// Runs until the repetitions are done; C holds the result of the last one.
Timing run_on_cpu(const Options& options, const Plan& plan, Workload& workload) {
  Timing timing;
  const std::vector<Operands> operands = workload.operands();
  const RunOptions run_options{.threads = options.threads};
  const int repeats = options.repeat > 0 ? options.repeat : kDefaultRepeats;
  const auto work = [&] {
    double spent = 0;
    while (timing.repeats < repeats && (options.repeat > 0 || spent < kPatienceSeconds)) {
      for (Product& product : workload.products) product.restore_c();
      const auto start = std::chrono::steady_clock::now();
      run(plan, operands, run_options);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      timing.seconds =
          timing.repeats == 0 ? taken.count() : std::min(timing.seconds, taken.count());
      spent += taken.count();
      ++timing.repeats;
    }
  };
  // How far a product has come cannot be asked, so the bar goes by the prediction.
  Progress progress("multiplying, as predicted", plan.cost.seconds * repeats, "s");
  const auto start = std::chrono::steady_clock::now();
  call_interruptibly(work, [&] {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - start;
    progress.at(std::min(gone.count(), 0.99 * plan.cost.seconds * repeats));
  });
  return timing;
}

Timing run_on(const Options& options, const Plan& plan, Workload& workload) {
  if (plan.machine.kind == MachineKind::cpu) return run_on_cpu(options, plan, workload);
  const int repeats = options.repeat > 0 ? options.repeat : kDefaultRepeats;
  return {run_on_cuda(plan, workload, repeats), repeats};
}

// The worst of all products; fails with the first that fails.
Verification verify_all(const Options& options, const Plan& plan, Workload& workload) {
  Verification total{true, "", 0, ""};
  Progress progress("verifying", static_cast<double>(workload.products.size()), "products");
  for (std::size_t g = 0; g < workload.products.size(); ++g) {
    Product& product = workload.products[g];
    VerifyOptions verify_options;
    verify_options.alpha = workload.alpha;
    verify_options.beta = workload.beta;
    verify_options.activation = workload.epilogue.activation;
    // No tile is in more pieces than it has iterations.
    const std::int64_t k = plan.problem.groups[g].k;
    verify_options.contributors = (k + plan.tile.block_k - 1) / plan.tile.block_k;
    verify_options.seed = options.workload.seed;
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

int threads_of(const Options& options, const Plan& plan) {
  return options.threads > 0 ? options.threads : plan.machine.workers;
}

struct Speed {
  double flops_per_second = 0;
  bench::PeakMeasurement peak;  // of the machine, with as many threads

  double share() const {
    return peak.flops_per_second > 0 ? flops_per_second / peak.flops_per_second : 0;
  }
};

Speed speed_of(const Options& options, const Plan& plan, const Timing& timing) {
  Speed speed;
  if (timing.seconds > 0) speed.flops_per_second = flops_of(plan.problem) / timing.seconds;
  if (plan.machine.kind == MachineKind::cpu) {
    speed.peak = bench::measure_peak(plan.problem.types.a, threads_of(options, plan));
  } else {
    speed.peak = {plan.machine.peak(plan.problem.types.a) * plan.machine.workers, "described"};
  }
  return speed;
}

std::string speed_text(const Speed& speed, const Timing& timing) {
  return fmt::format(
      "{}, {:.1f} GFLOP/s, {:.1f} % of the machine's peak of {:.1f} ({}), best of {}",
      seconds_text(timing.seconds), speed.flops_per_second * 1e-9, 100 * speed.share(),
      speed.peak.flops_per_second * 1e-9, speed.peak.instruction, timing.repeats);
}

std::string check_text(const Verification& check) {
  return check.passed ? fmt::format("passed: {}; largest error {:.2g} % of the bound", check.method,
                                    100 * check.worst)
                      : "FAILED: " + check.failure;
}

nlohmann::json to_json(const Verification& check) {
  return {{"passed", check.passed},
          {"method", check.method},
          {"largest_error_over_bound", check.worst},
          {"failure", check.failure}};
}

void write_results(Workload& workload) {
  for (const Product& product : workload.products) {
    if (product.out) write_npy(*product.out, product.c);
  }
}

void print_json(const Options& options, const Plan& plan, const Timing& timing, const Speed& speed,
                const Verification* check) {
  nlohmann::json result;
  result["plan"] = nlohmann::json::parse(tessera::to_json(plan));
  result["seconds"] = timing.seconds;
  result["repeats"] = timing.repeats;
  result["threads"] = threads_of(options, plan);
  result["gflops"] = speed.flops_per_second * 1e-9;
  result["peak_gflops"] = speed.peak.flops_per_second * 1e-9;
  result["peak_instruction"] = speed.peak.instruction;
  result["share_of_peak"] = speed.share();
  if (check != nullptr) result["check"] = to_json(*check);
  std::puts(result.dump(2).c_str());
}

int report_wrong(const std::string& failure) {
  fmt::print(stderr, "tessera: the result is wrong and was not written: {}\n", failure);
  return 1;
}

int run_one(const Options& options, const Plan& plan, Workload& workload) {
  const Timing timing = run_on(options, plan, workload);
  const Speed speed = speed_of(options, plan, timing);
  Verification check;
  if (options.check) check = verify_all(options, plan, workload);
  if (options.json) {
    print_json(options, plan, timing, speed, options.check ? &check : nullptr);
  } else {
    std::fputs(plan_summary(plan).c_str(), stdout);
    fmt::print("{:<22}{}\n", "time", speed_text(speed, timing));
    if (options.check) fmt::print("{:<22}{}\n", "check", check_text(check));
  }
  if (options.check && !check.passed) return report_wrong(check.failure);
  write_results(workload);
  return 0;
}

// The same product by every schedule, one line each.
int run_compare(const Options& options, Workload& workload) {
  const Problem problem = workload.problem();
  nlohmann::json rows = nlohmann::json::array();
  std::string failure;
  if (!options.json) {
    fmt::print("{:<22}{}\n", "problem", to_text(problem.groups));
    fmt::print("{:<14} {:<14} {:>8} {:>12} {:>10} {:>7}  {}\n", "schedule", "tile", "workers",
               "time", "GFLOP/s", "peak", options.check ? "check" : "");
  }
  for (const char* const name : {"data_parallel", "split_k", "stream_k", "hybrid"}) {
    throw_if_interrupted();
    Options one = options;
    one.schedule.schedule = name;
    const Plan plan = plan_for(one, problem);
    check_runs_here(plan);
    const Timing timing = run_on(one, plan, workload);
    const Speed speed = speed_of(one, plan, timing);
    Verification check{true, "", 0, ""};
    if (options.check) check = verify_all(one, plan, workload);
    if (!check.passed) failure = fmt::format("{}: {}", name, check.failure);
    if (options.json) {
      rows.push_back({{"schedule", name},
                      {"tile", to_text(plan.tile)},
                      {"kernel", plan.kernel},
                      {"workers", plan.schedule.workers},
                      {"seconds", timing.seconds},
                      {"gflops", speed.flops_per_second * 1e-9},
                      {"share_of_peak", speed.share()}});
      if (options.check) rows.back()["check"] = to_json(check);
    } else {
      fmt::print("{:<14} {:<14} {:>8} {:>12} {:>10.1f} {:>5.1f} %  {}\n", name, to_text(plan.tile),
                 plan.schedule.workers, seconds_text(timing.seconds), speed.flops_per_second * 1e-9,
                 100 * speed.share(),
                 !options.check ? ""
                 : check.passed ? "passed"
                                : "FAILED: " + check.failure);
    }
  }
  if (options.json) std::puts(nlohmann::json{{"schedules", rows}}.dump(2).c_str());
  return failure.empty() ? 0 : report_wrong(failure);
}

int run_run(const Options& options) {
  Workload workload = make_workload(options.workload);
  if (options.compare) return run_compare(options, workload);
  const Plan plan = plan_for(options, workload.problem());
  check_runs_here(plan);
  return run_one(options, plan, workload);
}

}  // namespace

Verb add_run_verb(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* const verb =
      app.add_subcommand("run", "Multiply matrices from .npy files or random ones");
  verb->add_option("--a", options->workload.a,
                   "A, a .npy file; bfloat16 as uint16 with --type bf16")
      ->type_name("FILE");
  verb->add_option("--b", options->workload.b, "B, a .npy file")->type_name("FILE");
  verb->add_option("--c", options->workload.c, "What C is before, for --beta; random without it")
      ->type_name("FILE");
  verb->add_option("--out", options->workload.out, "Where C goes; complete or not at all")
      ->type_name("FILE");
  add_problem_options(*verb, options->workload.problem);
  verb->add_option("--seed", options->workload.seed, "Seed of random operands")
      ->capture_default_str();
  add_machine_options(*verb, options->machine);
  add_schedule_options(*verb, options->schedule);
  verb->add_option("--plan", options->plan_file, "Run this plan, from 'tessera plan --json'")
      ->type_name("FILE");
  verb->add_option(
          "--threads", options->threads,
          "Threads for this product (default: all cores); the result does not depend on it")
      ->type_name("N")
      ->check(in_range(1, 4096));
  verb->add_option("--repeat", options->repeat,
                   "Run so often and report the fastest (default: up to 3 within two seconds)")
      ->type_name("N")
      ->check(in_range(1, 1000000));
  verb->add_flag(
      "--check", options->check,
      "Verify in float64: each element if small, Freivalds' check with 20 vectors if large");
  verb->add_flag("--compare", options->compare,
                 "Run all four schedules and print one line for each");
  verb->add_flag("--json", options->json, "Print the result as JSON");
  return {verb, [options] { return run_run(*options); }};
}

}  // namespace tessera::cli
