#include "cli/moe_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/limits.hpp"
#include "bench/protocol.hpp"
#include "cli/cpu_bench.hpp"
#include "cli/interrupt.hpp"
#include "cli/matrix.hpp"
#include "cli/plan_text.hpp"
#include "cli/random.hpp"
#include "cli/verify.hpp"
#include "cli/without_cuda.hpp"
#include "tessera/grouped.hpp"
#include "tessera/tessera.hpp"

#if TESSERA_HAS_CUDA_BENCHMARK
#include "bench/cuda/moe.hpp"
#endif

namespace tessera::cli {
namespace {

// One layer's matrices in host memory.
class Layer {
 public:
  Layer(const bench::Case& what, const GemmTypes& types)
      : what_(what),
        offsets_(bench::moe_offsets(what)),
        shape_(bench::moe_shape(what)),
        a_(shape_.rows, shape_.k, types.a),
        b_(shape_.groups * shape_.k, shape_.n, types.b),
        c_(shape_.rows, shape_.n, types.c) {
    fill_random(a_, 0);
    fill_random(b_, 1);
  }

  RaggedRows rows() {
    const MatrixView b = b_.view();
    return {a_.view(),
            index_array(offsets_),
            {b.data, shape_.groups, shape_.k, shape_.n, shape_.k * shape_.n, shape_.n, 1, b.type},
            c_.view(),
            {}};
  }

  // The experts that have rows.
  std::vector<Operands> products() {
    std::vector<Operands> products;
    for (std::size_t g = 0; g < what_.groups.size(); ++g) {
      const std::int64_t first = offsets_[g];
      const std::int64_t count = offsets_[g + 1] - first;
      if (count == 0) continue;
      Matrix a = a_.part(first, count);
      Matrix b = b_.part(static_cast<std::int64_t>(g) * shape_.k, shape_.k);
      Matrix c = c_.part(first, count);
      products.push_back({a.view(), b.view(), c.view(), {}});
    }
    return products;
  }

  void poison() { std::memset(c_.bytes().data(), 0x5a, c_.bytes().size()); }

  std::string check() {
    VerifyOptions options;
    options.effort = VerifyEffort::sample;
    options.contributors = std::max<std::int64_t>(shape_.k, 1);
    for (const Operands& product : products()) {
      const Verification verdict = verify(product, {}, options);
      if (!verdict.passed) return verdict.failure;
    }
    return "";
  }

 private:
  const bench::Case& what_;
  std::vector<std::int32_t> offsets_;
  bench::MoeShape shape_;
  Matrix a_, b_, c_;
};

bench::MoeTiming timing_of(std::string name, const bench::Timing& timing) {
  return {std::move(name), timing.median, timing.best,
          timing.median > 0 ? (timing.upper_quartile - timing.lower_quartile) / timing.median : 0};
}

bench::MoeResult measure_on_cpu(const MoeBenchOptions& options, const bench::Case& what,
                                const bench::ProcessorLimits& limits) {
  bench::MoeResult result;
  result.what = what;
  Layer layer(what, options.types);
  const RaggedRows rows = layer.rows();
  const Plan plan = make_ragged_plan(rows, 1, 0, {}, options.machine, options.plan);
  result.plan = fmt::format("{}, {}", plan.kernel, schedule_text(plan));
  result.predicted_seconds = plan.cost.seconds;
  const RunOptions run_options{.threads = options.threads};

  const std::vector<Operands> products = layer.products();
  std::vector<Plan> plans;
  for (const Operands& product : products) {
    plans.push_back(make_plan(describe({&product, 1}, 1, 0, {}), options.machine));
  }
  const std::vector<bench::Contender> contenders = {
      {"tessera", [&] { run_ragged(plan, rows, run_options); }},
      {"one product per expert", [&] {
         for (std::size_t i = 0; i < products.size(); ++i) {
           run(plans[i], {&products[i], 1}, run_options);
         }
       }}};
  layer.poison();
  contenders[0].call();
  result.wrong = layer.check();
  const std::vector<bench::Timing> times =
      bench::measure(contenders, {.seconds = options.seconds,
                                  .cold = options.cold,
                                  .threads = options.threads,
                                  .between_rounds = throw_if_interrupted});
  for (std::size_t i = 0; i < times.size(); ++i) {
    result.timings.push_back(timing_of(contenders[i].name, times[i]));
  }
  set_bound(result, options.types, limits);
  return result;
}

// Measures and prints each case.
template <class Measure>
void measure_all(const MoeBenchOptions& options, MoeReport& report, Measure measure) {
  if (!options.json) {
    fmt::print("{} on {}; bound: {:.1f} TFLOP/s ({}), {:.1f} GB/s ({})\n{}",
               options.cold ? "cold" : "warm", options.machine.name,
               report.limits.flops_per_second * 1e-12, report.limits.flops_source,
               report.limits.bytes_per_second * 1e-9, report.limits.bytes_source,
               moe_table_header());
  }
  for (const bench::Case& what : options.cases) {
    throw_if_interrupted();
    report.results.push_back(measure(what));
    if (options.json) continue;
    std::fputs(moe_table_line(report.results.back()).c_str(), stdout);
    std::fflush(stdout);
  }
}

MoeReport run_on_cpu(const MoeBenchOptions& options) {
  MoeReport report;
  const bench::PeakMeasurement peak = bench::measure_peak(options.types.a, options.threads);
  report.limits = {peak.flops_per_second, bench::measure_read_bandwidth(options.threads),
                   peak.instruction, "reading"};
  measure_all(options, report, [&](const bench::Case& what) {
    return measure_on_cpu(options, what, report.limits);
  });
  return report;
}

#if TESSERA_HAS_CUDA_BENCHMARK
MoeReport run_on_gpu(const MoeBenchOptions& options) {
  bench::CudaMoeOptions moe_options;
  moe_options.types = options.types;
  moe_options.cold = options.cold;
  moe_options.peer = options.against_cublaslt;
  moe_options.peer_library = options.cublaslt_path;
  moe_options.plan = options.plan;
  bench::CudaMoe moe(moe_options);
  MoeReport report;
  report.limits = moe.limits();
  report.peer = moe.peer_name();
  measure_all(options, report, [&](const bench::Case& what) { return moe.measure(what); });
  report.extras.push_back(moe.measure_empty_groups());
  report.extras.push_back(moe.measure_tiny_products());
  return report;
}
#else
MoeReport run_on_gpu(const MoeBenchOptions&) {
  refuse_cuda_benchmark();
}
#endif

}  // namespace

std::string run_moe_bench(const MoeBenchOptions& options) {
  const MoeReport report =
      options.machine.kind == MachineKind::gpu ? run_on_gpu(options) : run_on_cpu(options);
  std::string record = moe_json(options, report);
  std::puts(options.json ? record.c_str() : moe_table_summary(report).c_str());
  return record;
}

}  // namespace tessera::cli
