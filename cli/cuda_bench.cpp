#include "cli/cuda_bench.hpp"

#include <string_view>

#include "cli/without_cuda.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

std::string cublaslt_path_from(const std::vector<std::string>& peers) {
  constexpr std::string_view kName = "cublaslt";
  std::string path;
  for (const std::string& peer : peers) {
    if (peer != kName && !peer.starts_with("cublaslt=")) {
      throw Error(ErrorCode::invalid_argument, "--peer", "be cublaslt on a GPU", "'" + peer + "'",
                  "use --peer cublaslt, or cublaslt=/path/libcublasLt.so");
    }
    if (peer.size() > kName.size()) path = peer.substr(kName.size() + 1);
  }
  return path;
}

}  // namespace tessera::cli

#if TESSERA_HAS_CUDA_BENCHMARK

#include <cstdio>

#include <fmt/format.h>

#include <algorithm>

#include "bench/cuda/benchmark.hpp"
#include "bench/cuda/contest.hpp"
#include "bench/provenance.hpp"
#include "cli/interrupt.hpp"
#include "cli/plan_text.hpp"
#include "core/tile_config.hpp"
#include "plan/intensity.hpp"

namespace tessera::cli {
namespace {

std::string run_one(const CudaBenchOptions& options, const GemmTypes& types,
                    const PlanOptions& plan) {
  bench::CudaBenchmarkOptions benchmark_options;
  benchmark_options.types = types;
  benchmark_options.a_column_major = options.layouts.a == Major::column;
  benchmark_options.b_column_major = options.layouts.b == Major::column;
  benchmark_options.cold = options.cold;
  benchmark_options.peer = options.against_cublaslt;
  benchmark_options.peer_library = options.cublaslt_path;
  benchmark_options.plan = plan;
  bench::CudaBenchmark benchmark(benchmark_options);
  if (!options.json) std::printf("%s\n", bench::cuda_heading(benchmark).c_str());
  std::vector<bench::CudaCaseResult> results;
  for (const bench::Case& what : options.cases) {
    throw_if_interrupted();
    results.push_back(benchmark.measure(what));
    if (options.json) continue;
    std::printf("%s\n", bench::to_line(results.back()).c_str());
    std::fflush(stdout);
  }
  if (!options.json) std::printf("%s\n", bench::to_text(bench::summarize(results)).c_str());
  return bench::cuda_report_json(benchmark, benchmark_options, results, options.corpus,
                                 bench::commit_of_build());
}

}  // namespace

std::string run_cuda_bench(const CudaBenchOptions& options) {
  std::string record;
  for (const GemmTypes& types : options.types) {
    for (const PlanOptions& plan : options.variants) {
      record = run_one(options, types, plan);
      if (options.json) std::puts(record.c_str());
    }
  }
  return record;
}

struct CudaSweep::State {
  CpuBenchOptions options;
  bench::CudaContest contest;
};

CudaSweep::CudaSweep(const CpuBenchOptions& options, bool against_cublaslt,
                     const std::string& cublaslt_path)
    : state_(new State{options, bench::CudaContest({.types = options.types.front(),
                                                    .cold = options.cold,
                                                    .peer = against_cublaslt,
                                                    .peer_library = cublaslt_path})}) {}
CudaSweep::~CudaSweep() = default;

CaseResult CudaSweep::measure(const bench::Case& what) {
  const CpuBenchOptions& options = state_->options;
  CaseResult result;
  result.measured = what;
  result.types = options.types.front();
  result.threads = options.machine.workers;
  const Problem problem = state_->contest.problem(what);
  std::vector<bench::CudaContestant> plans;
  for (const Variant& variant : options.variants) {
    const Plan plan = make_plan(problem, options.machine, variant.options);
    const std::string detail =
        fmt::format("{}, {}, {}", plan.kernel, to_text(plan.tile), schedule_text(plan));
    const auto same = std::ranges::find(plans, detail, &bench::CudaContestant::detail);
    if (same == plans.end()) {
      plans.push_back({variant.name, plan, detail});
    } else {
      result.same_plans.push_back({variant.name, same->name});
    }
  }
  const double flops = flops_of(problem);
  for (const bench::CudaContender& one : state_->contest.measure(what, plans)) {
    ContenderResult& found = result.results.emplace_back();
    found.name = one.name;
    found.detail = one.detail;
    found.is_peer = one.is_peer;
    found.predicted_seconds = one.predicted_seconds;
    found.timing.median = one.measured.median;
    found.timing.best = one.measured.lowest;
    found.flops_per_second = flops / one.measured.median;
    found.wrong = one.wrong;
  }
  const bench::ProcessorLimits& limits = state_->contest.limits();
  const double arithmetic = flops / limits.flops_per_second;
  const double memory = flops / flops_per_byte(problem) / limits.bytes_per_second;
  result.bandwidth = limits.bytes_per_second;
  result.bound_seconds = std::max(arithmetic, memory);
  result.bound_by = memory > arithmetic ? "memory" : "arithmetic";
  return result;
}

}  // namespace tessera::cli

#else

namespace tessera::cli {

struct CudaSweep::State {};

CudaSweep::CudaSweep(const CpuBenchOptions&, bool, const std::string&) {
  refuse_cuda_benchmark();
}
CudaSweep::~CudaSweep() = default;

CaseResult CudaSweep::measure(const bench::Case&) {
  refuse_cuda_benchmark();
}

std::string run_cuda_bench(const CudaBenchOptions&) {
  refuse_cuda_benchmark();
}

}  // namespace tessera::cli

#endif
