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

// What a track is: "SM", "thread".
std::string noun_of(const Trace& trace, const TimelineOptions& options) {
  return trace.sms.empty() ? options.track : "SM";
}

// The parts of a timeline: where times and tracks lie, and how its items are told from each other.
class Timeline {
 public:
  Timeline(const Trace& trace, const TimelineOptions& options)
      : trace_(trace),
        options_(options),
        is_gpu_(!trace.sms.empty()),
        tracks_(std::min(trace.tracks.size(), kMostTracks)),
        row_(std::clamp(360.0 / static_cast<double>(std::max<std::size_t>(tracks_, 1)), 7.0, 40.0)),
        across_{0,
                std::max({trace.seconds, options.predicted_seconds * 1.02, options.horizon, 1e-12}),
                kLeft, kWidth - 16},
        top_(options.title.empty() ? 30 : 52),
        bottom_(top_ + row_ * static_cast<double>(tracks_)),
        svg_(kWidth, bottom_ + 26,
             is_gpu_ ? "SMs and the work items each computed, over time"
                     : "Threads and the work items each computed, over time",
             720) {
    std::size_t items = 0;
    for (std::size_t t = 0; t < tracks_; ++t) items += trace.tracks[t].size();
    if (items > kMostItems) {
      least_ = (across_.to - across_.from) * static_cast<double>(tracks_) / kMostItems;
    }
  }

  void draw() {
    if (!options_.title.empty()) svg_.text({0, 14}, options_.title, style("strong big"));
    svg_.text({0, top_ - 10}, noun(), style(""));
    svg_.rect(kLeft, top_, across_.to - across_.from, bottom_ - top_, style("idle"));
    const auto every = static_cast<std::size_t>(std::ceil(kLabelHeight / row_));
    for (std::size_t t = 0; t < tracks_; ++t) {
      if (t % every == 0) {
        const std::string label =
            std::to_string(is_gpu_ ? trace_.sms[t] : static_cast<std::int32_t>(t));
        svg_.text({kLeft - 8, y_of(t) + row_ / 2 + 4}, label, style("end"));
      }
      draw_track(t);
    }
    for (const double tick : across_.ticks(8)) {
      svg_.line({across_(tick), bottom_}, {across_(tick), bottom_ + 4}, style("axis"));
      svg_.text({across_(tick), bottom_ + 18}, seconds(tick), style("middle"));
    }
    if (options_.predicted_seconds > 0) draw_prediction();
  }

  std::string svg() const { return svg_.str(); }

  // What the picture leaves out.
  std::string note() const {
    std::string note;
    if (merged_ > 0) note = counted(merged_, "short work item") + " are merged. ";
    if (tracks_ < trace_.tracks.size()) {
      note +=
          fmt::format("The first {} of {} {}s are drawn.", tracks_, trace_.tracks.size(), noun());
    }
    return note;
  }

 private:
  std::string noun() const { return noun_of(trace_, options_); }
  double y_of(std::size_t t) const { return top_ + row_ * static_cast<double>(t); }
  double gap() const { return row_ >= 14 ? 4 : 1; }

  // Of too many items, the shortest are merged with their neighbours.
  void draw_track(std::size_t t) {
    const std::vector<TracedItem>& track = trace_.tracks[t];
    for (std::size_t i = 0; i < track.size();) {
      std::size_t next = i + 1;
      while (next < track.size() &&
             across_(track[next - 1].end) - across_(track[i].start) < least_) {
        ++next;
      }
      const double x = across_(track[i].start);
      const double width = std::max(0.5, across_(track[next - 1].end) - x - 0.5);
      if (next - i > 1) {
        const auto count = static_cast<std::int64_t>(next - i);
        merged_ += count;
        svg_.rect(x, y_of(t) + gap() / 2, width, row_ - gap(),
                  style_with_tip("item whole-0", counted(count, "work item")));
      } else {
        draw_item(track[i], i % 2, x, y_of(t), width);
      }
      i = next;
    }
  }

  void draw_item(const TracedItem& item, std::size_t shade, double x, double y, double width) {
    const int number = item.peers > 1 ? numbers_.of(item) : -1;
    const std::string name = number < 0 ? fmt::format("item whole-{}", shade)
                                        : fmt::format("item t{}", number % kColours);
    svg_.rect(x, y + gap() / 2, width, row_ - gap(),
              style_with_tip(name, tip_of(item, is_gpu_)) +
                  (number < 0 ? "" : fmt::format(" data-tile=\"{}\"", number)));
    // Packing happens throughout an item; it is drawn as one stretch at its bottom.
    const double packing = across_(item.start + item.data_seconds) - x;
    if (packing > 0.6) {
      svg_.rect(x, y + row_ - gap() / 2 - row_ * 0.16, packing, row_ * 0.16, style("data-wait"));
    }
    const double adding = across_(item.end) - across_(item.multiplied);
    if (adding > 0.6) {
      svg_.rect(across_(item.multiplied), y + gap() / 2, adding, row_ - gap(), style("adding"));
    }
  }

  void draw_prediction() {
    const double x = across_(options_.predicted_seconds);
    svg_.line({x, top_ - 6}, {x, bottom_}, style("mark"));
    const bool flip = x > kWidth * 0.75;
    svg_.text({x + (flip ? -6 : 6), top_ - 9},
              "predicted end " + seconds(options_.predicted_seconds),
              style(flip ? "ink end" : "ink"));
  }

  const Trace& trace_;
  const TimelineOptions& options_;
  bool is_gpu_;
  std::size_t tracks_;
  double row_;  // a track's height
  LinearScale across_;
  double top_;
  double bottom_;
  Svg svg_;
  double least_ = 0.8;  // an item's width, below which it is merged
  std::int64_t merged_ = 0;
  TileNumbers numbers_;
};

std::string words_of(const Trace& trace, const TimelineOptions& options) {
  const bool is_gpu = !trace.sms.empty();
  const TraceFacts facts = trace_facts(trace);
  return fmt::format(
      "{}{} on {} in {}. Of all their time they multiplied for {}, {} for {}, added partial sums "
      "and wrote {}tiles for {}, and were idle for {} (starting, and waiting for the last one to "
      "finish). No time was spent waiting for peers: no item ever does.",
      counted(facts.items, "work item"),
      facts.taken_over == 0
          ? ""
          : fmt::format(" (of which {} took over from another thread's tile)", facts.taken_over),
      counted(static_cast<std::int64_t>(trace.tracks.size()), noun_of(trace, options)),
      seconds(trace.seconds), percent(facts.multiplying),
      is_gpu ? "waited for blocks of A and B" : "fetched and packed operands", percent(facts.data),
      is_gpu ? "" : "shared ", percent(facts.adding), percent(facts.idle));
}

}  // namespace

TraceFacts trace_facts(const Trace& trace) {
  TraceFacts facts;
  const double all = trace.seconds * static_cast<double>(trace.tracks.size());
  for (const auto& track : trace.tracks) {
    for (const TracedItem& item : track) {
      ++facts.items;
      facts.taken_over +=
          static_cast<std::int64_t>(trace.sms.empty() && item.part > 0 && item.peers == 1);
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
  Timeline timeline(trace, options);
  timeline.draw();
  return {timeline.svg(), timeline.note(), words_of(trace, options)};
}

}  // namespace tessera::report
