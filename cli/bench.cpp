// `tessera bench`: lists of shapes by several schedules, against other libraries.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/cases.hpp"
#include "bench/peer.hpp"
#include "cli/atomic_file.hpp"
#include "cli/bench_report.hpp"
#include "cli/cpu_bench.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/shape.hpp"
#include "cli/text_file.hpp"
#include "cli/verbs.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

// A CPU gets a sixteenth of the rows that a GPU's group has.
constexpr int kCpuRowDivisor = 16;

struct Options {
  std::vector<std::string> shapes;
  std::vector<std::string> lists;
  std::string kind;
  std::vector<std::string> types = {"f32"};
  std::vector<std::string> schedules = {"auto"};
  std::vector<int> threads;
  std::vector<std::string> peers;
  MachineOptions machine;
  double seconds = 0.5;
  bool cold = false;
  bool one_call = false;
  std::string save;
  bool json = false;
};

std::vector<bench::Case> cases_from(const Options& options) {
  std::vector<bench::Case> cases;
  for (const std::string& text : options.shapes) {
    const GemmShape shape = parse_shape(text, "shape");
    cases.push_back({to_text(shape), "", {shape}});
  }
  for (const std::string& list : options.lists) {
    const std::string_view built_in = bench::built_in_shapes(list);
    const std::string csv = built_in.empty() ? read_text_file(list) : std::string(built_in);
    for (bench::Case& found : bench::parse_cases(csv, list, kCpuRowDivisor)) {
      if (options.kind.empty() || found.kind == options.kind) cases.push_back(std::move(found));
    }
  }
  if (cases.empty()) {
    throw Error(ErrorCode::invalid_argument, "shapes", "name at least one product", "none",
                "give shapes, or --shapes with a CSV file or one of cpu, grouped, dense");
  }
  return cases;
}

// What is compared for a named input type: 16-bit inputs give f32, as in the peers' own routines.
GemmTypes bench_types(const std::string& name) {
  GemmTypes types = gemm_types_for(element_type_from_name(name));
  if (size_of(types.c) == 2) types.c = ElementType::f32;
  return types;
}

std::vector<Variant> variants_from(const Options& options) {
  std::vector<Variant> variants;
  for (const std::string& name : options.schedules) {
    PlanOptions plan_options;
    if (name == "auto") {
      variants.push_back({"tessera", plan_options});
    } else {
      plan_options.schedule = schedule_kind_from_name(name);
      variants.push_back({"tessera " + name, plan_options});
    }
  }
  if (options.one_call) variants.push_back({"tessera gemm()", {}, true});
  return variants;
}

int run_bench(const Options& options) {
  if (options.machine.device == "cuda") {
    throw Error(ErrorCode::unsupported, "--device", "be cpu", "cuda",
                "measure the GPU with the programs of bench/cuda");
  }
  CpuBenchOptions bench_options;
  bench_options.machine = machine_from(options.machine);
  bench_options.cases = cases_from(options);
  for (const std::string& name : options.types) bench_options.types.push_back(bench_types(name));
  bench_options.variants = variants_from(options);
  bench_options.threads = options.threads;
  if (bench_options.threads.empty()) bench_options.threads = {bench_options.machine.workers};
  bench_options.seconds = options.seconds;
  bench_options.cold = options.cold;
  std::vector<std::unique_ptr<bench::Peer>> peers;
  for (const std::string& name : options.peers) {
    peers.push_back(bench::load_peer(name));
    bench_options.peers.push_back(peers.back().get());
  }
  if (!options.save.empty()) check_writable(options.save);

  const std::size_t total =
      bench_options.cases.size() * bench_options.types.size() * bench_options.threads.size();
  if (!options.json) {
    for (const bench::Peer* const peer : bench_options.peers) {
      const bench::PeerInfo info = peer->info();
      fmt::print("{}: {}\n", info.path, info.version);
    }
    fmt::print(
        "{} caches, medians of alternating runs; bound: share of the measured arithmetic peak or "
        "read bandwidth\n{}",
        options.cold ? "cold" : "warm", bench_table_header());
    std::fflush(stdout);
  }
  std::vector<CaseResult> results;
  {
    Progress progress("measuring", static_cast<double>(total), "shapes");
    std::size_t done = 0;
    results = run_cpu_bench(bench_options, [&](const CaseResult& result) {
      progress.at(static_cast<double>(++done));
      if (options.json) return;
      progress.clear();
      std::fputs(bench_table_line(result).c_str(), stdout);
      std::fflush(stdout);
    });
  }
  const nlohmann::ordered_json record = bench_json(bench_options, results);
  if (!options.save.empty()) {
    AtomicFile file(options.save);
    file.write(record.dump(1) + "\n");
    file.commit();
  }
  if (options.json) {
    std::puts(record.dump(2).c_str());
  } else {
    std::fputs(bench_table_summary(results).c_str(), stdout);
  }
  return 0;
}

}  // namespace

Verb add_bench_verb(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* const verb = app.add_subcommand(
      "bench", "Measure shapes by several schedules and against other libraries");
  verb->add_option("shape", options->shapes, "Products to measure")->type_name("MxNxK");
  verb->add_option("--shapes", options->lists,
                   "Lists of shapes: CSV files, or the built-in cpu, grouped and dense")
      ->type_name("FILE|NAME");
  verb->add_option("--kind", options->kind, "Only shapes of this kind, e.g. skinny")
      ->type_name("KIND");
  verb->add_option("--type", options->types,
                   "Input types; 16-bit ones are measured with f32 results")
      ->delimiter(',')
      ->type_name("TYPE,...")
      ->capture_default_str();
  verb->add_option(
          "--schedule", options->schedules,
          "Schedules: auto (the planner's choice), data_parallel, split_k, stream_k, hybrid")
      ->delimiter(',')
      ->type_name("SCHEDULE,...")
      ->capture_default_str();
  verb->add_option("--threads", options->threads, "Thread counts (default: all cores)")
      ->delimiter(',')
      ->type_name("N,...")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--peer", options->peers,
                   "Compare with openblas, blis or onednn; another build by openblas=/path/lib.so")
      ->delimiter(',')
      ->type_name("NAME[=PATH],...");
  add_machine_options(*verb, options->machine);
  verb->add_option("--seconds", options->seconds, "Timed work for each contender and shape")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  verb->add_flag("--cold", options->cold, "Flush the caches before each call");
  verb->add_flag("--one-call", options->one_call,
                 "Measure gemm(), which plans in each call, as well");
  verb->add_option("--save", options->save, "Store the JSON record in this file")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "Print the record as JSON instead of the table");
  return {verb, [options] { return run_bench(*options); }};
}

}  // namespace tessera::cli
