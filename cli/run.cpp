// `tessera run`: multiplies real matrices by a planned schedule, says how fast, and verifies.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/compare.hpp"
#include "cli/execution.hpp"
#include "cli/plan_text.hpp"
#include "cli/shape.hpp"
#include "cli/text_file.hpp"
#include "cli/verbs.hpp"
#include "cli/workload.hpp"
#include "core/tile_config.hpp"
#include "core/validate.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

struct RunRequest {
  WorkloadOptions workload;
  MachineOptions machine;
  ScheduleOptions schedule;
  ExecutionOptions execution;
  std::string plan_file;
  bool check = false;
  bool compare = false;
  bool json = false;
};

Plan plan_for(const RunRequest& options, const Problem& problem) {
  if (!options.plan_file.empty()) return plan_from_json(read_text_file(options.plan_file));
  Machine machine = machine_from(options.machine);
  const int threads = options.execution.threads;
  if (threads > 0 && threads < machine.workers && machine.kind == MachineKind::cpu) {
    machine = with_workers(std::move(machine), threads);
  }
  return make_plan(problem, machine, plan_options_from(options.schedule));
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

int report_wrong(const std::string& failure) {
  fmt::print(stderr, "tessera: the result is wrong and was not written: {}\n", failure);
  return 1;
}

nlohmann::json run_json(const RunRequest& options, const Plan& plan, const Timing& timing,
                        const Speed& speed, const Verification& check) {
  nlohmann::json result;
  result["plan"] = nlohmann::json::parse(to_json(plan));
  result["seconds"] = timing.seconds;
  result["repeats"] = timing.repeats;
  result["threads"] = threads_of(options.execution, plan);
  result["gflops"] = speed.flops_per_second * 1e-9;
  result["peak_gflops"] = speed.peak.flops_per_second * 1e-9;
  result["peak_instruction"] = speed.peak.instruction;
  result["share_of_peak"] = speed.share();
  if (options.check) result["check"] = check_json(check);
  return result;
}

int run_one(const RunRequest& options, Workload& workload) {
  const Plan plan = plan_for(options, workload.problem());
  check_runs_here(plan);
  const Timing timing = execute(options.execution, plan, workload);
  const Speed speed = speed_of(options.execution, plan, timing.seconds);
  Verification check;
  if (options.check) check = verify_all(options.execution, plan, workload);
  if (options.json) {
    std::puts(run_json(options, plan, timing, speed, check).dump(2).c_str());
  } else {
    std::fputs(plan_summary(plan).c_str(), stdout);
    fmt::print("{:<22}{}\n", "time", speed_text(speed, timing));
    if (options.check) fmt::print("{:<22}{}\n", "check", check_text(check));
  }
  if (options.check && !check.passed) return report_wrong(check.failure);
  workload.write_results();
  return 0;
}

nlohmann::json compare_json(const std::vector<ComparedSchedule>& compared, bool checked) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ComparedSchedule& one : compared) {
    rows.push_back({{"schedule", one.name},
                    {"tile", to_text(one.plan.tile)},
                    {"kernel", one.plan.kernel},
                    {"workers", one.plan.schedule.workers},
                    {"seconds", one.seconds},
                    {"gflops", one.speed.flops_per_second * 1e-9},
                    {"share_of_peak", one.speed.share()}});
    if (checked) rows.back()["check"] = check_json(one.check);
  }
  return {{"schedules", rows}};
}

void print_compared(const std::vector<ComparedSchedule>& compared, bool checked) {
  fmt::print("{:<22}{}\n", "problem", to_text(compared.front().plan.problem.groups));
  fmt::print("{:<14} {:<14} {:>8} {:>12} {:>10} {:>7}  {}\n", "schedule", "tile", "workers", "time",
             "GFLOP/s", "peak", checked ? "check" : "");
  for (const ComparedSchedule& one : compared) {
    fmt::print("{:<14} {:<14} {:>8} {:>12} {:>10.1f} {:>5.1f} %  {}\n", one.name,
               to_text(one.plan.tile), one.plan.schedule.workers, seconds_text(one.seconds),
               one.speed.flops_per_second * 1e-9, 100 * one.speed.share(),
               !checked           ? ""
               : one.check.passed ? "passed"
                                  : "FAILED");
  }
}

int run_compare(const RunRequest& options, Workload& workload) {
  const Problem problem = workload.problem();
  const auto plan_by = [&](const std::string& schedule) {
    RunRequest one = options;
    one.schedule.schedule = schedule;
    return plan_for(one, problem);
  };
  const std::vector<ComparedSchedule> compared =
      compare_schedules(options.execution, workload, options.check, plan_by);
  if (options.json) {
    std::puts(compare_json(compared, options.check).dump(2).c_str());
  } else {
    print_compared(compared, options.check);
  }
  for (const ComparedSchedule& one : compared) {
    if (!one.check.passed) return report_wrong(one.name + ": " + one.check.failure);
  }
  return 0;
}

void check_compare(const RunRequest& options) {
  const bool writes = !options.workload.out.empty();
  if (!writes && options.plan_file.empty() && options.schedule.schedule.empty()) return;
  throw Error(ErrorCode::invalid_argument, "--compare", "come without --schedule, --plan and --out",
              writes ? "--out" : "--schedule or --plan", "leave it out");
}

int run_run(RunRequest& options) {
  if (options.compare) check_compare(options);
  options.execution.seed = options.workload.seed;
  Workload workload = make_workload(options.workload);
  return options.compare ? run_compare(options, workload) : run_one(options, workload);
}

}  // namespace

Verb add_run_verb(CLI::App& app) {
  const auto options = std::make_shared<RunRequest>();
  CLI::App* const verb =
      app.add_subcommand("run", "Multiply matrices from .npy files or random ones");
  verb->add_option("--a", options->workload.a,
                   "A, a .npy file; bfloat16 as uint16 with --type bf16. An array of three "
                   "dimensions is a batch of matrices")
      ->type_name("FILE");
  verb->add_option("--b", options->workload.b,
                   "B, a .npy file: a batch like A, or one matrix for all")
      ->type_name("FILE");
  verb->add_option("--c", options->workload.c, "What C is before, for --beta; random without it")
      ->type_name("FILE");
  verb->add_option(
          "--bias", options->workload.bias,
          "A .npy vector that is added to C: one value per column, or per row where it has "
          "that length; before the activation")
      ->type_name("FILE");
  verb->add_option(
          "--bias-axis", options->workload.bias_axis,
          "Add the bias per row or per column (default: as its shape says; if both fit, per "
          "column)")
      ->type_name("row|column");
  verb->add_option("--out", options->workload.out, "Where C goes; complete or not at all")
      ->type_name("FILE");
  add_problem_options(*verb, options->workload.problem);
  verb->add_option("--seed", options->workload.seed, "Seed of random operands")
      ->transform(seed_number())
      ->capture_default_str();
  add_machine_options(*verb, options->machine);
  add_schedule_options(*verb, options->schedule);
  verb->add_option("--plan", options->plan_file, "Run this plan, from 'tessera plan --json'")
      ->type_name("FILE");
  verb->add_option("--threads", options->execution.threads,
                   "Threads for this product, which is planned for as many (default: all cores)")
      ->type_name("N")
      ->check(in_range(1, kMostThreads));
  verb->add_option("--repeat", options->execution.repeat,
                   "Run so often and report the fastest (default: up to 3 within two seconds)")
      ->type_name("N")
      ->check(in_range(1, 1000000));
  verb->add_flag(
      "--check", options->check,
      "Verify in float64: each element if small, Freivalds' check with 20 vectors if large");
  verb->add_flag("--compare", options->compare,
                 "Run all four schedules in turns, one line for each");
  verb->add_flag("--json", options->json, "Print the result as JSON");
  return {verb, [options] { return run_run(*options); }};
}

}  // namespace tessera::cli
