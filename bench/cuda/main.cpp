// tessera_cuda_bench: the GPU benchmark as a program of its own, to carry to a machine with a GPU.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "bench/corpus.hpp"
#include "bench/cuda/benchmark.hpp"
#include "bench/provenance.hpp"
#include "tessera/error.hpp"

namespace {

using namespace tessera;

struct Options {
  std::string list = "dense";
  int count = 300;
  std::uint64_t seed = 1;
  std::string type = "bf16";
  std::string output_type;
  std::string layout = "nn";
  std::string activation = "none";
  bool bias = false;
  std::string schedule;
  std::string kernel;
  std::string order;
  int workers = 0;
  int splits = 0;
  std::string commit = bench::commit_of_build();
  std::string json;
  bool warm = false;
  bool no_peer = false;
  bench::CudaBenchmarkOptions benchmark;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::io, "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A corpus, a built-in list, or a CSV file.
std::vector<bench::Case> cases_of(const Options& options) {
  for (const std::string& name : bench::corpus_names()) {
    if (options.list == name) return bench::corpus(name, options.count, options.seed);
  }
  const std::string_view built_in = bench::built_in_shapes(options.list);
  if (!built_in.empty()) return bench::parse_cases(built_in, options.list, 1);
  return bench::parse_cases(read_file(options.list), options.list, 1);
}

void resolve(Options& options) {
  bench::CudaBenchmarkOptions& benchmark = options.benchmark;
  benchmark.types = gemm_types_for(element_type_from_name(options.type));
  if (!options.output_type.empty()) {
    benchmark.types.c = element_type_from_name(options.output_type);
  }
  benchmark.a_column_major = options.layout.at(0) == 't';
  benchmark.b_column_major = options.layout.at(1) == 't';
  benchmark.epilogue.bias = options.bias ? BiasAxis::column : BiasAxis::none;
  benchmark.epilogue.activation = activation_from_name(options.activation);
  benchmark.cold = !options.warm;
  benchmark.peer = !options.no_peer;
  PlanOptions& plan = benchmark.plan;
  if (!options.schedule.empty()) plan.schedule = schedule_kind_from_name(options.schedule);
  if (!options.kernel.empty()) plan.kernel = options.kernel;
  if (!options.order.empty()) plan.order = tile_order_from_name(options.order);
  if (options.workers > 0) plan.workers = options.workers;
  if (options.splits > 0) plan.splits = options.splits;
}

void measure(Options& options) {
  resolve(options);
  const std::vector<bench::Case> cases = cases_of(options);
  bench::CudaBenchmark benchmark(options.benchmark);
  std::printf("%s\n", bench::cuda_heading(benchmark).c_str());
  std::vector<bench::CudaCaseResult> results;
  for (const bench::Case& what : cases) {
    results.push_back(benchmark.measure(what));
    std::printf("%s\n", bench::to_line(results.back()).c_str());
    std::fflush(stdout);
  }
  std::printf("%s\n", bench::to_text(bench::summarize(results)).c_str());
  if (!options.json.empty()) {
    std::ofstream(options.json) << bench::cuda_report_json(benchmark, options.benchmark, results,
                                                           options.list, options.commit)
                                << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Matrix products on the GPU against cuBLASLt, alternating, with a cold cache.");
  app.add_option("list", options.list,
                 bench::built_in_names() + ", log256, loguniform, or a CSV file")
      ->capture_default_str();
  app.add_option("--count", options.count, "products of a random corpus")->capture_default_str();
  app.add_option("--seed", options.seed, "of a random corpus")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--type", options.type, "of A, B and C")->capture_default_str();
  app.add_option("--output-type", options.output_type, "of C, where it differs");
  app.add_option("--layout", options.layout, "nn, nt, tn or tt: which operands are column-major")
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}))
      ->capture_default_str();
  app.add_option("--beta", options.benchmark.beta, "what of C stays")->capture_default_str();
  app.add_flag("--bias", options.bias, "add a value to each column of C");
  app.add_option("--activation", options.activation, "none, relu or gelu_tanh")
      ->check(CLI::IsMember({"none", "relu", "gelu_tanh"}))
      ->capture_default_str();
  app.add_option("--repeats", options.benchmark.repeats, "timed runs of each contestant")
      ->capture_default_str();
  app.add_flag("--warm", options.warm, "do not flush the cache between runs");
  app.add_flag("--no-peer", options.no_peer, "measure Tessera alone");
  app.add_option("--cublaslt", options.benchmark.peer_library, "path of libcublasLt.so");
  app.add_option("--schedule", options.schedule, "force a schedule");
  app.add_option("--kernel", options.kernel, "force a kernel of the catalogue");
  app.add_option("--order", options.order, "force a tile order");
  app.add_option("--workers", options.workers, "force the number of workers");
  app.add_option("--splits", options.splits, "force the number of splits");
  app.add_flag("--sweep", options.benchmark.sweep,
               "also measure every candidate of the planner, each after the peer: once, "
               "the near ones again, the best against the choice; "
               "200 products take about half a minute");
  app.add_option("--sweep-repeats", options.benchmark.sweep_repeats,
                 "timed runs of those within 1.3 of the fastest")
      ->capture_default_str();
  app.add_option("--commit", options.commit, "what the report says was measured")
      ->capture_default_str();
  app.add_option("--json", options.json, "write a report there");
  CLI11_PARSE(app, argc, argv);
  try {
    measure(options);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
