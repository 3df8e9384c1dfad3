// What `tessera bench --suite moe` found, as JSON and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/provenance.hpp"
#include "cli/moe_bench.hpp"
#include "cli/plan_text.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

Json timings_json(const std::vector<bench::MoeTiming>& timings) {
  Json json = Json::array();
  for (const bench::MoeTiming& one : timings) {
    json.push_back({{"name", one.name},
                    {"median_seconds", one.median},
                    {"lowest_seconds", one.lowest},
                    {"interquartile_spread", one.spread}});
  }
  return json;
}

Json result_json(const bench::MoeResult& result) {
  const bench::MoeShape shape = bench::moe_shape(result.what);
  Json counts = Json::array();
  for (const GemmShape& group : result.what.groups) counts.push_back(group.m);
  Json json = {{"name", result.what.name},
               {"groups", shape.groups},
               {"n", shape.n},
               {"k", shape.k},
               {"rows", shape.rows},
               {"rows_of_groups", counts},
               {"plan", result.plan},
               {"predicted_seconds", result.predicted_seconds},
               {"flops", result.flops},
               {"bytes", result.bytes},
               {"bound_seconds", result.bound_seconds},
               {"bound_by", result.is_bound_by_memory ? "memory" : "arithmetic"},
               {"share_of_bound", result.share_of_bound()},
               {"timings", timings_json(result.timings)}};
  if (!result.wrong.empty()) json["wrong_result"] = result.wrong;
  return json;
}

double share_of_bound(const MoeReport& report) {
  double sum = 0;
  for (const bench::MoeResult& result : report.results) {
    sum += std::log(std::max(result.share_of_bound(), 1e-9));
  }
  return report.results.empty() ? 0 : std::exp(sum / static_cast<double>(report.results.size()));
}

double largest_skew(const std::vector<bench::MoePair>& pairs) {
  double largest = 0;
  for (const bench::MoePair& pair : pairs) largest = std::max(largest, pair.skewed_over_uniform);
  return largest;
}

}  // namespace

std::string moe_json(const MoeBenchOptions& options, const MoeReport& report) {
  Json json;
  json["schema"] = 1;
  json["suite"] = "moe";
  json["tessera"] = version();
  json["commit"] = bench::commit_of_build();
  json["date"] = bench::utc_now();
  json["machine"] = options.machine.name;
  json["peer"] = report.peer;
  json["types"] = {name_of(options.types.a), name_of(options.types.b), name_of(options.types.c)};
  json["protocol"] = {{"caches", options.cold ? "cold" : "warm"},
                      {"order", "alternating"},
                      {"sizes_seed", options.seed}};
  json["limits"] = {{"flops_per_second", report.limits.flops_per_second},
                    {"flops_source", report.limits.flops_source},
                    {"bytes_per_second", report.limits.bytes_per_second},
                    {"bytes_source", report.limits.bytes_source}};
  const std::vector<bench::MoePair> pairs = bench::moe_pairs(report.results);
  json["summary"] = {{"layers", report.results.size()},
                     {"geometric_mean_share_of_bound", share_of_bound(report)},
                     {"largest_skewed_over_uniform", largest_skew(pairs)}};
  json["skewed_over_uniform"] = Json::array();
  for (const bench::MoePair& pair : pairs) {
    json["skewed_over_uniform"].push_back(
        {{"name", pair.name}, {"groups", pair.groups}, {"ratio", pair.skewed_over_uniform}});
  }
  json["extras"] = Json::array();
  for (const bench::MoeExtra& extra : report.extras) {
    json["extras"].push_back({{"name", extra.name}, {"timings", timings_json(extra.timings)}});
  }
  json["results"] = Json::array();
  for (const bench::MoeResult& result : report.results)
    json["results"].push_back(result_json(result));
  return json.dump(1);
}

std::string moe_table_header() {
  return fmt::format("{:<56} {:>10} {:>9} {:>6} {:>16} {:>12}  {}\n", "layer", "time", "TFLOP/s",
                     "spread", "of the bound", "one by one", "plan");
}

std::string moe_table_line(const bench::MoeResult& result) {
  const bench::MoeTiming& own = result.timings.front();
  std::string text = fmt::format(
      "{:<56.56} {:>10} {:>9.2f} {:>4.1f} % {:>5.1f} % {:>8} {:>11.2f}x  {}\n", result.what.name,
      seconds_text(own.median), result.flops / own.median * 1e-12, 100 * own.spread,
      100 * result.share_of_bound(), result.is_bound_by_memory ? "memory" : "FLOP/s",
      result.timings.back().median / own.median, result.plan);
  if (!result.wrong.empty()) text += fmt::format("  WRONG: {}\n", result.wrong);
  return text;
}

std::string moe_table_summary(const MoeReport& report) {
  std::string text = fmt::format("\n{} layers, {:.1f} % of the bound (geometric mean)\n",
                                 report.results.size(), 100 * share_of_bound(report));
  for (const bench::MoePair& pair : bench::moe_pairs(report.results)) {
    text += fmt::format("  skewed over uniform {:.2f}: {}\n", pair.skewed_over_uniform, pair.name);
  }
  for (const bench::MoeExtra& extra : report.extras) {
    text += extra.name + ":\n";
    for (const bench::MoeTiming& one : extra.timings) {
      text += fmt::format("  {:>10} (±{:.0f} %)  {}\n", seconds_text(one.median), 50 * one.spread,
                          one.name);
    }
  }
  return text;
}

}  // namespace tessera::cli
