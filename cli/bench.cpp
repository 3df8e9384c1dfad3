// `tessera bench`: lists of shapes by several schedules, against other libraries.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/cases.hpp"
#include "bench/corpus.hpp"
#include "bench/peer.hpp"
#include "cli/atomic_file.hpp"
#include "cli/bench_report.hpp"
#include "cli/cpu_bench.hpp"
#include "cli/cuda_bench.hpp"
#include "cli/moe_bench.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/shape.hpp"
#include "cli/shape_list.hpp"
#include "cli/verbs.hpp"
#include "core/validate.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

// A CPU gets a sixteenth of the rows that a GPU's group has.
constexpr int kCpuRowDivisor = 16;

struct BenchRequest {
  std::vector<std::string> shapes;
  std::vector<std::string> lists;
  std::string suite;
  std::string kind;
  int count = 100;
  std::optional<std::uint64_t> seed;  // without one: 1 for lists of products, 0 for sizes
  std::vector<std::string> types;
  std::vector<std::string> schedules = {"auto"};
  std::string tile;
  std::string trans = "NN";
  std::vector<int> threads;
  std::vector<std::string> peers;
  MachineOptions machine;
  double seconds = 0.5;
  bool cold = false;
  bool one_call = false;
  std::string save;
  bool json = false;
};

std::vector<bench::Case> cases_from(const BenchRequest& options, int row_divisor) {
  std::vector<bench::Case> cases;
  for (const std::string& text : options.shapes) {
    const std::vector<GemmShape> groups = parse_shapes(text, "shape");
    cases.push_back({text, groups.size() > 1 ? "grouped" : "", groups});
  }
  std::vector<std::string> lists = options.lists;
  if (lists.empty() && cases.empty()) lists = {options.machine.device == "cuda" ? "dense" : "cpu"};
  const std::vector<std::string> corpora = bench::corpus_names();
  for (const std::string& list : lists) {
    if (std::find(corpora.begin(), corpora.end(), list) != corpora.end()) {
      for (bench::Case& found : bench::corpus(list, options.count, options.seed.value_or(1))) {
        cases.push_back(std::move(found));
      }
      continue;
    }
    for (bench::Case& found : bench::parse_cases(shape_list(list), list, row_divisor)) {
      if (options.kind.empty() || found.kind == options.kind) cases.push_back(std::move(found));
    }
  }
  if (cases.empty()) {
    throw Error(ErrorCode::invalid_argument, "shapes", "name at least one product", "none",
                "give shapes, or --shapes with a CSV file or one of cpu, grouped, dense, log256, "
                "loguniform, awkward, and check --kind");
  }
  return cases;
}

// What is compared for a named input type: 16-bit inputs give f32, as in the peers' own routines.
GemmTypes bench_types(const std::string& name) {
  GemmTypes types = gemm_types_for(element_type_from_name(name));
  if (size_of(types.c) == 2) types.c = ElementType::f32;
  return types;
}

std::vector<Variant> variants_from(const BenchRequest& options) {
  std::vector<Variant> variants;
  for (const std::string& name : options.schedules) {
    PlanOptions plan_options;
    if (!options.tile.empty()) plan_options.tile = parse_tile(options.tile);
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

void save_record(const BenchRequest& options, const std::string& record) {
  if (options.save.empty()) return;
  AtomicFile file(options.save);
  file.write(record + "\n");
  file.commit();
}

int run_on_gpu(const BenchRequest& options) {
  CudaBenchOptions bench_options;
  bench_options.cases = cases_from(options, 1);
  bench_options.corpus = fmt::format("{}", fmt::join(options.lists, ","));
  for (const std::string& name : options.types) {
    bench_options.types.push_back(gemm_types_for(element_type_from_name(name)));
  }
  for (const Variant& variant : variants_from(options)) {
    bench_options.variants.push_back(variant.options);
  }
  bench_options.layouts = layouts_from(options.trans);
  bench_options.cold = options.cold;
  bench_options.json = options.json;
  if (!options.peers.empty()) {
    bench_options.against_cublaslt = true;
    bench_options.cublaslt_path = cublaslt_path_from(options.peers);
  }
  save_record(options, run_cuda_bench(bench_options));
  return 0;
}

void print_head(const BenchRequest& options, const CpuBenchOptions& bench_options) {
  for (const bench::Peer* const peer : bench_options.peers) {
    const bench::PeerInfo info = peer->info();
    fmt::print("{}: {}\n", info.path, info.version);
  }
  fmt::print(
      "{} caches, medians of alternating runs; bound: share of the measured arithmetic peak or "
      "read "
      "bandwidth\n{}",
      options.cold ? "cold" : "warm", bench_table_header());
  std::fflush(stdout);
}

int run_on_cpu(const BenchRequest& options) {
  CpuBenchOptions bench_options;
  bench_options.machine = machine_from(options.machine);
  bench_options.cases = cases_from(options, kCpuRowDivisor);
  for (const std::string& name : options.types) bench_options.types.push_back(bench_types(name));
  bench_options.variants = variants_from(options);
  bench_options.layouts = layouts_from(options.trans);
  bench_options.threads = options.threads;
  if (bench_options.threads.empty()) bench_options.threads = {bench_options.machine.workers};
  bench_options.seconds = options.seconds;
  bench_options.cold = options.cold;
  std::vector<std::unique_ptr<bench::Peer>> peers;
  for (const std::string& name : options.peers) {
    peers.push_back(bench::load_peer(name));
    bench_options.peers.push_back(peers.back().get());
  }
  if (!options.json) print_head(options, bench_options);

  const std::size_t total =
      bench_options.cases.size() * bench_options.types.size() * bench_options.threads.size();
  Progress progress("measuring", static_cast<double>(total), "shapes");
  std::size_t done = 0;
  const std::vector<CaseResult> results =
      run_cpu_bench(bench_options, [&](const CaseResult& result) {
        progress.at(static_cast<double>(++done));
        if (options.json) return;
        progress.clear();
        std::fputs(bench_table_line(result).c_str(), stdout);
        std::fflush(stdout);
      });
  progress.clear();
  const std::string record = bench_json(bench_options, results).dump(2);
  save_record(options, record);
  std::puts(options.json ? record.c_str() : bench_table_summary(results).c_str());
  return 0;
}

// The lists' groups as layers of experts, or of those whose name has `kind` in it.
std::vector<bench::Case> moe_cases(const BenchRequest& options, int row_divisor) {
  const std::string list = options.lists.empty() ? "grouped" : options.lists.front();
  if (!options.shapes.empty() || options.lists.size() > 1) {
    throw Error(ErrorCode::invalid_argument, "--suite", "come with one list of groups at most",
                options.shapes.empty() ? "several lists" : "'" + options.shapes.front() + "'",
                "leave the shapes out, or name one CSV file with --shapes");
  }
  std::vector<bench::Case> cases =
      bench::parse_cases(shape_list(list), list, row_divisor, options.seed.value_or(0));
  std::erase_if(cases, [&](const bench::Case& one) {
    return one.name.find(options.kind) == std::string::npos;
  });
  if (cases.empty()) {
    throw Error(ErrorCode::invalid_argument, "--kind", "be in the name of at least one layer",
                "'" + options.kind + "'", "leave it out, or use e.g. qwen3 or 'uniform'");
  }
  return cases;
}

int run_moe(const BenchRequest& options) {
  MoeBenchOptions moe;
  const bool on_gpu = options.machine.device == "cuda";
  moe.machine = machine_from(options.machine);
  if (options.types.size() > 1 || options.schedules.size() > 1 || options.threads.size() > 1) {
    throw Error(ErrorCode::invalid_argument, "--suite",
                "come with one type, schedule and number of threads", "several",
                "run it once for each");
  }
  moe.types = gemm_types_for(element_type_from_name(options.types.front()));
  moe.plan = variants_from(options).front().options;
  moe.threads = options.threads.empty() ? moe.machine.workers : options.threads.front();
  if (!on_gpu) moe.machine = with_workers(moe.machine, moe.threads);
  moe.cases = moe_cases(options, on_gpu ? 1 : kCpuRowDivisor);
  moe.seconds = options.seconds;
  moe.cold = true;  // weights come from memory, as in a model with more than one layer
  moe.seed = options.seed.value_or(0);
  moe.json = options.json;
  if (!options.peers.empty()) {
    moe.against_cublaslt = true;
    moe.cublaslt_path = cublaslt_path_from(options.peers);
  }
  save_record(options, run_moe_bench(moe));
  return 0;
}

// Layers of experts are measured in rows, and a GPU's products with a B that lies in memory.
void check_layouts(const BenchRequest& options) {
  const StoredLayouts layouts = layouts_from(options.trans);
  const bool in_rows = layouts.a == Major::row && layouts.b == Major::row;
  if (options.suite.empty() && layouts.b == Major::packed && options.machine.device == "cuda") {
    throw Error(ErrorCode::unsupported, "--trans", "be NN, NT, TN or TT on a GPU",
                "'" + options.trans + "'", "B is packed ahead for a CPU alone");
  }
  if (in_rows || options.suite.empty()) return;
  throw Error(ErrorCode::invalid_argument, "--trans", "be NN with --suite",
              "'" + options.trans + "'", "leave it out, or bench a list of products");
}

int run_bench(BenchRequest options) {
  if (!options.save.empty()) check_writable(options.save);
  check_layouts(options);
  const bool is_moe = !options.suite.empty();
  if (options.types.empty()) {
    options.types = {is_moe && options.machine.device == "cuda" ? "bf16" : "f32"};
  }
  if (is_moe) return run_moe(options);
  return options.machine.device == "cuda" ? run_on_gpu(options) : run_on_cpu(options);
}

}  // namespace

Verb add_bench_verb(CLI::App& app) {
  const auto options = std::make_shared<BenchRequest>();
  CLI::App* const verb = app.add_subcommand(
      "bench", "Measure shapes by several schedules and against other libraries");
  verb->add_option(
          "shape", options->shapes,
          "Products to measure, or groups of them (default: the built-in list for the device)")
      ->type_name("MxNxK[:COUNT],...");
  verb->add_option("--shapes", options->lists,
                   "Lists of shapes: CSV files, the built-in cpu, grouped and dense, or the random "
                   "log256, loguniform and awkward")
      ->type_name("FILE|NAME");
  verb->add_option(
          "--suite", options->suite,
          "moe: layers of experts of a list of groups (default: grouped), sizes in an "
          "array on the device, against a bound, with cold caches; on a CPU with a sixteenth "
          "of the rows")
      ->type_name("moe")
      ->check(CLI::IsMember({"moe"}));
  verb->add_option("--kind", options->kind,
                   "Only shapes of this kind, e.g. skinny; of a suite, whose name has this in it")
      ->type_name("KIND");
  verb->add_option("--count", options->count, "Products of a random list")
      ->type_name("N")
      ->check(in_range(1, 1000000))
      ->capture_default_str();
  verb->add_option("--seed", options->seed,
                   "Seed of a random list (default: 1), or of a suite's sizes (default: 0)")
      ->transform(seed_number());
  verb->add_option(
          "--type", options->types,
          "Input types (default: f32; a suite on a GPU: bf16); 16-bit ones are measured with "
          "f32 results, but for a suite's")
      ->delimiter(',')
      ->type_name("TYPE,...");
  verb->add_option(
          "--schedule", options->schedules,
          "Schedules: auto (the planner's choice), data_parallel, split_k, stream_k, hybrid")
      ->delimiter(',')
      ->type_name("SCHEDULE,...")
      ->capture_default_str();
  verb->add_option("--tile", options->tile,
                   "The tile of C and the depth of one iteration (default: the planner's)")
      ->type_name("MxNxK");
  verb->add_option("--threads", options->threads, "Thread counts (default: all cores)")
      ->delimiter(',')
      ->type_name("N,...")
      ->check(in_range(1, kMostThreads));
  add_layout_option(*verb, options->trans);
  add_peer_option(*verb, options->peers);
  add_machine_options(*verb, options->machine);
  verb->add_option("--seconds", options->seconds, "Timed work for each contender and shape")
      ->check(in_range(0.001, 3600.0))
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
