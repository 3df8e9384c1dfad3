// The story of a plan as one HTML page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/catalogue.hpp"
#include "core/tile_config.hpp"
#include "report/bar.hpp"
#include "report/chrome_trace.hpp"
#include "report/page.hpp"
#include "report/plan_pictures.hpp"
#include "report/roofline.hpp"
#include "report/schedule_chart.hpp"
#include "report/story.hpp"
#include "report/story_words.hpp"
#include "report/text.hpp"
#include "report/tile_order_picture.hpp"
#include "report/timeline_chart.hpp"
#include "schedule/division.hpp"
#include "schedule/fix_up_of.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"

namespace tessera::report {
namespace {

constexpr std::size_t kShownLosers = 8;

void add_facts(const Story& story, Page& page) {
  const Plan& plan = story.plan;
  std::vector<Fact> facts = {
      {"Predicted time", seconds(plan.cost.seconds),
       fmt::format(
           "{}, {} of the peak", flops_per_second(story.predicted_flops_per_second),
           percent(story.predicted_flops_per_second / std::max(story.peak_flops_per_second, 1.0)))},
      {"Tile", tile(plan.tile),
       plan.machine.kind == MachineKind::gpu
           ? counted(plan.tile.stages, "stage")
           : fmt::format("registers {} × {}", plan.tile.mr, plan.tile.nr)},
      {"Schedule", cut(plan.schedule, partition_of(plan)),
       counted(plan.schedule.workers, "worker")},
      {"Tile order", order_text(plan.schedule), counted(plan.decomposition.tiles, "tile")},
  };
  if (story.measured_seconds) {
    facts.insert(facts.begin() + 1,
                 {"Measured time", seconds(*story.measured_seconds),
                  fmt::format("{}, {} of the prediction",
                              flops_per_second(flops_of(plan.problem) / *story.measured_seconds),
                              percent(*story.measured_seconds / plan.cost.seconds))});
  }
  page.facts(facts);
  if (!plan.reason.empty()) page.note(plan.reason);
}

void add_roofline(const Story& story, Page& page) {
  Roofline roofline{.peak_flops_per_second = story.peak_flops_per_second,
                    .memory_bytes_per_second = story.memory_bytes_per_second,
                    .cache_bytes_per_second = story.cache_bytes_per_second};
  roofline.points = {
      {"one element at a time", story.naive_intensity, 0, false, "Every operand from memory"},
      {"one tile", story.tile_intensity, 0, false, "Every block from memory"},
      {"tiles sharing the cache", story.shared_intensity, 0, false,
       bytes(story.plan.cost.memory_bytes) + " from and to memory"},
      {"predicted", story.shared_intensity, story.predicted_flops_per_second, true,
       seconds(story.plan.cost.seconds)},
  };
  if (story.measured_seconds) {
    roofline.points.back().is_measured = false;
    roofline.points.push_back({"measured", story.shared_intensity,
                               flops_of(story.plan.problem) / *story.measured_seconds, true,
                               seconds(*story.measured_seconds)});
  }
  page.section("Why tiles");
  page.paragraph(words_on_intensity(story));
  page.figure(
      roofline_picture(roofline),
      fmt::format("The roofline: the slope is what memory can feed, the flat part what the "
                  "multipliers can do; under it lies everything the machine can reach.{} The "
                  "dotted way leads from one element at a time to what this plan does.",
                  has_cache_roof(roofline) ? " The dashed slope is the shared cache." : ""));
}

void add_schedule_chart(const Plan& plan, const IterationSpace& space, bool shares, Page& page) {
  const Partition partition = partition_of(plan, space);
  const FixUp fix_up = fix_up_of(plan, partition, space);
  const ScheduleChart chart = schedule_chart(space, partition, fix_up);
  page.figure(
      chart.svg,
      "Each row is a worker, each block a work item. Point at one (or touch it) to see which "
      "tile and iterations it is; the other pieces of its tile light up. " +
          chart.note,
      schedule_legend(shares, fix_up));
  if (shares && partition.workers > 8) {
    ScheduleChartOptions closer;
    closer.most_workers = 7;
    closer.height = 240;
    closer.names_items = true;
    page.figure(
        schedule_chart(space, partition, fix_up, closer).svg,
        fix_up == FixUp::meeting
            ? "The first seven workers, closer. Follow one colour from row to row to see who meets "
              "whom: a line stands where the last of a tile's workers has come, with a dot for "
              "each of them that is drawn."
            : "The first seven workers, closer: the first item of each row is what the first wave "
              "computes. Follow one colour from row to row to see a tile change hands. A line "
              "begins where a worker publishes its partial sum and goes on; it ends where whoever "
              "finished the tile's last piece adds it. The sum waits that long, no worker does.");
  }
}

void add_cuts(const Story& story, const IterationSpace& space, Page& page) {
  if (story.cuts.size() < 2) return;
  double horizon = 0;
  for (const CutStory& one : story.cuts) horizon = std::max(horizon, one.facts.longest);
  std::vector<std::string> pictures;
  for (const CutStory& one : story.cuts) {
    ScheduleChartOptions small;
    small.is_small = true;
    small.width = 300;
    small.height = 170;
    small.least_width = 0;
    small.horizon = horizon;
    small.title = one.name + (one.is_chosen ? " (chosen)" : "");
    small.subtitle = fmt::format("{}, {} idle, ≤ {} to a tile", seconds(one.seconds),
                                 percent(1 - one.facts.busy_share), one.facts.most_peers);
    const Partition partition = partition_of(story.plan, one.schedule, space);
    pictures.push_back(
        schedule_chart(space, partition, fix_up_of(story.plan, partition, space), small).svg);
  }
  page.figures(
      pictures,
      "The same tiles divided in other ways, on one scale: predicted time, share of worker "
      "time without work, and the most workers that share one tile.");
}

void add_schedule(const Story& story, const IterationSpace& space, Page& page) {
  const bool shares = story.facts.most_peers > 1;
  page.section("Who computes what");
  for (const std::string& words : words_on_schedule(story)) page.paragraph(words);

  add_schedule_chart(story.plan, space, shares, page);
  add_cuts(story, space, page);
}

// A plan of whole tiles says nothing about stream-K, which is what would fill its idle end.
void add_cut_instead(const Story& story, const IterationSpace& space, Page& page) {
  const std::optional<Story> cut = cut_instead(story);
  if (!cut) return;
  page.section("What stream-K would do");
  page.paragraph(words_on_cut_instead(story, *cut));
  const std::vector<std::string> words = words_on_schedule(*cut);
  for (std::size_t i = 1; i < words.size(); ++i) page.paragraph(words[i]);
  add_schedule_chart(cut->plan, space, true, page);
}

void add_orders(const Story& story, Page& page) {
  const Decomposition& parts = story.plan.decomposition;
  if (story.orders.empty()) return;
  page.section("In which order");
  page.paragraph(words_on_order(story));
  std::vector<std::string> pictures;
  for (const OrderStory& one : story.orders) {
    pictures.push_back(tile_order_picture(
        {.grid_m = static_cast<std::int32_t>(parts.tiles_m),
         .grid_n = static_cast<std::int32_t>(parts.tiles_n),
         .order = one.order,
         .wave = story.first_wave,
         .title = one.name,
         .subtitle = fmt::format("{} blocks: A {}, B {}", count(one.blocks.total()),
                                 count(one.blocks.a), count(one.blocks.b)),
         .is_chosen = one.is_chosen}));
  }
  page.figures(
      pictures,
      fmt::format("C, seen as {} × {} tiles. The line leads through the first wave; beside "
                  "C, the block rows of A and block columns of B that it needs, each {} deep.",
                  parts.tiles_m, parts.tiles_n, counted(parts.iterations_per_tile, "block")),
      {{"first-wave", "a tile of the first wave"},
       {"touched", "blocks of A and B that it fetches"},
       {"tile", "a later tile"}});
}

void add_scratchpad(const Story& story, Page& page) {
  const ScratchpadUse& use = story.scratchpad;
  const Machine& machine = story.plan.machine;
  page.section("What fits beside a worker");
  page.paragraph(words_on_scratchpad(story));
  Bar bar{.description = "What the scratchpad holds",
          .parts = {},
          .limit = static_cast<double>(machine.scratchpad_bytes),
          .limit_is_soft = machine.kind == MachineKind::cpu,
          .limit_text = scratchpad_name(machine) + " " +
                        bytes(static_cast<double>(machine.scratchpad_bytes))};
  for (int stage = 0; stage < use.stages; ++stage) {
    const std::string of = use.stages > 1 ? fmt::format(" {}", stage) : "";
    bar.parts.push_back({"A" + of, static_cast<double>(use.a_bytes),
                         bytes(static_cast<double>(use.a_bytes)), "t0"});
    bar.parts.push_back({"B" + of, static_cast<double>(use.b_bytes),
                         bytes(static_cast<double>(use.b_bytes)), "t6"});
  }
  if (use.epilogue_bytes > 0) {
    bar.parts.push_back({"epilogue", static_cast<double>(use.epilogue_bytes),
                         bytes(static_cast<double>(use.epilogue_bytes)), "t1"});
  }
  std::vector<LegendEntry> legend = {{"t0", "blocks of A"}, {"t6", "blocks of B"}};
  if (use.epilogue_bytes > 0) legend.push_back({"t1", "epilogue"});
  legend.push_back({"free", "free"});
  page.figure(bar_picture(bar), "", legend);
}

void add_pipeline(const Story& story, Page& page) {
  if (!(story.pipeline.multiply > 0)) return;
  page.section("The pipeline");
  page.paragraph(words_on_pipeline(story));
  const bool is_cpu = story.plan.machine.kind == MachineKind::cpu;
  const int iterations = std::clamp(
      static_cast<int>(std::min<std::int64_t>(story.plan.decomposition.iterations_per_tile, 12)), 1,
      12);
  PipelineChart chart{.times = story.pipeline,
                      .stages = std::min(story.plan.tile.stages, 8),
                      .iterations = iterations,
                      .title = {},
                      .subtitle = {}};
  const auto end_of = [&](int stages) {
    return pipeline_events(chart.times, stages, iterations).back().done;
  };
  chart.title = is_cpu ? "One worker" : counted(chart.stages, "stage");
  chart.subtitle = fmt::format("{} iterations in {}", iterations, seconds(end_of(chart.stages)));
  std::vector<LegendEntry> legend = {{"loading", is_cpu ? "packing" : "loading"},
                                     {"waiting", "full, waiting for its turn"},
                                     {"multiplying", "being multiplied"}};
  if (is_cpu || chart.stages == 1) {
    page.figure(pipeline_chart(chart), "", legend);
    return;
  }
  chart.horizon = end_of(1);
  page.figure(pipeline_chart(chart), "", legend);
  chart.stages = 1;
  chart.title = "1 stage, to compare";
  chart.subtitle = fmt::format("{} iterations in {}", iterations, seconds(chart.horizon));
  page.figure(pipeline_chart(chart), "The same iterations on the same scale, one block at a time.");
}

void add_time(const Story& story, Page& page) {
  const Cost& cost = story.plan.cost;
  page.section("Where the time goes");
  std::vector<std::vector<std::string>> rows;
  for (const CostTerm& term : cost.terms) {
    rows.push_back({term.name, seconds(term.seconds),
                    percent(cost.seconds > 0 ? term.seconds / cost.seconds : 0),
                    words_on_term(term.name)});
  }
  rows.push_back({"together", seconds(cost.seconds), "100 %", ""});
  page.figure(cost_picture(cost), "The predicted time, as the sum of the cost model's terms.");
  page.table({{"term", false}, {"time", true}, {"share", true}, {"what it is", false}}, rows);
}

void add_trace(const Story& story, Page& page) {
  if (!story.trace) return;
  page.section("What happened");
  const Trace& measured = *story.trace;
  const Trace predicted = predict_trace(story.plan, static_cast<int>(measured.tracks.size()));
  const double horizon = std::max(measured.seconds, predicted.seconds) * 1.02;
  const TimelineChart chart = timeline_chart(
      measured,
      {.predicted_seconds = story.plan.cost.seconds, .horizon = horizon, .title = "Measured"});
  const bool is_gpu = !measured.sms.empty();
  const TimelineChart expected = timeline_chart(
      predicted, {.horizon = horizon, .title = "Predicted", .track = is_gpu ? "worker" : "thread"});
  page.paragraph(chart.words);
  if (is_gpu && story.fix_up == FixUp::meeting) {
    page.paragraph(
        "A traced run takes the kernel for all purposes, in which workers do not meet: whoever is "
        "last to finish a piece of a tile adds what the others published.");
  }
  page.figure(chart.svg,
              std::string("One row for each ") + (is_gpu ? "SM" : "thread") +
                  ", with the work items it computed. The dashed line is where the plan was "
                  "predicted to end. " +
                  (is_gpu ? "Time begins with the first block: what the launch took before that is "
                            "not seen. "
                          : "") +
                  chart.note,
              {{"whole-0", "a whole tile"},
               {"t0", "a piece of a shared tile; pieces of one tile have one colour"},
               {"data-wait", is_gpu ? "of an item: waiting for blocks of A and B"
                                    : "of an item: fetching and packing its operands"},
               {"adding", "of an item: adding partial sums, writing the tile"}});
  page.figure(expected.svg,
              std::string("The same items on the same scale, as the cost model expects them: each "
                          "takes its iterations' time") +
                  (is_gpu ? "." : ", and threads take workers in turn."));
}

void add_others(const Story& story, Page& page) {
  if (story.losers.empty() && story.rejected.empty()) return;
  page.section("What lost");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < std::min(story.losers.size(), kShownLosers); ++i) {
    const LoserStory& loser = story.losers[i];
    rows.push_back({loser.candidate.kernel, tile(loser.candidate.tile), loser.cut,
                    seconds(loser.candidate.cost->seconds), times(loser.times_as_long), loser.why});
  }
  if (!rows.empty()) {
    page.paragraph(fmt::format(
        "The planner costed {} and took the fastest; a more complicated one has to be better by a "
        "percent.",
        counted(static_cast<std::int64_t>(story.losers.size()) + 1, "candidate")));
    page.table({{"kernel", false},
                {"tile", false},
                {"schedule", false},
                {"predicted", true},
                {"against the plan", true},
                {"because of", false}},
               rows);
  }
  if (story.rejected.empty()) return;
  rows.clear();
  for (const Candidate& candidate : story.rejected) {
    rows.push_back({candidate.kernel, tile(candidate.tile), candidate.rejection});
  }
  page.folded_table(
      counted(static_cast<std::int64_t>(rows.size()), "candidate") + " rejected without costing",
      {{"kernel", false}, {"tile", false}, {"reason", false}}, rows);
}

void add_machine(const Story& story, const std::string& command, Page& page) {
  const Machine& machine = story.plan.machine;
  page.section("The machine and the command");
  page.table(
      {{"", false}, {"", false}},
      {{"machine", fmt::format("{} ({})", machine.name, machine.architecture)},
       {"workers", fmt::format("{} of {}", story.plan.schedule.workers, machine.workers)},
       {"peak", flops_per_second(best_rate(story.plan.problem.types.a, machine) * machine.workers)},
       {"memory", bytes_per_second(machine.memory_bytes_per_second)},
       {"shared cache", fmt::format("{}, {}", bytes(static_cast<double>(machine.cache_bytes)),
                                    bytes_per_second(machine.cache_bytes_per_second))},
       {"cost constants", machine.cost.source}});
  page.command(command);
}

}  // namespace

std::string story_page(const Story& story, const std::string& command) {
  const Plan& plan = story.plan;
  const HostIterationSpace space(plan.problem.groups, plan.tile);
  Page page(shapes(plan.problem),
            fmt::format("{} on {}, {}", types(plan.problem.types), plan.machine.name,
                        counted(plan.schedule.workers, "worker")));
  add_facts(story, page);
  add_roofline(story, page);
  if (plan.decomposition.tiles > 0) {
    add_schedule(story, space, page);
    add_cut_instead(story, space, page);
    add_orders(story, page);
    add_scratchpad(story, page);
    add_pipeline(story, page);
  }
  add_time(story, page);
  add_trace(story, page);
  add_others(story, page);
  add_machine(story, command, page);
  return page.str();
}

}  // namespace tessera::report
