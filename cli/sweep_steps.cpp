#include "cli/sweep_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/provenance.hpp"
#include "cli/shape.hpp"
#include "core/names.hpp"
#include "plan/intensity.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

std::string type_names(const GemmTypes& types) {
  return fmt::format("{},{},{}", name_of(types.a), name_of(types.b), name_of(types.c));
}

// The options of `tessera run` that plan as a variant did.
std::string options_text(const PlanOptions& options) {
  std::string text;
  if (options.kernel) text += fmt::format(" --kernel {}", *options.kernel);
  if (options.schedule) text += fmt::format(" --schedule {}", name_of(*options.schedule));
  if (options.splits) text += fmt::format(" --splits {}", *options.splits);
  if (options.workers) text += fmt::format(" --workers {}", *options.workers);
  if (!options.two_tile) text += " --no-two-tile";
  return text;
}

struct NamedSchedule {
  ScheduleKind kind;
  std::optional<int> splits;
};

// "hybrid", or "split_k(3)".
NamedSchedule schedule_from(const std::string& text) {
  const std::size_t bracket = text.find('(');
  NamedSchedule named{schedule_kind_from_name(text.substr(0, bracket)), std::nullopt};
  if (bracket == std::string::npos) return named;
  named.splits = number_in_brackets(text);
  if (!named.splits) {
    throw Error(ErrorCode::invalid_argument, "--schedule",
                "name a schedule, or one with a number of pieces", "'" + text + "'",
                "write hybrid, or split_k(4)");
  }
  return named;
}

const ContenderResult* find(const CaseResult& result, const std::string& name) {
  const auto found = std::find_if(result.results.begin(), result.results.end(),
                                  [&](const ContenderResult& one) { return one.name == name; });
  return found == result.results.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Variant> sweep_variants(const std::vector<std::string>& schedules,
                                    const std::vector<int>& grids, const std::string& two_tile,
                                    const std::string& kernel) {
  PlanOptions all;
  if (!kernel.empty()) all.kernel = kernel;
  std::vector<Variant> variants{{"tessera", all}};
  std::vector<int> workers = grids;
  if (workers.empty()) workers.push_back(0);
  for (const std::string& name : schedules) {
    const auto [kind, splits] = schedule_from(name);
    for (const int count : workers) {
      for (const bool two : {true, false}) {
        const bool wanted = kind == ScheduleKind::hybrid
                                ? two_tile == "both" || two_tile == (two ? "on" : "off")
                                : two;
        if (!wanted) continue;
        Variant variant;
        variant.options = all;
        variant.options.schedule = kind;
        variant.options.splits = splits;
        variant.options.two_tile = two;
        if (count > 0) variant.options.workers = count;
        variant.name =
            fmt::format("tessera {}{}{}", count > 0 ? fmt::format("{}-worker ", count) : "",
                        two ? "" : "one-tile ", name);
        variants.push_back(std::move(variant));
      }
    }
  }
  return variants;
}

std::string named_by_contents(const std::string& name, std::string_view contents) {
  // FNV-1a.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : contents) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return fmt::format("{} ({:016x})", name, hash);
}

report::SweepSettings settings_for(const std::string& corpus, int count, std::uint64_t seed,
                                   const CpuBenchOptions& options) {
  report::SweepSettings settings;
  settings.corpus = corpus;
  settings.count = count;
  settings.seed = seed;
  settings.types = type_names(options.types[0]);
  settings.threads = options.threads[0];
  settings.seconds = options.seconds;
  settings.cold = options.cold;
  settings.kernel = options.variants[0].options.kernel.value_or("");
  for (const Variant& variant : options.variants) settings.contenders.push_back(variant.name);
  for (const bench::Peer* const peer : options.peers) {
    settings.contenders.push_back(peer->info().name);
  }
  settings.machine = fmt::format("{} ({}, {} workers)", options.machine.name,
                                 options.machine.architecture, options.machine.workers);
  settings.commit = bench::commit_of_build();
  settings.date = bench::utc_now();
  return settings;
}

report::SweepRecord record_from(const CaseResult& result, int index) {
  report::SweepRecord record;
  record.index = index;
  record.name = result.measured.name;
  record.kind = result.measured.kind;
  record.groups = result.measured.groups;
  Problem problem;
  problem.types = result.types;
  problem.groups = result.measured.groups;
  record.flops = flops_of(problem);
  record.intensity = flops_per_byte(problem);
  record.bound_seconds = result.bound_seconds;
  record.bound_by = result.bound_by;
  for (const ContenderResult& one : result.results) {
    if (!one.wrong.empty()) continue;
    record.results.push_back(
        {one.name, one.detail, one.timing.median, one.predicted_seconds, one.is_peer});
  }
  for (const SamePlan& same : result.same_plans) {
    const ContenderResult* measured = find(result, same.as);
    if (measured == nullptr) continue;
    record.results.push_back(
        {same.name, measured->detail, measured->timing.median, measured->predicted_seconds, false});
  }
  return record;
}

std::optional<std::string> wrong_result(const CaseResult& result, const CpuBenchOptions& options,
                                        int index, std::uint64_t seed) {
  for (const ContenderResult& one : result.results) {
    if (one.is_peer || one.wrong.empty()) continue;
    const auto variant =
        std::find_if(options.variants.begin(), options.variants.end(),
                     [&](const Variant& candidate) { return candidate.name == one.name; });
    std::string product;
    for (const GemmShape& shape : result.measured.groups) {
      product += (product.empty() ? "" : ",") + to_text(shape);
    }
    if (result.measured.groups.size() != 1) product = "--group " + product;
    const std::string command = fmt::format(
        "tessera run {} --type {} --out-type {}{} {} --seed 0 --check", product,
        name_of(result.types.a), name_of(result.types.c),
        variant == options.variants.end() ? "" : options_text(variant->options),
        options.machine.kind == MachineKind::gpu ? "--device cuda"
                                                 : fmt::format("--threads {}", result.threads));
    return fmt::format(
        "wrong result of {} ({}) for shape {} (number {} of the corpus, corpus seed {}): {}; the "
        "sweep "
        "stops here. To see it again: {}",
        one.name, one.detail, result.measured.name, index, seed, one.wrong, command);
  }
  return std::nullopt;
}

}  // namespace tessera::cli
