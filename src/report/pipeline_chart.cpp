#include "report/pipeline_chart.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/axis.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 76;
constexpr double kRow = 24;
constexpr double kGap = 4;

}  // namespace

std::vector<PipelineEvent> pipeline_events(const PipelineTimes& times, int stages, int iterations) {
  std::vector<PipelineEvent> events;
  double path_free = 0;
  double multiplier_free = 0;
  for (int i = 0; i < iterations; ++i) {
    PipelineEvent event;
    event.stage = i % stages;
    event.iteration = i;
    const double stage_free = i < stages ? 0 : events[static_cast<std::size_t>(i - stages)].done;
    event.asked = std::max(stage_free, path_free);
    path_free = event.asked + times.transfer;
    event.arrived = event.asked + times.latency + times.transfer;
    event.begun = std::max(event.arrived, multiplier_free);
    event.done = event.begun + times.multiply;
    multiplier_free = event.done;
    events.push_back(event);
  }
  return events;
}

std::string pipeline_chart(const PipelineChart& chart) {
  const std::vector<PipelineEvent> events =
      pipeline_events(chart.times, chart.stages, chart.iterations);
  const double end = std::max(chart.horizon, events.empty() ? 0 : events.back().done);
  const double top = 62;
  const double bottom = top + (chart.stages + 1) * (kRow + kGap) + 6;
  const LinearScale across{0, end > 0 ? end : 1, kLeft, kWidth - 14};
  Svg svg(kWidth, bottom + 24, chart.title + ": " + chart.subtitle, 720);
  svg.text({0, 14}, chart.title, style("strong big"));
  svg.text({0, 33}, chart.subtitle, style(""));

  const auto lane = [&](int index) { return top + index * (kRow + kGap); };
  for (int s = 0; s < chart.stages; ++s) {
    svg.text({kLeft - 10, lane(s) + 16}, fmt::format("stage {}", s), style("end"));
    svg.rect(kLeft, lane(s), across.to - across.from, kRow, style("idle"));
  }
  const double multiplier = lane(chart.stages) + 6;
  svg.text({kLeft - 10, multiplier + 16}, "multiplier", style("end ink"));
  svg.rect(kLeft, multiplier, across.to - across.from, kRow, style("idle"));

  const auto box = [&](double from, double to, double y, const char* name, const std::string& tip) {
    const double width = across(to) - across(from);
    if (width > 0.05) svg.rect(across(from), y + 1, width, kRow - 2, style_with_tip(name, tip));
  };
  for (const PipelineEvent& event : events) {
    const double y = lane(event.stage);
    const std::string who = fmt::format("Iteration {} in stage {}\n", event.iteration, event.stage);
    box(event.asked, event.arrived, y, "loading",
        who + "loading for " + seconds(event.arrived - event.asked));
    box(event.arrived, event.begun, y, "waiting",
        who + "full, waits " + seconds(event.begun - event.arrived));
    box(event.begun, event.done, y, "multiplying",
        who + "multiplied for " + seconds(event.done - event.begun));
    box(event.begun, event.done, multiplier, event.iteration % 2 == 0 ? "t0" : "t6",
        who + "multiplied for " + seconds(event.done - event.begun));
    const std::string label = std::to_string(event.iteration);
    if (across(event.done) - across(event.begun) > 6.5 * static_cast<double>(label.size()) + 1) {
      svg.text({across((event.begun + event.done) / 2), multiplier + 16}, label,
               style("on middle"));
    }
  }
  for (const double tick : across.ticks(8)) {
    svg.line({across(tick), bottom}, {across(tick), bottom + 4}, style("axis"));
    svg.text({across(tick), bottom + 17}, seconds(tick), style("middle"));
  }
  return svg.str();
}

}  // namespace tessera::report
