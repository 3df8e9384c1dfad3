// `tessera sweep`: many shapes, every schedule asked for, against other libraries; can be stopped
// and continued at any time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/corpus.hpp"
#include "bench/limits.hpp"
#include "bench/peer.hpp"
#include "cli/command_line.hpp"
#include "cli/cpu_bench.hpp"
#include "cli/cuda_bench.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/shape_list.hpp"
#include "cli/sweep_file.hpp"
#include "cli/sweep_steps.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "core/validate.hpp"
#include "report/text.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

constexpr int kDefaultCount = 300;
constexpr std::size_t kAveraged = 10;

struct SweepRequest {
  std::string corpus;
  int count = 0;
  std::uint64_t seed = 0;
  std::string type = "f32";
  std::vector<std::string> schedules = {"data_parallel", "stream_k", "hybrid"};
  std::vector<int> grids;
  std::string two_tile = "on";
  std::string kernel;
  std::vector<std::string> peers;
  MachineOptions machine;
  int threads = 0;
  double seconds = 0.1;
  bool cold = false;
  std::string out;
  bool json = false;
};

struct Corpus {
  std::string name;
  std::vector<bench::Case> cases;
};

Corpus corpus_from(const SweepRequest& options) {
  const std::vector<std::string> names = bench::corpus_names();
  if (std::find(names.begin(), names.end(), options.corpus) != names.end()) {
    const int count = options.count > 0 ? options.count : kDefaultCount;
    return {options.corpus, bench::corpus(options.corpus, count, options.seed)};
  }
  const std::string csv = shape_list(options.corpus);
  Corpus corpus{named_by_contents(std::filesystem::path(options.corpus).filename().string(), csv),
                bench::parse_cases(csv, options.corpus,
                                   options.machine.device == "cuda" ? 1 : kCpuRowDivisor)};
  if (options.count > 0 && static_cast<std::size_t>(options.count) < corpus.cases.size()) {
    corpus.cases.resize(static_cast<std::size_t>(options.count));
  }
  if (corpus.cases.empty()) {
    throw Error(ErrorCode::io, "'" + options.corpus + "'", "hold at least one shape", "none",
                "add lines like 1536,1792,6016,showcase");
  }
  return corpus;
}

void print(std::string text) {
  if (!output_style().unicode) text = report::to_ascii(text);
  std::puts(text.c_str());
  std::fflush(stdout);
}

void print_average(const std::vector<report::SweepRecord>& records, int total) {
  std::vector<double> all;
  for (const report::SweepRecord& record : records) all.push_back(record.speed_up());
  const std::vector<double> last(all.end() - static_cast<std::ptrdiff_t>(kAveraged), all.end());
  print(fmt::format("{:>5} of {} shapes: {} as fast on geometric average; the last ten {}",
                    records.size(), total, report::times(report::geometric_mean(all)),
                    report::times(report::geometric_mean(last))));
}

CpuBenchOptions bench_options_from(const SweepRequest& options) {
  const bool on_gpu = options.machine.device == "cuda";
  CpuBenchOptions bench_options;
  bench_options.machine = machine_from(options.machine);
  bench_options.types = {gemm_types_for(element_type_from_name(options.type))};
  if (size_of(bench_options.types[0].c) == 2 && !on_gpu) {
    bench_options.types[0].c = ElementType::f32;
  }
  bench_options.threads = {options.threads > 0 && !on_gpu ? options.threads
                                                          : bench_options.machine.workers};
  bench_options.variants =
      sweep_variants(options.schedules, options.grids, options.two_tile, options.kernel);
  bench_options.seconds = on_gpu ? 0 : options.seconds;
  bench_options.cold = options.cold || on_gpu;
  bench_options.each_plan_once = true;
  return bench_options;
}

// Measures the shapes whose records are not there yet, and adds theirs to the file. Returns what is
// wrong with a result, which ends the sweep.
std::optional<std::string> measure_rest(const SweepRequest& options, const Corpus& corpus,
                                        CpuBenchOptions& bench_options, CudaSweep* gpu,
                                        SweepFile& file,
                                        std::vector<report::SweepRecord>& records) {
  const int total = static_cast<int>(corpus.cases.size());
  std::set<int> done;
  for (const report::SweepRecord& record : records) done.insert(record.index);
  if (!options.json && !done.empty()) {
    print(fmt::format("{}: {} of {} shapes are there; going on", options.out, done.size(), total));
  }
  if (gpu == nullptr && static_cast<int>(done.size()) < total) {
    bench_options.bandwidth = bench::measure_read_bandwidth(bench_options.threads[0]);
  }
  Progress progress("sweeping", total - static_cast<double>(done.size()), "shapes");
  double measured = 0;
  for (int i = 0; i < total; ++i) {
    if (done.contains(i)) continue;
    throw_if_interrupted();
    const bench::Case& what = corpus.cases[static_cast<std::size_t>(i)];
    bench_options.cases = {what};
    const CaseResult result = gpu != nullptr
                                  ? gpu->measure(what)
                                  : run_cpu_bench(bench_options, [](const CaseResult&) {}).front();
    if (auto wrong = wrong_result(result, bench_options, i, options.seed)) {
      progress.clear();
      return wrong;
    }
    records.push_back(record_from(result, i));
    file.append(records.back());
    progress.at(++measured);
    if (!options.json && records.size() % kAveraged == 0) {
      progress.clear();
      print_average(records, total);
    }
  }
  return std::nullopt;
}

nlohmann::json summary_json(const SweepRequest& options,
                            const std::vector<report::SweepRecord>& records) {
  std::vector<double> speed_ups;
  std::vector<double> regrets;
  for (const report::SweepRecord& record : records) {
    speed_ups.push_back(record.speed_up());
    regrets.push_back(record.regret());
  }
  return {{"file", options.out},
          {"shapes", records.size()},
          {"geometric_mean_speed_up", report::geometric_mean(speed_ups)},
          {"worst_speed_up", *std::min_element(speed_ups.begin(), speed_ups.end())},
          {"geometric_mean_regret", report::geometric_mean(regrets)}};
}

int run_sweep(const SweepRequest& options) {
  const Corpus corpus = corpus_from(options);
  CpuBenchOptions bench_options = bench_options_from(options);
  std::vector<std::unique_ptr<bench::Peer>> peers;
  std::unique_ptr<CudaSweep> gpu;
  if (options.machine.device == "cuda") {
    gpu = std::make_unique<CudaSweep>(bench_options, !options.peers.empty(),
                                      cublaslt_path_from(options.peers));
  } else {
    for (const std::string& name : options.peers) {
      peers.push_back(bench::load_peer(name));
      bench_options.peers.push_back(peers.back().get());
    }
  }

  const int total = static_cast<int>(corpus.cases.size());
  report::SweepSettings settings = settings_for(corpus.name, total, options.seed, bench_options);
  if (gpu && !options.peers.empty()) settings.contenders.push_back("cublaslt");
  SweepFile file(options.out, settings);
  std::vector<report::SweepRecord> records = file.earlier();
  try {
    const auto wrong = measure_rest(options, corpus, bench_options, gpu.get(), file, records);
    if (wrong) {
      std::fprintf(stderr, "tessera: %s\n", wrong->c_str());
      return 1;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::interrupted) throw;
    throw Error(ErrorCode::interrupted,
                fmt::format("stopped after {} of {} shapes; '{}' is valid, and the same command "
                            "goes on from there",
                            records.size(), total, options.out));
  }

  if (options.json) {
    std::puts(summary_json(options, records).dump(2).c_str());
  } else {
    print(report::sweep_summary({settings, records, 0}));
    print(
        fmt::format("'tessera report {} --html report.html' draws it", shell_quoted(options.out)));
  }
  return 0;
}

}  // namespace

Verb add_sweep_verb(CLI::App& app) {
  const auto options = std::make_shared<SweepRequest>();
  CLI::App* const verb = app.add_subcommand(
      "sweep", "Measure many shapes by several schedules; can be stopped and continued");
  verb->add_option("--corpus", options->corpus,
                   "log256, loguniform or awkward, a CSV file, or a built-in list: " +
                       bench::built_in_names())
      ->type_name("NAME|FILE")
      ->required();
  verb->add_option("--count", options->count, "How many shapes (default: 300, or all of a file's)")
      ->type_name("N")
      ->check(in_range(1, 1 << 20));
  verb->add_option("--seed", options->seed, "Seed of the corpus")
      ->transform(seed_number())
      ->capture_default_str();
  verb->add_option("--type", options->type,
                   "Input type; 16-bit ones are measured with f32 results on a CPU")
      ->type_name("TYPE")
      ->capture_default_str();
  verb->add_option("--schedule", options->schedules,
                   "Schedules to measure beside the planner's choice, with pieces as in split_k(3)")
      ->delimiter(',')
      ->type_name("SCHEDULE,...")
      ->capture_default_str();
  verb->add_option("--grids", options->grids,
                   "Numbers of workers to measure each schedule with (default: the planner's)")
      ->delimiter(',')
      ->type_name("N,...")
      ->check(in_range(1, 1 << 16));
  verb->add_option("--two-tile", options->two_tile,
                   "Hybrid schedules with two tiles' work for each worker: on, off or both")
      ->type_name("on|off|both")
      ->check(CLI::IsMember({"on", "off", "both"}))
      ->capture_default_str();
  verb->add_option("--kernel", options->kernel,
                   "Measure all schedules with this kernel; 'tessera info' lists them")
      ->type_name("NAME");
  add_peer_option(*verb, options->peers);
  add_machine_options(*verb, options->machine);
  verb->add_option("--threads", options->threads, "Threads on a CPU (default: all cores)")
      ->type_name("N")
      ->check(in_range(1, kMostThreads));
  verb->add_option("--seconds", options->seconds,
                   "Timed work for each contender and shape on a CPU; a GPU runs each nine times")
      ->check(in_range(0.001, 3600.0))
      ->capture_default_str();
  verb->add_flag("--cold", options->cold,
                 "Flush the caches before each call, as a GPU always does");
  verb->add_option("--out", options->out,
                   "The results, one line of JSON per shape; an unfinished file is continued")
      ->type_name("FILE")
      ->required();
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  return {verb, [options] { return run_sweep(*options); }};
}

}  // namespace tessera::cli
