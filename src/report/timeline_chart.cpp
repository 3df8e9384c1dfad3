#include "report/timeline_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/axis.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 58;
constexpr std::size_t kMostTracks = 160;  // more than a GPU has SMs
constexpr double kLabelHeight = 11;
constexpr std::size_t kMostItems = 3000;
constexpr int kColours = 8;

// Numbers the shared tiles in the order they are met.
class TileNumbers {
 public:
  int of(const TracedItem& item) {
    return numbers_
        .try_emplace({item.group, item.tile_m, item.tile_n}, static_cast<int>(numbers_.size()))
        .first->second;
  }

 private:
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, int> numbers_;
};

std::string tip_of(const TracedItem& item, bool is_gpu) {
  std::string tip = fmt::format("Worker {}\nTile ({}, {}), iterations {} to {}\n", item.worker,
                                item.tile_m, item.tile_n, item.k_begin, item.k_end - 1);
  if (item.peers > 1) {
    tip += fmt::format("Piece {} of {}: {}\n", item.peer + 1, item.peers,
                       item.wrote_tile ? "arrived last, added the others and wrote the tile"
                                       : "published its partial sum");
  }
  tip += fmt::format("From {} to {}: {}\n{} {}, adding and writing {}", seconds(item.start),
                     seconds(item.end), seconds(item.end - item.start),
                     is_gpu ? "Waiting for blocks" : "Fetching and packing",
                     seconds(item.data_seconds), seconds(item.end - item.multiplied));
  return tip;
}

}  // namespace

TraceFacts trace_facts(const Trace& trace) {
  TraceFacts facts;
  const double all = trace.seconds * static_cast<double>(trace.tracks.size());
  for (const auto& track : trace.tracks) {
    for (const TracedItem& item : track) {
      ++facts.items;
      facts.data += item.data_seconds;
      facts.multiplying += item.multiplied - item.start - item.data_seconds;
      facts.adding += item.end - item.multiplied;
    }
  }
  if (!(all > 0)) return facts;
  for (double* share : {&facts.data, &facts.multiplying, &facts.adding}) *share /= all;
  facts.idle = std::max(0.0, 1 - facts.data - facts.multiplying - facts.adding);
  return facts;
}

TimelineChart timeline_chart(const Trace& trace, const TimelineOptions& options) {
  const std::size_t tracks = std::min(trace.tracks.size(), kMostTracks);
  const std::string noun = trace.sms.empty() ? options.track : "SM";
  const double row =
      std::clamp(360.0 / static_cast<double>(std::max<std::size_t>(tracks, 1)), 7.0, 40.0);
  const double end =
      std::max({trace.seconds, options.predicted_seconds * 1.02, options.horizon, 1e-12});
  const LinearScale across{0, end, kLeft, kWidth - 16};
  const double top = options.title.empty() ? 30 : 52;
  const double bottom = top + row * static_cast<double>(tracks);
  Svg svg(kWidth, bottom + 26,
          trace.sms.empty() ? "Threads and the work items each computed, over time"
                            : "SMs and the work items each computed, over time",
          720);
  if (!options.title.empty()) svg.text({0, 14}, options.title, style("strong big"));
  svg.text({0, top - 10}, noun, style(""));
  svg.rect(kLeft, top, across.to - across.from, bottom - top, style("idle"));

  std::size_t items = 0;
  for (std::size_t t = 0; t < tracks; ++t) items += trace.tracks[t].size();
  // Of too many items, the shortest are merged with their neighbours.
  const double least = items > kMostItems
                           ? (across.to - across.from) * static_cast<double>(tracks) / kMostItems
                           : 0.8;
  std::int64_t merged = 0;
  const auto every = static_cast<std::size_t>(std::ceil(kLabelHeight / row));
  TileNumbers numbers;
  for (std::size_t t = 0; t < tracks; ++t) {
    const double y = top + row * static_cast<double>(t);
    const double gap = row >= 14 ? 4 : 1;
    if (t % every == 0) {
      const std::string label =
          std::to_string(trace.sms.empty() ? static_cast<std::int32_t>(t) : trace.sms[t]);
      svg.text({kLeft - 8, y + row / 2 + 4}, label, style("end"));
    }
    const std::vector<TracedItem>& track = trace.tracks[t];
    for (std::size_t i = 0; i < track.size();) {
      std::size_t next = i + 1;
      while (next < track.size() && across(track[next - 1].end) - across(track[i].start) < least) {
        ++next;
      }
      const TracedItem& item = track[i];
      const double x = across(item.start);
      const double width = std::max(0.5, across(track[next - 1].end) - x - 0.5);
      if (next - i > 1) {
        merged += static_cast<std::int64_t>(next - i);
        svg.rect(x, y + gap / 2, width, row - gap,
                 style_with_tip("item whole-0",
                                counted(static_cast<std::int64_t>(next - i), "work item")));
        i = next;
        continue;
      }
      const int number = item.peers > 1 ? numbers.of(item) : -1;
      const std::string name = number < 0 ? fmt::format("item whole-{}", i % 2)
                                          : fmt::format("item t{}", number % kColours);
      svg.rect(x, y + gap / 2, width, row - gap,
               style_with_tip(name, tip_of(item, !trace.sms.empty())) +
                   (number < 0 ? "" : fmt::format(" data-tile=\"{}\"", number)));
      // Packing happens throughout an item; it is drawn as one stretch at its bottom.
      const double packing = across(item.start + item.data_seconds) - x;
      if (packing > 0.6) {
        svg.rect(x, y + row - gap / 2 - row * 0.16, packing, row * 0.16, style("data-wait"));
      }
      const double adding = across(item.end) - across(item.multiplied);
      if (adding > 0.6) {
        svg.rect(across(item.multiplied), y + gap / 2, adding, row - gap, style("adding"));
      }
      i = next;
    }
  }
  for (const double tick : across.ticks(8)) {
    svg.line({across(tick), bottom}, {across(tick), bottom + 4}, style("axis"));
    svg.text({across(tick), bottom + 18}, seconds(tick), style("middle"));
  }
  if (options.predicted_seconds > 0) {
    const double x = across(options.predicted_seconds);
    svg.line({x, top - 6}, {x, bottom}, style("mark"));
    const bool flip = x > kWidth * 0.75;
    svg.text({x + (flip ? -6 : 6), top - 9}, "predicted end " + seconds(options.predicted_seconds),
             style(flip ? "ink end" : "ink"));
  }

  TimelineChart chart;
  chart.svg = svg.str();
  if (merged > 0) chart.note = counted(merged, "short work item") + " are merged. ";
  if (tracks < trace.tracks.size()) {
    chart.note +=
        fmt::format("The first {} of {} {}s are drawn.", tracks, trace.tracks.size(), noun);
  }
  const TraceFacts facts = trace_facts(trace);
  chart.words = fmt::format(
      "{} on {} in {}. Of all their time they multiplied for {}, {} for {}, added partial sums and "
      "wrote {}tiles for {}, and were idle for {} (starting, and waiting for the last one to "
      "finish). No time was spent waiting for peers: no item ever does.",
      counted(facts.items, "work item"),
      counted(static_cast<std::int64_t>(trace.tracks.size()), noun), seconds(trace.seconds),
      percent(facts.multiplying),
      trace.sms.empty() ? "fetched and packed operands" : "waited for blocks of A and B",
      percent(facts.data), trace.sms.empty() ? "shared " : "", percent(facts.adding),
      percent(facts.idle));
  return chart;
}

}  // namespace tessera::report
