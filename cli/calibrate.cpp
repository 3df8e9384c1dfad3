// `tessera calibrate`: measures this machine and fits the planner's constants to it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/limits.hpp"
#include "bench/protocol.hpp"
#include "cli/atomic_file.hpp"
#include "cli/cuda_device.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/verbs.hpp"
#include "cli/workload.hpp"
#include "plan/calibration.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

constexpr int kCudaRepeats = 10;

struct CalibrateRequest {
  MachineOptions machine;
  std::string save = "machine.json";
  double seconds = 0.03;
  bool json = false;
};

// Peaks and bandwidths that can be read off directly; the fit finds the rest.
void measure_limits(Machine& machine) {
  for (PeakRate& peak : machine.peaks) {
    const double measured = bench::measure_own_peak(peak.type, machine.workers).flops_per_second;
    if (measured > 0) peak.flops_per_second_per_worker = measured / machine.workers;
  }
  machine.worker_memory_bytes_per_second = bench::measure_read_bandwidth(1);
  machine.memory_bytes_per_second = std::max(machine.worker_memory_bytes_per_second,
                                             bench::measure_read_bandwidth(machine.workers));
}

// The fastest run: what other processes took is no property of the machine.
double measure_plan(const Plan& plan, double seconds) {
  Workload workload = random_workload(plan.problem, 0);
  if (plan.machine.kind == MachineKind::gpu) return run_on_cuda(plan, workload, kCudaRepeats);
  const std::vector<Operands> operands = workload.operands();
  const bench::Contender contender{"tessera", [&] { run(plan, operands); }};
  return bench::measure({contender}, {.seconds = seconds,
                                      .threads = plan.machine.workers,
                                      .between_rounds = throw_if_interrupted})[0]
      .best;
}

std::vector<CalibrationSample> measure_samples(const Machine& machine, double seconds) {
  std::vector<Plan> plans = calibration_plans(machine, ElementType::f32);
  if (machine.kind == MachineKind::gpu) plans = calibration_plans(machine, ElementType::bf16);
  std::vector<CalibrationSample> samples;
  Progress progress("measuring", static_cast<double>(plans.size()), "products");
  for (const Plan& plan : plans) {
    throw_if_interrupted();
    samples.push_back({plan, measure_plan(plan, seconds)});
    progress.at(static_cast<double>(samples.size()));
  }
  return samples;
}

// Whether f32 in parts of bf16, or f64 by residues (Machine::splits_f32, splits_f64), pays here;
// the constants are fitted to vectors.
bool measure_splitting(const Machine& machine, ElementType type, double seconds) {
  constexpr GemmShape kShape{768, 768, 768};
  const Problem problem = dense_problem(kShape, gemm_types_for(type));
  const auto time_by = [&](const std::string& family) {
    PlanOptions options;
    options.kernel = family + "_" + std::string(name_of(type));
    return measure_plan(make_plan(problem, machine, options), seconds);
  };
  constexpr double kLeastGain = 1.1;
  return kLeastGain * time_by("cpu_amx") < time_by("cpu_avx512");
}

std::string constants_text(const Machine& machine) {
  const CostConstants& cost = machine.cost;
  std::string text;
  const auto line = [&](const char* name, double value, const char* unit) {
    text += fmt::format("  {:<28}{:>10.4g} {}\n", name, value, unit);
  };
  line("launch", cost.launch_seconds * 1e6, "us");
  line("a work item", cost.tile_seconds * 1e9, "ns");
  line("a level of fix-up", cost.split_seconds * 1e9, "ns");
  line("an iteration", cost.iteration_overhead_seconds * 1e9, "ns");
  line("adding a partial tile", 1e-9 / cost.peer_seconds_per_byte, "GB/s");
  line("share of the peak", 100 * cost.compute_efficiency, "%");
  if (const double f32 = machine.peak(ElementType::f32); f32 > 0) {
    line("bf16 as it is, beside f32", machine.peak(ElementType::bf16) / f32, "times as fast");
  }
  if (machine.architecture == "amx") {
    const auto answer = [&](const char* name, bool splits) {
      text += fmt::format("  {:<28}{:>10}\n", name, splits ? "yes" : "no");
    };
    answer("f32 in parts of bf16", machine.splits_f32);
    answer("f64 by residues", machine.splits_f64);
  }
  line("memory, all workers", machine.memory_bytes_per_second * 1e-9, "GB/s");
  line("memory, one worker", machine.worker_memory_bytes_per_second * 1e-9, "GB/s");
  line("shared cache", machine.cache_bytes_per_second * 1e-9, "GB/s");
  return text;
}

int run_calibrate(const CalibrateRequest& options) {
  check_writable(options.save);
  Machine machine = machine_from(options.machine);
  if (machine.kind == MachineKind::cpu) measure_limits(machine);
  machine.splits_f32 = false;
  machine.splits_f64 = false;
  const std::vector<CalibrationSample> samples = measure_samples(machine, options.seconds);
  const std::string source =
      fmt::format("tessera calibrate, {:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  Calibration fitted = calibrate(machine, samples, source);
  if (machine.architecture == "amx" && host_machine().architecture == "amx") {
    const auto pays = [&](ElementType type) {
      return measure_splitting(fitted.machine, type, options.seconds);
    };
    fitted.machine.splits_f32 = pays(ElementType::f32);
    fitted.machine.splits_f64 = pays(ElementType::f64);
  }
  AtomicFile file(options.save);
  file.write(to_json(fitted.machine) + "\n");
  file.commit();

  if (options.json) {
    const nlohmann::ordered_json record = {
        {"file", options.save},
        {"samples", samples.size()},
        {"median_error_before", fitted.before.median_error},
        {"median_error_after", fitted.after.median_error},
        {"worst_error_after", fitted.after.worst_error},
        {"machine", nlohmann::json::parse(to_json(fitted.machine))}};
    std::puts(record.dump(2).c_str());
    return 0;
  }
  fmt::print("{} products measured on {}\n{}", samples.size(), machine.name,
             constants_text(fitted.machine));
  fmt::print("median error of a predicted time: {:.1f} % before, {:.1f} % after (worst {:.1f} %)\n",
             100 * fitted.before.median_error, 100 * fitted.after.median_error,
             100 * fitted.after.worst_error);
  fmt::print("stored in {0}; use it with --machine {0} or TESSERA_MACHINE={0}\n", options.save);
  return 0;
}

}  // namespace

Verb add_calibrate_verb(CLI::App& app) {
  const auto options = std::make_shared<CalibrateRequest>();
  CLI::App* const verb =
      app.add_subcommand("calibrate", "Fit the planner's constants to this machine, in seconds");
  add_machine_options(*verb, options->machine);
  verb->add_option("--save", options->save, "Where the machine's description goes")
      ->type_name("FILE")
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Timed work for each of about fifty products")
      ->check(in_range(0.001, 60.0))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "Print the result as JSON");
  return {verb, [options] { return run_calibrate(*options); }};
}

}  // namespace tessera::cli
