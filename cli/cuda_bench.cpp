#include "cli/cuda_bench.hpp"

#include "tessera/error.hpp"

#if TESSERA_HAS_CUDA_BENCHMARK

#include <cstdio>

#include "bench/cuda/benchmark.hpp"
#include "cli/interrupt.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kCommit =
#include "commit.inc"
    ;

std::string run_one(const CudaBenchOptions& options, const GemmTypes& types,
                    const PlanOptions& plan) {
  bench::CudaBenchmarkOptions benchmark_options;
  benchmark_options.types = types;
  benchmark_options.cold = options.cold;
  benchmark_options.peer = options.against_cublaslt;
  benchmark_options.peer_library = options.cublaslt_path;
  benchmark_options.plan = plan;
  bench::CudaBenchmark benchmark(benchmark_options);
  if (!options.json) {
    std::printf("%s against %s\n%s\n", benchmark.machine().name.c_str(),
                benchmark.peer_name().c_str(), bench::cuda_heading().c_str());
  }
  std::vector<bench::CudaCaseResult> results;
  for (const bench::Case& what : options.cases) {
    throw_if_interrupted();
    results.push_back(benchmark.measure(what));
    if (options.json) continue;
    std::printf("%s\n", bench::to_line(results.back()).c_str());
    std::fflush(stdout);
  }
  if (!options.json) std::printf("%s\n", bench::to_text(bench::summarize(results)).c_str());
  return bench::cuda_report_json(benchmark, benchmark_options, results, options.corpus, kCommit);
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

}  // namespace tessera::cli

#else

namespace tessera::cli {

std::string run_cuda_bench(const CudaBenchOptions&) {
  throw Error(
      ErrorCode::unsupported, "--device", "be in this build", "cuda",
      "configure with -DTESSERA_CUDA=ON where cublasLt.h is installed, or use --device cpu");
}

}  // namespace tessera::cli

#endif
