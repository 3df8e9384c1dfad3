// `tessera limits intensity`: what a block's edges do to speed, and to the bytes that are moved.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/interrupt.hpp"
#include "cli/limit_experiments.hpp"
#include "cli/limit_steps.hpp"
#include "cli/progress.hpp"
#include "plan/intensity.hpp"
#include "report/text.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {
namespace {

using report::bytes;
using report::flops_per_second;

constexpr int kLargestEdge = 256;

// One block edge: the plan's prediction, and what was measured where there is a kernel.
struct Step {
  int edge = 1;
  TileConfig tile;
  LimitPlan plan;
  double intensity = 0;
  double predicted_rate = 0;
  double seconds = 0;
  double rate = 0;
  std::optional<CountedBytes> counted;

  bool was_run() const { return seconds > 0; }
};

void add_row(LimitFindings& found, const Step& step, bool has_counters) {
  const auto or_nothing = [](double value, std::string (*text)(double)) {
    return value > 0 ? text(value) : std::string();
  };
  std::vector<std::string> row = {report::tile(step.tile), report::intensity(step.intensity),
                                  or_nothing(step.predicted_rate, flops_per_second),
                                  or_nothing(step.seconds, report::seconds),
                                  or_nothing(step.rate, flops_per_second)};
  if (has_counters) {
    const Cost cost = step.was_run() ? step.plan.plan->cost : Cost();
    const CountedBytes counted = step.counted.value_or(CountedBytes());
    for (const double value : {cost.memory_bytes, counted.memory_read + counted.memory_written,
                               cost.cache_bytes, counted.cache}) {
      row.push_back(or_nothing(value, bytes));
    }
  }
  row.push_back(step.was_run()   ? ""
                : step.plan.plan ? "no kernel of this block is compiled"
                                 : step.plan.refusal);
  found.rows.push_back(row);
}

void add_json(LimitFindings& found, const Step& step) {
  nlohmann::json json = {{"edge", step.edge}, {"flops_per_byte", step.intensity}};
  if (step.predicted_rate > 0) json["predicted_flops_per_second"] = step.predicted_rate;
  if (step.was_run()) {
    json["flops_per_second"] = step.rate;
    json["predicted_memory_bytes"] = step.plan.plan->cost.memory_bytes;
    json["predicted_cache_bytes"] = step.plan.plan->cost.cache_bytes;
  }
  if (step.counted) {
    json["measured_memory_bytes_read"] = step.counted->memory_read;
    json["measured_memory_bytes_written"] = step.counted->memory_written;
    json["measured_cache_bytes"] = step.counted->cache;
  }
  found.steps.push_back(json);
}

}  // namespace

LimitFindings find_intensity_limit(LimitDevice& device, const LimitOptions& options) {
  const GemmShape shape = shape_or(
      options.shape, is_cpu(device) ? GemmShape{512, 512, 512} : GemmShape{4096, 4096, 4096});
  const int depth = options.tile.block_k > 0 ? options.tile.block_k : is_cpu(device) ? 256 : 64;
  LimitFindings found;
  found.title = "Intensity";
  found.question = fmt::format(
      "The block's edges double from 1 to {}: a square block of edge B multiplies each element it "
      "has fetched B times.",
      kLargestEdge);
  set_rate_chart(found.chart, "FLOP per byte of the block");
  const LimitProduct product(device, shape, options.types);
  Progress progress("doubling the edges", std::log2(kLargestEdge) + 1, "steps");
  std::vector<Step> steps;
  // Why nothing was counted: the first reason stands for all, and nothing is tried again.
  std::string why_not;
  for (int edge = 1; edge <= kLargestEdge; edge *= 2) {
    throw_if_interrupted();
    Step step;
    step.edge = edge;
    step.tile = tile_or({}, edge, edge, depth);
    step.plan = plan_step(device, shape, options.types, step.tile);
    step.intensity = flops_per_byte(step.tile, options.types);
    if (step.plan.plan) step.predicted_rate = flops(shape) / step.plan.plan->cost.seconds;
    if (step.plan.plan && (is_cpu(device) || step.plan.is_compiled)) {
      step.seconds = run_step(device, step.plan, product, options.repeats);
      step.rate = flops(shape) / step.seconds;
      if (options.count_bytes && why_not.empty()) {
        const CounterReading reading = options.count_bytes(shape, step.tile);
        step.counted = reading.counted;
        why_not = reading.why_not;
      }
      found.chart.points.push_back(
          {step.intensity, step.rate,
           fmt::format("{} × {}\n{}\n{}", edge, edge, report::intensity(step.intensity),
                       flops_per_second(step.rate)),
           false});
    }
    steps.push_back(step);
    progress.at(static_cast<double>(std::ssize(steps)));
  }

  const bool has_counters =
      std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.counted; });
  found.columns = {{"block", false},
                   {"predicted intensity", true},
                   {"predicted rate", true},
                   {"measured", true},
                   {"rate", true}};
  if (has_counters) {
    for (const char* const name : {"memory, predicted", "measured", "L2, predicted", "measured"}) {
      found.columns.push_back({name, true});
    }
  }
  found.columns.push_back({"", false});
  for (const Step& step : steps) {
    add_row(found, step, has_counters);
    add_json(found, step);
  }
  if (found.chart.points.size() > 1) {
    const report::ScatterPoint& first = found.chart.points.front();
    const report::ScatterPoint& last = found.chart.points.back();
    found.conclusions.push_back(fmt::format(
        "From {} to {} FLOP per byte the rate rises {}, from {} to {}.", report::figure(first.x),
        report::figure(last.x), report::times(last.y / first.y), flops_per_second(first.y),
        flops_per_second(last.y)));
  }
  if (!why_not.empty())
    found.conclusions.push_back("Bytes moved were not counted: " + why_not + ".");
  return found;
}

}  // namespace tessera::cli
