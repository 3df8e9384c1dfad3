#include "report/sweep_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json_fields.hpp"
#include "tessera/error.hpp"

namespace tessera::report {
namespace {

using json_fields::Json;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostResults = 1024;
constexpr std::size_t kMostGroups = 1 << 16;

bool is_data_parallel(const SweepResult& result) {
  return !result.is_peer && result.name.ends_with("data_parallel");
}

SweepSettings settings_of(const Json& document) {
  json_fields::check_header(document, "sweep", kVersion);
  json_fields::Object fields(document, "");
  fields.text("document");
  fields.integer("schema", kVersion, kVersion);
  SweepSettings settings;
  settings.corpus = fields.text("corpus");
  settings.count = fields.small_integer("count", 0, 1 << 30);
  settings.seed = std::stoull(fields.text("seed"));
  settings.types = fields.text("types");
  settings.threads = fields.small_integer("threads", 1, 1 << 20);
  settings.seconds = fields.quantity("seconds");
  settings.cold = fields.boolean("cold");
  if (fields.has("kernel")) settings.kernel = fields.text("kernel");
  fields.each("contenders", kMostResults, [&](const Json& element, const std::string& path) {
    if (!element.is_string()) {
      json_fields::fail(path, "be text", json_fields::describe(element), "correct the file");
    }
    settings.contenders.push_back(element.get<std::string>());
  });
  settings.machine = fields.text("machine");
  if (fields.has("commit")) settings.commit = fields.text("commit");
  if (fields.has("date")) settings.date = fields.text("date");
  fields.finish();
  return settings;
}

SweepResult result_of(const Json& document, const std::string& path) {
  json_fields::Object fields(document, path);
  SweepResult result;
  result.name = fields.text("name");
  result.detail = fields.text("detail");
  result.seconds = fields.quantity("seconds");
  result.predicted_seconds = fields.quantity("predicted_seconds");
  result.is_peer = fields.boolean("is_peer");
  fields.finish();
  return result;
}

SweepRecord record_of(const Json& document) {
  json_fields::Object fields(document, "");
  SweepRecord record;
  record.index = fields.small_integer("index", 0, 1 << 30);
  record.name = fields.text("name");
  record.kind = fields.text("kind");
  fields.each("groups", kMostGroups, [&](const Json& element, const std::string& path) {
    json_fields::Object group(element, path);
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    record.groups.push_back(
        {group.integer("m", 0, kMost), group.integer("n", 0, kMost), group.integer("k", 0, kMost)});
    group.finish();
  });
  record.flops = fields.quantity("flops");
  record.intensity = fields.quantity("flops_per_byte");
  record.bound_seconds = fields.quantity("bound_seconds");
  record.bound_by = fields.text("bound_by");
  fields.each("results", kMostResults, [&](const Json& element, const std::string& path) {
    record.results.push_back(result_of(element, path));
  });
  fields.finish();
  if (record.results.empty()) {
    json_fields::fail("results", "hold at least one result", "none", "correct the file");
  }
  return record;
}

}  // namespace

const SweepResult* SweepRecord::baseline() const {
  const SweepResult* best = nullptr;
  const bool has_peer = std::any_of(results.begin(), results.end(),
                                    [](const SweepResult& result) { return result.is_peer; });
  for (std::size_t i = 1; i < results.size(); ++i) {
    const SweepResult& result = results[i];
    const bool counts = has_peer ? result.is_peer : is_data_parallel(result);
    if (counts && (best == nullptr || result.seconds < best->seconds)) best = &result;
  }
  return best;
}

double SweepRecord::speed_up() const {
  const SweepResult* base = baseline();
  return base != nullptr && chosen().seconds > 0 ? base->seconds / chosen().seconds : 1;
}

double SweepRecord::regret() const {
  double best = chosen().seconds;
  for (const SweepResult& result : results) {
    if (!result.is_peer) best = std::min(best, result.seconds);
  }
  return best > 0 ? chosen().seconds / best : 1;
}

double SweepRecord::over_data_parallel(std::string_view contender) const {
  const auto one = std::ranges::find(results, contender, &SweepResult::name);
  const auto base = std::ranges::find_if(results, is_data_parallel);
  if (one == results.end() || one->is_peer || base == results.end()) return 0;
  return one->seconds > 0 ? base->seconds / one->seconds : 0;
}

std::string to_json_line(const SweepSettings& settings) {
  // The seed is text: JSON numbers lose what is beyond 2^53.
  const Json json = {{"document", "sweep"},
                     {"schema", kVersion},
                     {"corpus", settings.corpus},
                     {"count", settings.count},
                     {"seed", std::to_string(settings.seed)},
                     {"types", settings.types},
                     {"threads", settings.threads},
                     {"seconds", settings.seconds},
                     {"cold", settings.cold},
                     {"kernel", settings.kernel},
                     {"contenders", settings.contenders},
                     {"machine", settings.machine},
                     {"commit", settings.commit},
                     {"date", settings.date}};
  return json.dump() + "\n";
}

std::string to_json_line(const SweepRecord& record) {
  Json json = {{"index", record.index},
               {"name", record.name},
               {"kind", record.kind},
               {"groups", Json::array()},
               {"flops", record.flops},
               {"flops_per_byte", record.intensity},
               {"bound_seconds", record.bound_seconds},
               {"bound_by", record.bound_by},
               {"results", Json::array()}};
  for (const GemmShape& shape : record.groups) {
    json["groups"].push_back({{"m", shape.m}, {"n", shape.n}, {"k", shape.k}});
  }
  for (const SweepResult& result : record.results) {
    json["results"].push_back({{"name", result.name},
                               {"detail", result.detail},
                               {"seconds", result.seconds},
                               {"predicted_seconds", result.predicted_seconds},
                               {"is_peer", result.is_peer}});
  }
  return json.dump() + "\n";
}

Sweep parse_sweep(std::string_view text, const std::string& source) {
  Sweep sweep;
  int line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    ++line;
    try {
      const Json document = json_fields::parse(text.substr(at, end - at));
      if (line == 1) {
        sweep.settings = settings_of(document);
      } else {
        sweep.records.push_back(record_of(document));
      }
    } catch (const Error& error) {
      throw Error(ErrorCode::io, fmt::format("'{}', line {}: {}", source, line, error.what()));
    } catch (const std::exception&) {
      throw Error(ErrorCode::io, fmt::format("'{}', line {}: must be a line of a sweep; it is not; "
                                             "name a file that 'tessera sweep' wrote",
                                             source, line));
    }
    at = end + 1;
    sweep.whole_bytes = at;
  }
  if (line == 0) {
    throw Error(ErrorCode::io, "'" + source + "'", "begin with a sweep's settings", "no whole line",
                "name a file that 'tessera sweep' wrote");
  }
  return sweep;
}

std::optional<std::string> difference(const SweepSettings& file, const SweepSettings& now) {
  const auto say = [](const char* what, const auto& then, const auto& wanted) {
    return fmt::format("{}: {} in the file, {} now", what, then, wanted);
  };
  if (file.corpus != now.corpus) return say("corpus", file.corpus, now.corpus);
  if (file.count != now.count) return say("count", file.count, now.count);
  if (file.seed != now.seed) return say("seed", file.seed, now.seed);
  if (file.types != now.types) return say("types", file.types, now.types);
  if (file.threads != now.threads) return say("threads", file.threads, now.threads);
  if (file.seconds != now.seconds) return say("seconds", file.seconds, now.seconds);
  if (file.cold != now.cold) return say("cold", file.cold, now.cold);
  if (file.kernel != now.kernel) {
    const auto named = [](const std::string& kernel) {
      return kernel.empty() ? "the planner's" : kernel;
    };
    return say("kernel", named(file.kernel), named(now.kernel));
  }
  if (file.contenders != now.contenders) {
    return say("contenders", fmt::format("{}", fmt::join(file.contenders, ", ")),
               fmt::format("{}", fmt::join(now.contenders, ", ")));
  }
  if (file.machine != now.machine) return say("machine", file.machine, now.machine);
  if (file.commit != now.commit) return say("commit", file.commit, now.commit);
  return std::nullopt;
}

double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  std::size_t counted = 0;
  for (const double ratio : ratios) {
    if (!(ratio > 0)) continue;
    sum += std::log(ratio);
    ++counted;
  }
  return counted > 0 ? std::exp(sum / static_cast<double>(counted)) : 0;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace tessera::report
