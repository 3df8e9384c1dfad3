#include "report/plan_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/tile_config.hpp"
#include "report/bar.hpp"
#include "report/schedule_chart.hpp"
#include "report/text.hpp"
#include "report/tile_order_picture.hpp"
#include "schedule/fix_up_of.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"

namespace tessera::report {
namespace {

// A notebook keeps its pictures in its file.
constexpr std::int32_t kMostWorkers = 64;

// The pictures' variables from the surrounding text's colour. The background behind it can only be
// guessed; what uses it (--panel) is an outline.
constexpr std::string_view kPalette = R"css(
  --ink: currentColor; --soft: color-mix(in srgb, currentColor 72%, transparent);
  --rule: color-mix(in srgb, currentColor 20%, transparent); --accent: #4a86d0; --warm: #cf6a2e;
  --panel: var(--jp-layout-color0, var(--vscode-editor-background, Canvas));
  --accent-soft: color-mix(in srgb, #4a86d0 30%, transparent);
  --whole-0: color-mix(in srgb, currentColor 30%, transparent);
  --whole-1: color-mix(in srgb, currentColor 18%, transparent);
  --idle: color-mix(in srgb, currentColor 6%, transparent);
  --t0: #5b8ac4; --t1: #e2a04f; --t2: #5fa887; --t3: #cf6f74; --t4: #8d7fc0; --t5: #bfa53a;
  --t6: #62a9bd; --t7: #b0835f;
)css";

// What differs from our own pages: no cards, and the notebook's own look for tables stays away.
constexpr std::string_view kLook = R"css(
  figure { background: none; border: 0; padding: 0; max-width: 960px; }
  .legend { color: inherit; }
  svg[viewBox^="0 0 300 "] { max-width: 300px; }
  table { width: auto; margin: 8px 0; }
  table td, table th { text-align: left; background: none; }
  svg .item:hover { stroke: var(--ink); stroke-width: 1; }
)css";

// Replaces the tips that our script shows by <title> elements, which browsers show themselves.
std::string with_titles(std::string_view svg) {
  constexpr std::string_view kTip = " data-tip=\"";
  constexpr std::string_view kClosed = "/>";
  std::string html;
  for (;;) {
    const std::size_t tip = svg.find(kTip);
    if (tip == std::string_view::npos) return html.append(svg);
    const std::size_t begin = tip + kTip.size();
    const std::size_t end = svg.find('"', begin);
    const std::size_t closed = svg.find('>', end);
    html.append(svg.substr(0, tip));
    const bool is_empty = svg.substr(closed - 1, kClosed.size()) == kClosed;
    html.append(svg.substr(end + 1, closed - (is_empty ? 1 : 0) - (end + 1)));
    html.append("><title>").append(svg.substr(begin, end - begin)).append("</title>");
    if (is_empty) {
      // "<rect ...>" has to be closed by its name.
      const std::size_t name = svg.rfind('<', tip) + 1;
      html.append("</").append(svg.substr(name, svg.find(' ', name) - name)).append(">");
    }
    svg.remove_prefix(closed + 1);
  }
}

void add_schedule(const Plan& plan, Page& page) {
  const HostIterationSpace space(plan.problem.groups, plan.tile);
  ScheduleChartOptions options;
  options.height = 280;
  options.most_workers = kMostWorkers;
  const Partition partition = partition_of(plan, space);
  const FixUp fix_up = fix_up_of(plan, partition, space);
  const ScheduleChart chart = schedule_chart(space, partition, fix_up, options);
  page.figure(chart.svg, "Each row is a worker, each block a work item. " + chart.note,
              schedule_legend(partition.stream_tiles > 0 || partition.splits > 1, fix_up));
}

void add_order(const Plan& plan, Page& page) {
  const Decomposition& parts = plan.decomposition;
  const TileOrderPicture picture{
      .grid_m = static_cast<std::int32_t>(parts.tiles_m),
      .grid_n = static_cast<std::int32_t>(parts.tiles_n),
      .order = {plan.schedule.order, plan.schedule.group_m},
      .wave = std::min<std::int64_t>(plan.schedule.workers, parts.tiles_m * parts.tiles_n),
      .title = order_text(plan.schedule),
      .subtitle = fmt::format("{} as {} × {} tiles of {}",
                              plan.problem.groups.size() > 1 ? "The first C" : "C", parts.tiles_m,
                              parts.tiles_n, tile(plan.tile))};
  page.figure(tile_order_picture(picture), "",
              {{"first-wave", "a tile of the first wave, in the order of the line"},
               {"touched", "blocks of A and B that it fetches"}});
}

}  // namespace

std::string cost_picture(const Cost& cost) {
  Bar bar{.description = "The predicted time and its terms", .parts = {}, .limit_text = {}};
  for (const CostTerm& term : cost.terms) {
    bar.parts.push_back(
        {term.name, term.seconds, seconds(term.seconds), fmt::format("t{}", bar.parts.size() % 8)});
  }
  return bar_picture(bar);
}

std::vector<LegendEntry> schedule_legend(bool shares, FixUp fix_up) {
  std::vector<LegendEntry> legend = {{"whole-0", "a whole tile"}};
  if (shares) {
    legend.push_back({"t0", "a piece of a shared tile; pieces of one tile have one colour"});
    legend.push_back({"legend-hand-over",
                      fix_up == FixUp::meeting
                          ? "the workers of one tile meet: all have published their partial sums, "
                            "and each adds a share of the tile"
                          : "a partial sum: published at the dot, added at the arrowhead"});
  }
  return legend;
}

std::string plan_pictures(const Plan& plan) {
  Page page("", "");
  if (plan.decomposition.tiles > 0) {
    add_schedule(plan, page);
    if (plan.decomposition.tiles_m > 0 && plan.decomposition.tiles_n > 0) add_order(plan, page);
  }
  page.figure(cost_picture(plan.cost),
              "The predicted time, " + seconds(plan.cost.seconds) + ", as the sum of its terms.");
  return fmt::format("<style>\n.tessera-plan {{{}{}{}}}\n</style>\n{}", kPalette, content_style(),
                     kLook, with_titles(page.body()));
}

}  // namespace tessera::report
