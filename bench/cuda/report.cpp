// What a benchmark has to say, as JSON for programs and as lines for people.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/cuda/benchmark.hpp"
#include "bench/provenance.hpp"

namespace tessera::bench {
namespace {

using nlohmann::json;

json to_json(const Sample& sample) {
  return {{"median_seconds", sample.median},
          {"lowest_seconds", sample.lowest},
          {"highest_seconds", sample.highest},
          {"interquartile_spread", sample.spread}};
}

json to_json(const Schedule& schedule) {
  return {{"kind", name_of(schedule.kind)},   {"workers", schedule.workers},
          {"splits", schedule.splits},        {"two_tile", schedule.two_tile},
          {"order", name_of(schedule.order)}, {"group_m", schedule.group_m}};
}

json to_json(const CudaCaseResult& result) {
  json shapes = json::array();
  for (const GemmShape& s : result.what.groups) shapes.push_back({s.m, s.n, s.k});
  json terms = json::object();
  for (const CostTerm& term : result.plan.cost.terms) terms[term.name] = term.seconds;
  json out = {{"name", result.what.name},
              {"kind", result.what.kind},
              {"shapes", shapes},
              {"kernel", result.plan.kernel},
              {"schedule", to_json(result.plan.schedule)},
              {"predicted_seconds", result.plan.cost.seconds},
              {"predicted_terms", terms},
              {"tflops", flops_of(result.plan.problem) / result.ours.median * 1e-12},
              {"tessera", to_json(result.ours)},
              {"planning_seconds", result.planning_seconds},
              {"run_return_seconds", result.run_seconds},
              {"gemm_return_seconds", result.gemm_seconds},
              {"clocks",
               {{"sm_mhz", result.clocks.sm_mhz},
                {"memory_mhz", result.clocks.memory_mhz},
                {"watts", result.clocks.watts},
                {"celsius", result.clocks.celsius}}}};
  if (result.peer_first) {
    out["cublaslt_first"] = to_json(*result.peer_first);
    out["cublaslt_best"] = to_json(*result.peer_best);
    out["cublaslt_best_choice"] = result.peer_best_choice;
    out["ratio_first"] = result.peer_first->median / result.ours.median;
    out["ratio_best"] = result.peer_best->median / result.ours.median;
    if (result.difference) out["difference"] = *result.difference;
  }
  if (!result.sweep.empty()) {
    out["tessera_in_sweep"] = to_json(result.ours_in_sweep);
    out["regret"] = regret_of(result);
  }
  for (const SweptPlan& plan : result.sweep) {
    out["sweep"].push_back({{"kernel", plan.kernel},
                            {"schedule", to_json(plan.schedule)},
                            {"predicted_seconds", plan.predicted},
                            {"is_final", plan.is_final},
                            {"measured", to_json(plan.measured)}});
  }
  return out;
}

std::string cuda_version(cudaError_t (*ask)(int*)) {
  int number = 0;
  if (ask(&number) != cudaSuccess) return "";
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

}  // namespace

std::string cuda_heading(const CudaBenchmark& benchmark) {
  const std::string peer = benchmark.peer_name();
  return benchmark.machine().name + (peer.empty() ? "" : " against " + peer) + "\n" +
         format("%-22s %10s %8s %8s %8s %7s  %s", "product", "time", "TFLOP/s", "÷first", "÷best",
                "model", "plan");
}

std::string to_line(const CudaCaseResult& result) {
  const double ours = result.ours.median;
  const Schedule& schedule = result.plan.schedule;
  const std::string peer =
      result.peer_first
          ? format("%8.3f %8.3f", result.peer_first->median / ours, result.peer_best->median / ours)
          : format("%8s %8s", "-", "-");
  std::string plan = result.plan.kernel + " " + std::string(name_of(schedule.kind));
  if (schedule.kind == ScheduleKind::split_k) plan += "(" + std::to_string(schedule.splits) + ")";
  if (const SweptPlan* const best = best_of_sweep(result)) {
    plan += format("; best %.3f by ", 1 + regret_of(result)) + best->kernel + " " +
            std::string(name_of(best->schedule.kind)) + "(" +
            std::to_string(best->schedule.splits) + ")";
  }
  return format("%-22s %8.2fus %8.1f %s %7.2f  ", result.what.name.c_str(), ours * 1e6,
                flops_of(result.plan.problem) / ours * 1e-12, peer.c_str(),
                result.plan.cost.seconds / ours) +
         plan;
}

std::string to_text(const CudaSummary& summary) {
  const bool has_peer = !summary.worst_case.empty();
  const std::string compared =
      has_peer
          ? format(
                "cuBLASLt's first choice ÷ ours %.3f (geometric mean), its best ÷ ours "
                "%.3f; worst %.3f at %s; ",
                summary.over_first, summary.over_best, summary.worst, summary.worst_case.c_str())
          : "";
  return format("%d products; ", summary.cases) + compared +
         format(
             "cost model off by %.0f %% (median); regret %.1f %% (median %.1f, worst %.0f %%); "
             "planning %.1f µs, run returns after %.1f µs, gemm with a cached plan after %.1f µs",
             100 * summary.cost_error, 100 * summary.regret, 100 * summary.median_regret,
             100 * summary.worst_regret, 1e6 * summary.planning_seconds, 1e6 * summary.run_seconds,
             1e6 * summary.gemm_seconds);
}

std::string cuda_report_json(const CudaBenchmark& benchmark, const CudaBenchmarkOptions& options,
                             const std::vector<CudaCaseResult>& results, const std::string& corpus,
                             const std::string& commit) {
  const CudaSummary summary = summarize(results);
  json cases = json::array();
  for (const CudaCaseResult& result : results) cases.push_back(to_json(result));
  const json report = {{"schema", 1},
                       {"date", utc_now()},
                       {"commit", commit},
                       {"corpus", corpus},
                       {"machine", json::parse(tessera::to_json(benchmark.machine()))},
                       {"peer", benchmark.peer_name()},
                       {"driver", cuda_version(cudaDriverGetVersion)},
                       {"runtime", cuda_version(cudaRuntimeGetVersion)},
                       {"options",
                        {{"a", name_of(options.types.a)},
                         {"b", name_of(options.types.b)},
                         {"c", name_of(options.types.c)},
                         {"a_column_major", options.a_column_major},
                         {"b_column_major", options.b_column_major},
                         {"beta", options.beta},
                         {"bias", name_of(options.epilogue.bias)},
                         {"activation", name_of(options.epilogue.activation)},
                         {"repeats", options.repeats},
                         {"cold_cache", options.cold},
                         {"fill", "standard normal"}}},
                       {"summary",
                        {{"cases", summary.cases},
                         {"geometric_mean_over_first", summary.over_first},
                         {"geometric_mean_over_best", summary.over_best},
                         {"worst_over_first", summary.worst},
                         {"worst_case", summary.worst_case},
                         {"median_cost_error", summary.cost_error},
                         {"mean_regret", summary.regret},
                         {"median_regret", summary.median_regret},
                         {"worst_regret", summary.worst_regret},
                         {"planning_seconds", summary.planning_seconds},
                         {"run_return_seconds", summary.run_seconds},
                         {"gemm_return_seconds", summary.gemm_seconds}}},
                       {"cases", cases}};
  return report.dump(1);
}

}  // namespace tessera::bench
