// What a sweep found, as a page and as a few lines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/histogram.hpp"
#include "report/page.hpp"
#include "report/scatter_chart.hpp"
#include "report/sweep_records.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

constexpr std::size_t kShown = 10;

struct Totals {
  std::vector<double> speed_ups;  // of records with a baseline
  std::vector<double> regrets;
  std::vector<double> errors;    // |predicted / measured − 1| of every own contender
  std::vector<double> of_bound;  // bound / measured
  std::string against;           // "openblas", "the best peer", "data_parallel"
};

Totals totals_of(const Sweep& sweep) {
  Totals totals;
  bool has_peer = false;
  std::string peer;
  for (const SweepRecord& record : sweep.records) {
    if (record.baseline() != nullptr) totals.speed_ups.push_back(record.speed_up());
    totals.regrets.push_back(record.regret());
    if (record.bound_seconds > 0 && record.chosen().seconds > 0) {
      totals.of_bound.push_back(record.bound_seconds / record.chosen().seconds);
    }
    for (const SweepResult& result : record.results) {
      if (result.is_peer) {
        peer = has_peer && peer != result.name ? "the best peer" : result.name;
        has_peer = true;
      } else if (result.seconds > 0 && result.predicted_seconds > 0) {
        totals.errors.push_back(std::abs(result.predicted_seconds / result.seconds - 1));
      }
    }
  }
  totals.against = has_peer ? peer : "our own data_parallel";
  return totals;
}

std::string rate_of(const SweepRecord& record) {
  return record.chosen().seconds > 0 ? flops_per_second(record.flops / record.chosen().seconds)
                                     : "";
}

std::vector<const SweepRecord*> by_speed_up(const Sweep& sweep) {
  std::vector<const SweepRecord*> sorted;
  for (const SweepRecord& record : sweep.records) {
    if (record.baseline() != nullptr) sorted.push_back(&record);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const SweepRecord* a, const SweepRecord* b) {
    return a->speed_up() < b->speed_up();
  });
  return sorted;
}

std::vector<std::string> row_of(const SweepRecord& record) {
  return {record.name,
          record.kind,
          times(record.speed_up()),
          seconds(record.chosen().seconds),
          rate_of(record),
          record.baseline() != nullptr ? record.baseline()->name : "",
          record.chosen().detail};
}

void add_speed_ups(const Sweep& sweep, const Totals& totals, Page& page) {
  page.section("How much faster");
  if (totals.speed_ups.empty()) {
    page.paragraph(
        "There is nothing to compare with: no peer was measured, and every plan was "
        "data-parallel.");
    return;
  }
  const auto faster = static_cast<double>(std::count_if(
      totals.speed_ups.begin(), totals.speed_ups.end(), [](double ratio) { return ratio > 1; }));
  const double mean = geometric_mean(totals.speed_ups);
  page.paragraph(fmt::format(
      "Against {}, over {}: {} as fast on geometric average, faster on {} of the shapes, {} at "
      "worst "
      "and {} at best.",
      totals.against, counted(static_cast<std::int64_t>(totals.speed_ups.size()), "shape"),
      times(mean), percent(faster / static_cast<double>(totals.speed_ups.size())),
      times(*std::min_element(totals.speed_ups.begin(), totals.speed_ups.end())),
      times(*std::max_element(totals.speed_ups.begin(), totals.speed_ups.end()))));
  page.figure(histogram_picture({.description = "Distribution of speed-ups",
                                 .x_title = "times as fast as " + totals.against,
                                 .ratios = totals.speed_ups,
                                 .mean = mean,
                                 .mean_text = "geometric mean " + times(mean)}),
              "How many shapes have which speed-up. Left of 1 we are slower.",
              {{"bar", "faster"}, {"bar-slow", "slower"}});
  ScatterChart chart;
  chart.description = "Speed-up over arithmetic intensity";
  chart.x_title = "FLOP per byte, every operand touched once";
  chart.y_title = "times as fast as " + totals.against;
  chart.x_base = 2;
  chart.guide = GuideKind::level;
  chart.guide_text = "as fast";
  chart.y_text = times;
  for (const SweepRecord& record : sweep.records) {
    if (record.baseline() == nullptr) continue;
    chart.points.push_back({record.intensity, record.speed_up(),
                            record.name + "\n" + times(record.speed_up()) + "\n" +
                                seconds(record.chosen().seconds) + ", " + rate_of(record) + "\n" +
                                record.chosen().detail,
                            record.speed_up() < 1});
  }
  page.figure(scatter_chart(chart),
              "Each point is a shape. Left, memory sets the pace; right, arithmetic does.",
              {{"bar", "faster"}, {"bar-slow", "slower"}});
}

void add_extremes(const Sweep& sweep, Page& page) {
  const std::vector<const SweepRecord*> sorted = by_speed_up(sweep);
  if (sorted.empty()) return;
  const std::vector<TableColumn> columns = {{"shape", false}, {"kind", false}, {"speed-up", true},
                                            {"time", true},   {"rate", true},  {"against", false},
                                            {"plan", false}};
  const std::size_t shown = std::min(kShown, sorted.size());
  std::vector<std::vector<std::string>> worst;
  std::vector<std::vector<std::string>> best;
  for (std::size_t i = 0; i < shown; ++i) {
    worst.push_back(row_of(*sorted[i]));
    best.push_back(row_of(*sorted[sorted.size() - 1 - i]));
  }
  page.section(fmt::format("The worst {}", shown));
  page.table(columns, worst);
  page.section(fmt::format("The best {}", shown));
  page.table(columns, best);
}

void add_regret(const Sweep& sweep, const Totals& totals, Page& page) {
  page.section("Planner regret");
  std::map<std::string, int> winners;
  bool compared = false;
  for (const SweepRecord& record : sweep.records) {
    const SweepResult* best = &record.chosen();
    for (const SweepResult& result : record.results) {
      if (result.is_peer) continue;
      compared = compared || &result != &record.chosen();
      if (result.seconds < best->seconds) best = &result;
    }
    ++winners[best->name];
  }
  if (!compared) {
    page.paragraph("Only the planner's choice was measured, so there is nothing to regret.");
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, wins] : winners) {
    rows.push_back({name == "tessera" ? "the planner's choice" : name, count(wins),
                    percent(wins / static_cast<double>(sweep.records.size()))});
  }
  const auto close = static_cast<double>(std::count_if(
      totals.regrets.begin(), totals.regrets.end(), [](double regret) { return regret <= 1.02; }));
  page.paragraph(
      fmt::format("Regret is the time of the planner's choice over the fastest of our own that "
                  "were measured: {} "
                  "on geometric average; on {} of the shapes it is within 2 %.",
                  times(geometric_mean(totals.regrets)),
                  percent(close / static_cast<double>(totals.regrets.size()))));
  page.figure(histogram_picture({.description = "Distribution of the planner's regret",
                                 .x_title = "time of the choice over the best of our own",
                                 .ratios = totals.regrets,
                                 .mean = geometric_mean(totals.regrets),
                                 .mean_text = "mean " + times(geometric_mean(totals.regrets))}),
              "");
  page.table({{"fastest of our own", false}, {"shapes", true}, {"share", true}}, rows);
}

struct ScheduleRatio {
  std::string name;
  std::vector<double> ratios;  // our data-parallel schedule's time over its own, of each shape
};

// Every schedule of ours that was measured beside data_parallel.
std::vector<ScheduleRatio> schedule_ratios(const Sweep& sweep) {
  std::vector<ScheduleRatio> found;
  for (const std::string& name : sweep.settings.contenders) {
    ScheduleRatio one{name == "tessera" ? "the planner's choice" : name, {}};
    for (const SweepRecord& record : sweep.records) {
      const double ratio = record.over_data_parallel(name);
      if (ratio > 0) one.ratios.push_back(ratio);
    }
    if (!one.ratios.empty() && !name.ends_with("data_parallel")) found.push_back(std::move(one));
  }
  return found;
}

void add_schedules(const Sweep& sweep, Page& page) {
  const std::vector<ScheduleRatio> schedules = schedule_ratios(sweep);
  if (schedules.empty()) return;
  page.section("Schedules beside data_parallel");
  page.paragraph("How many times as fast as our own data-parallel schedule.");
  std::vector<std::vector<std::string>> rows;
  for (const ScheduleRatio& one : schedules) {
    rows.push_back({one.name, count(static_cast<std::int64_t>(one.ratios.size())),
                    times(geometric_mean(one.ratios)), times(std::ranges::min(one.ratios)),
                    times(std::ranges::max(one.ratios))});
  }
  page.table({{"schedule", false},
              {"shapes", true},
              {"geometric mean", true},
              {"worst", true},
              {"best", true}},
             rows);
}

void add_predictions(const Sweep& sweep, const Totals& totals, Page& page) {
  page.section("Predicted and measured");
  if (totals.errors.empty()) {
    page.paragraph("No prediction was recorded.");
    return;
  }
  page.paragraph(
      fmt::format("The cost model's median error is {} over {}.", percent(median_of(totals.errors)),
                  counted(static_cast<std::int64_t>(totals.errors.size()), "measured plan")));
  ScatterChart chart;
  chart.description = "Predicted over measured time";
  chart.x_title = "measured";
  chart.y_title = "predicted";
  chart.y_base = 10;
  chart.guide = GuideKind::diagonal;
  chart.guide_text = "as predicted";
  chart.x_text = seconds;
  chart.y_text = seconds;
  for (const SweepRecord& record : sweep.records) {
    for (const SweepResult& result : record.results) {
      if (result.is_peer) continue;
      chart.points.push_back({result.seconds, result.predicted_seconds,
                              record.name + ", " + result.name + "\nmeasured " +
                                  seconds(result.seconds) + "\npredicted " +
                                  seconds(result.predicted_seconds) + "\n" + result.detail,
                              &result != &record.chosen()});
    }
  }
  page.figure(scatter_chart(chart), "Each point is one plan on one shape.",
              {{"bar", "the planner's choice"}, {"bar-slow", "another schedule"}});
}

}  // namespace

std::string sweep_page(const Sweep& sweep, const std::string& command) {
  const SweepSettings& settings = sweep.settings;
  const Totals totals = totals_of(sweep);
  Page page(fmt::format("{}: {}", settings.corpus,
                        counted(static_cast<std::int64_t>(sweep.records.size()), "shape")),
            fmt::format("{} on {}, {}", settings.types, settings.machine,
                        counted(settings.threads, "thread")));
  page.facts(
      {{"Speed-up", totals.speed_ups.empty() ? "–" : times(geometric_mean(totals.speed_ups)),
        "geometric mean against " + totals.against},
       {"Worst shape",
        totals.speed_ups.empty()
            ? "–"
            : times(*std::min_element(totals.speed_ups.begin(), totals.speed_ups.end())),
        ""},
       {"Planner regret",
        totals.regrets.empty() ? "–" : percent(geometric_mean(totals.regrets) - 1),
        "over the best of our own"},
       {"Model error", totals.errors.empty() ? "–" : percent(median_of(totals.errors)), "median"},
       {"Share of the bound",
        totals.of_bound.empty() ? "–" : percent(geometric_mean(totals.of_bound)),
        "of arithmetic or bandwidth"}});
  if (sweep.records.size() < static_cast<std::size_t>(settings.count)) {
    page.note(fmt::format("The sweep is not complete: {} of {} shapes.", sweep.records.size(),
                          settings.count));
  }
  if (sweep.records.empty()) {
    page.paragraph("Nothing has been measured yet.");
    return page.str();
  }
  add_speed_ups(sweep, totals, page);
  add_extremes(sweep, page);
  add_schedules(sweep, page);
  add_regret(sweep, totals, page);
  add_predictions(sweep, totals, page);
  page.section("How it was measured");
  page.table({{"", false}, {"", false}},
             {{"corpus", fmt::format("{}, {} shapes, seed {}", settings.corpus, settings.count,
                                     settings.seed)},
              {"contenders", fmt::format("{}", fmt::join(settings.contenders, ", "))},
              {"kernel", settings.kernel.empty() ? "the planner's choice" : settings.kernel},
              {"timing", fmt::format("{} for each contender and shape, {} caches, medians",
                                     seconds(settings.seconds), settings.cold ? "cold" : "warm")},
              {"machine", settings.machine},
              {"commit and date", settings.commit + ", " + settings.date}});
  page.command(command);
  return page.str();
}

std::string sweep_summary(const Sweep& sweep) {
  const Totals totals = totals_of(sweep);
  std::string text = fmt::format("{} of {} shapes", sweep.records.size(), sweep.settings.count);
  if (!totals.speed_ups.empty()) {
    text += fmt::format("; geometric mean {} as fast as {}, worst {}",
                        times(geometric_mean(totals.speed_ups)), totals.against,
                        times(*std::min_element(totals.speed_ups.begin(), totals.speed_ups.end())));
  }
  if (!totals.regrets.empty()) {
    text += fmt::format("; planner regret {}", percent(geometric_mean(totals.regrets) - 1));
  }
  if (!totals.errors.empty()) {
    text += fmt::format("; model error {}", percent(median_of(totals.errors)));
  }
  for (const ScheduleRatio& one : schedule_ratios(sweep)) {
    text += fmt::format("\n{} as fast as our own data_parallel: {}, over {}",
                        times(geometric_mean(one.ratios)), one.name,
                        counted(static_cast<std::int64_t>(one.ratios.size()), "shape"));
  }
  return text;
}

}  // namespace tessera::report
