#include "cli/bench_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "bench/provenance.hpp"
#include "cli/plan_text.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string types_text(const GemmTypes& types) {
  if (types.a == types.b && types.b == types.c) return std::string(name_of(types.a));
  return types.a == types.b
             ? fmt::format("{}->{}", name_of(types.a), name_of(types.c))
             : fmt::format("{}*{}->{}", name_of(types.a), name_of(types.b), name_of(types.c));
}

double spread(const bench::Timing& timing) {
  return timing.median > 0 ? (timing.upper_quartile - timing.lower_quartile) / timing.median : 0;
}

Json timing_json(const ContenderResult& one) {
  Json json = {{"name", one.name},
               {"detail", one.detail},
               {"gflops", one.flops_per_second * 1e-9},
               {"median_seconds", one.timing.median},
               {"best_seconds", one.timing.best},
               {"lower_quartile_seconds", one.timing.lower_quartile},
               {"upper_quartile_seconds", one.timing.upper_quartile},
               {"samples", one.timing.samples.size()},
               {"disturbed_samples", one.timing.disturbed},
               {"calls_per_sample", one.timing.calls_per_sample}};
  if (!one.wrong.empty()) json["wrong_result"] = one.wrong;
  return json;
}

Json case_json(const CaseResult& result) {
  Json json;
  json["shape"] = result.measured.name;
  json["kind"] = result.measured.kind;
  json["groups"] = Json::array();
  for (const GemmShape& shape : result.measured.groups) {
    json["groups"].push_back({shape.m, shape.n, shape.k});
  }
  json["types"] = types_text(result.types);
  json["threads"] = result.threads;
  json["peak_gflops"] = result.peak.flops_per_second * 1e-9;
  json["peak_instruction"] = result.peak.instruction;
  json["read_gb_per_second"] = result.bandwidth * 1e-9;
  json["nearest_cache_crowding"] = result.crowding;
  if (result.threads > 1) json["cache_line_round_trip_ns"] = result.ping_pong * 1e9;
  json["bound_by"] = result.bound_by;
  json["bound_seconds"] = result.bound_seconds;
  json["share_of_bound"] = result.share();
  if (result.best_peer >= 0) {
    const ContenderResult& best = result.results[static_cast<std::size_t>(result.best_peer)];
    json["best_peer"] = best.name + " " + best.detail;
    json["ratio_to_best_peer"] = result.ratio;
    json["ratio_of_best_times"] = best.timing.best / result.results[0].timing.best;
  }
  json["results"] = Json::array();
  for (const ContenderResult& one : result.results) json["results"].push_back(timing_json(one));
  json["skipped"] = result.skipped;
  return json;
}

// A geometric mean.
class Mean {
 public:
  void add(double value) {
    log_sum_ += std::log(std::max(value, 1e-9));
    ++count_;
  }
  int count() const { return count_; }
  double value() const { return std::exp(log_sum_ / count_); }

 private:
  double log_sum_ = 0;
  int count_ = 0;
};

// Over one kind of shape.
struct Summary {
  Mean share;
  Mean ratio;  // to the best peer of each shape
  // To each of them, by its turn and what it calls: two builds' files may have one name.
  std::map<std::pair<std::size_t, std::string>, Mean> peers;
};

void add(Summary& summary, const CaseResult& result) {
  summary.share.add(result.share());
  if (result.best_peer < 0 || result.ratio <= 0) return;
  summary.ratio.add(result.ratio);
  for (std::size_t i = 0; i < result.results.size(); ++i) {
    const ContenderResult& one = result.results[i];
    if (!one.is_peer || !one.wrong.empty()) continue;
    summary.peers[{i, one.name + " " + one.detail}].add(
        bench::paired_ratio(result.results[0].timing, one.timing));
  }
}

}  // namespace

std::string bench_table_header() {
  return fmt::format("{:<34} {:<10} {:<9} {:>3} {:>10} {:>9} {:>6} {:>7}  {:<26} {:>9} {:>6}\n",
                     "shape", "kind", "types", "thr", "time", "GFLOP/s", "spread", "bound",
                     "best peer", "GFLOP/s", "ratio");
}

std::string bench_table_line(const CaseResult& result) {
  const ContenderResult& own = result.results[0];
  std::string text =
      fmt::format("{:<34.34} {:<10.10} {:<9} {:>3} {:>10} {:>9.1f} {:>4.1f} % {:>5.1f} %",
                  result.measured.name, result.measured.kind, types_text(result.types),
                  result.threads, seconds_text(own.timing.median), own.flops_per_second * 1e-9,
                  100 * spread(own.timing), 100 * result.share());
  if (result.best_peer >= 0) {
    const ContenderResult& best = result.results[static_cast<std::size_t>(result.best_peer)];
    text += fmt::format("  {:<26.26} {:>9.1f} {:>6.3f}", best.name + " " + best.detail,
                        best.flops_per_second * 1e-9, result.ratio);
  }
  text += '\n';
  for (const ContenderResult& one : result.results) {
    if (!one.wrong.empty())
      text += fmt::format("  {} {} is WRONG: {}\n", one.name, one.detail, one.wrong);
  }
  for (std::size_t i = 1; i < result.results.size(); ++i) {
    const ContenderResult& one = result.results[i];
    if (static_cast<int>(i) == result.best_peer) continue;
    text += fmt::format("  {:<60.60} {:>10} {:>9.1f} {:>4.1f} %\n", one.name + " " + one.detail,
                        seconds_text(one.timing.median), one.flops_per_second * 1e-9,
                        100 * spread(one.timing));
  }
  return text;
}

std::string bench_table_summary(const std::vector<CaseResult>& results) {
  std::map<std::string, Summary> summaries;
  for (const CaseResult& result : results) {
    add(summaries[fmt::format("{:<9} {:>3} thr  {:<14}", types_text(result.types), result.threads,
                              result.measured.kind)],
        result);
  }
  std::string text = "\ngeometric means\n";
  for (const auto& [key, summary] : summaries) {
    text += fmt::format("  {} {:>3} shapes, {:>5.1f} % of the bound", key, summary.share.count(),
                        100 * summary.share.value());
    if (summary.ratio.count() > 0) {
      text += fmt::format(", {:.3f} times the best peer", summary.ratio.value());
    }
    text += '\n';
    if (summary.peers.size() < 2) continue;
    for (const auto& [peer, ratio] : summary.peers) {
      text += fmt::format("    {:.3f} times {} ({})\n", ratio.value(), peer.second, ratio.count());
    }
  }
  return text;
}

Json bench_json(const CpuBenchOptions& options, const std::vector<CaseResult>& results) {
  Json json;
  json["schema"] = 1;
  json["tessera"] = version();
  json["commit"] = bench::commit_of_build();
  json["date"] = bench::utc_now();
  json["machine"] = {{"name", options.machine.name},
                     {"cores", options.machine.workers},
                     {"architecture", options.machine.architecture}};
  const auto letter = [](Major stored) {
    return stored == Major::packed ? 'P' : stored == Major::row ? 'N' : 'T';
  };
  json["trans"] = std::string{letter(options.layouts.a), letter(options.layouts.b)};
  json["protocol"] = {{"caches", options.cold ? "cold" : "warm"},
                      {"seconds_per_contender", options.seconds},
                      {"order", "alternating"},
                      {"ratio", "median over rounds of the paired ratio to the best peer"}};
  json["peers"] = Json::array();
  for (const bench::Peer* const peer : options.peers) {
    const bench::PeerInfo info = peer->info();
    // Without its folder, which tells of one machine alone.
    json["peers"].push_back({{"name", info.name},
                             {"version", info.version},
                             {"path", std::filesystem::path(info.path).filename().string()}});
  }
  json["results"] = Json::array();
  for (const CaseResult& result : results) json["results"].push_back(case_json(result));
  return json;
}

}  // namespace tessera::cli
