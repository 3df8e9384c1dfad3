#include "report/schedule_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/axis.hpp"
#include "report/schedule_rows.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

constexpr std::size_t kMostItemsPerRow = 4096;
constexpr std::size_t kMostRects = 3000;
constexpr std::size_t kMostHandOvers = 1500;
constexpr int kColours = 8;
constexpr int kMeetingsBeside = 8;  // of so many tiles, beyond the longest row
constexpr double kBetweenMeetings = 5;
constexpr double kLeastSeen = 1.5;  // pixels; narrower items are merged
constexpr double kLeastRow = 3.5;   // in lower rows lines would only darken the picture

struct Frame {
  double left, top, width, row;
  LinearScale across;

  double y(std::size_t index) const { return top + row * static_cast<double>(index); }
  double middle(std::size_t index) const { return y(index) + row / 2; }
};

std::string tip_of(std::int32_t worker, std::size_t index, const PlacedItem& placed,
                   const IterationSpace& space) {
  const WorkItem& item = placed.item;
  std::string tip = fmt::format("Worker {}, work item {}\nTile ({}, {})", worker, index + 1,
                                item.tile_m, item.tile_n);
  if (space.group_count > 1) tip += fmt::format(" of product {}", item.group);
  const std::int32_t all = space.groups[item.group].iterations;
  tip += fmt::format("\nIterations {} to {} of {}", item.k_begin, item.k_end - 1, all);
  if (item.is_whole_tile()) return tip + "\nThe whole tile: nothing to share";
  return tip + fmt::format("\nPiece {} of {} of this tile", item.peer + 1, item.peers);
}

class Drawing {
 public:
  Drawing(const IterationSpace& space, const ScheduleRows& rows, const Frame& frame,
          const ScheduleChartOptions& options, Svg& svg)
      : space_(space), rows_(rows), frame_(frame), options_(options), svg_(svg) {
    std::size_t items = 0;
    for (const ScheduleRow& row : rows.rows) items += row.items.size();
    const double per_row = static_cast<double>(kMostRects) /
                           std::max<double>(1, static_cast<double>(rows.rows.size()));
    least_width_ = items > kMostRects ? std::max(kLeastSeen, frame.width / per_row) : kLeastSeen;
  }

  void items() {
    for (std::size_t r = 0; r < rows_.rows.size(); ++r) row(r);
  }

  void hand_overs() {
    if (frame_.row < kLeastRow) return;
    std::size_t drawn = 0;
    for (const HandOver& hand_over : rows_.hand_overs) {
      if (drawn++ == kMostHandOvers) {
        left_out_ = rows_.hand_overs.size() - kMostHandOvers;
        break;
      }
      arrow(hand_over);
    }
  }

  void meetings() {
    if (frame_.row < kLeastRow) return;
    for (const Meeting& one : rows_.meetings) meeting(one);
  }

  std::string note() const {
    std::string text;
    if (merged_ > 0) {
      text += fmt::format("{} narrower than a pixel or two are merged. ",
                          counted(merged_, "work item"));
    }
    if (left_out_ > 0) {
      text += fmt::format("{} are not drawn. ",
                          counted(static_cast<std::int64_t>(left_out_), "further hand-over"));
    }
    if (!text.empty()) text.pop_back();
    return text;
  }

 private:
  void row(std::size_t r) {
    const ScheduleRow& row = rows_.rows[r];
    for (std::size_t i = 0; i < row.items.size();) {
      std::size_t end = i + 1;
      while (end < row.items.size() &&
             frame_.across(row.items[end - 1].end) - frame_.across(row.items[i].begin) <
                 least_width_ &&
             row.items[end].end - row.items[end].begin > 0) {
        ++end;
      }
      if (end - i == 1) {
        item(r, i);
      } else {
        merged(r, i, end);
      }
      i = end;
    }
    if (row.more_tiles > 0) {
      rectangle(r, row.items.back().end, row.end, "item whole-0",
                fmt::format("Worker {}\n{} more", row.worker, counted(row.more_tiles, "tile")), "");
    }
  }

  void item(std::size_t r, std::size_t i) {
    const ScheduleRow& row = rows_.rows[r];
    const PlacedItem& placed = row.items[i];
    const bool whole = placed.item.is_whole_tile();
    const std::string name = whole ? fmt::format("item whole-{}", i % 2)
                                   : fmt::format("item t{}", placed.tile % kColours);
    rectangle(r, placed.begin, placed.end, name, tip_of(row.worker, i, placed, space_),
              whole ? "" : fmt::format(" data-tile=\"{}\"", placed.tile));
    if (options_.names_items) label(r, placed, whole);
  }

  void merged(std::size_t r, std::size_t begin, std::size_t end) {
    const ScheduleRow& row = rows_.rows[r];
    const auto items = static_cast<std::int64_t>(end - begin);
    merged_ += items;
    rectangle(r, row.items[begin].begin, row.items[end - 1].end,
              fmt::format("item whole-{}", begin % 2),
              fmt::format("Worker {}, work items {} to {}", row.worker, begin + 1, end), "");
  }

  void rectangle(std::size_t r, double begin, double end, const std::string& name,
                 const std::string& tip, const std::string& more) {
    const double x = frame_.across(begin);
    const double gap = frame_.row >= 24 ? 8 : frame_.row >= 12 ? 2 : frame_.row >= 5 ? 0.8 : 0.3;
    const double width = std::max(0.4, frame_.across(end) - x - 0.6);
    svg_.rect(x, frame_.y(r) + gap / 2, width, frame_.row - gap,
              (options_.is_small ? style(name) : style_with_tip(name, tip)) + more);
  }

  void label(std::size_t r, const PlacedItem& placed, bool whole) {
    const WorkItem& item = placed.item;
    const double width = frame_.across(placed.end) - frame_.across(placed.begin);
    std::string text = fmt::format("tile ({}, {}), iterations {}–{}", item.tile_m, item.tile_n,
                                   item.k_begin, item.k_end - 1);
    if (width < 6.2 * static_cast<double>(columns(text))) {
      text = fmt::format("({}, {}) {}–{}", item.tile_m, item.tile_n, item.k_begin, item.k_end - 1);
    }
    if (width < 6.2 * static_cast<double>(columns(text))) return;
    svg_.text({frame_.across(placed.begin) + 7, frame_.middle(r) + 4}, text,
              style(whole ? "on-whole" : "on"));
  }

  // Between neighbours the line runs along their border, so that it hides no item.
  void arrow(const HandOver& hand_over) {
    const double x1 = frame_.across(hand_over.published);
    const double x2 = frame_.across(hand_over.added);
    const double y1 = frame_.middle(hand_over.from_row);
    const double y2 = frame_.middle(hand_over.to_row);
    const double down = hand_over.to_row > hand_over.from_row ? 1 : -1;
    const double border = y1 + down * frame_.row / 2;
    const double reach = std::min(frame_.row * 0.3, 5.0);
    const std::string tile = fmt::format(" data-tile=\"{}\"", hand_over.tile);
    const double tip_y = y2 - down * (frame_.row / 2 - reach);
    svg_.path(fmt::format("M{} {}V{}H{}V{}", coordinate(x1 - 0.5), coordinate(y1),
                          coordinate(border), coordinate(x2 - 1.5), coordinate(tip_y)),
              style(frame_.row >= 24 ? "hand-over thick" : "hand-over") + tile);
    const double half = std::clamp(frame_.row * 0.18, 1.0, 4.0);
    svg_.path(fmt::format("M{} {}l{} {}h{}z", coordinate(x2 - 1.5), coordinate(tip_y + down * half),
                          coordinate(-half), coordinate(-down * 2 * half), coordinate(2 * half)),
              style("hand-over-end") + tile);
    svg_.circle({x1 - 0.5, y1}, std::clamp(frame_.row * 0.14, 0.8, 3.0),
                style("hand-over-end") + tile);
  }

  // The tiles' lines stand side by side, for their meetings are complete at about the same time.
  void meeting(const Meeting& meeting) {
    const double x = frame_.across(meeting.complete) +
                     kBetweenMeetings * static_cast<double>(1 + meeting.tile % kMeetingsBeside);
    const std::string tile = fmt::format(" data-tile=\"{}\"", meeting.tile);
    std::string line;
    for (const Meeting::Peer& peer : meeting.peers) {
      const double y = frame_.middle(peer.row);
      line += fmt::format("M{} {}H{}", coordinate(frame_.across(peer.published)), coordinate(y),
                          coordinate(x));
      svg_.circle({x, y}, std::clamp(frame_.row * 0.14, 1.2, 3.0), style("hand-over-end") + tile);
    }
    line += fmt::format("V{}", coordinate(frame_.middle(meeting.peers.front().row)));
    svg_.path(line, style(frame_.row >= 24 ? "hand-over thick" : "hand-over") + tile);
  }

  const IterationSpace& space_;
  const ScheduleRows& rows_;
  const Frame& frame_;
  const ScheduleChartOptions& options_;
  Svg& svg_;
  double least_width_ = kLeastSeen;
  std::int64_t merged_ = 0;
  std::size_t left_out_ = 0;
};

void draw_frame(const ScheduleRows& rows, const Frame& frame, const ScheduleChartOptions& options,
                Svg& svg) {
  const double bottom = frame.y(rows.rows.size());
  const double right = frame.left + frame.width;
  svg.rect(frame.left, frame.top, frame.width, bottom - frame.top, style("idle"));
  for (const double tick : frame.across.ticks(options.is_small ? 3 : 8)) {
    if (tick > frame.across.high || tick != std::floor(tick)) continue;
    const double x = frame.across(tick);
    svg.line({x, bottom}, {x, bottom + 4}, style("axis"));
    svg.text({x, bottom + 17}, count(std::llround(tick)), style("middle"));
  }
  if (options.is_small) return;
  svg.text({right, bottom + 34}, "MAC iterations done", style("end"));
  const std::size_t many = rows.rows.size();
  const auto step =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(14 / frame.row) > 5   ? 10
                                                        : std::ceil(14 / frame.row) > 1 ? 5
                                                                                        : 1));
  for (std::size_t r = 0; r < many; r += step) {
    svg.text({frame.left - 7, frame.middle(r) + 4}, count(rows.rows[r].worker), style("end"));
  }
  svg.text({0, frame.top - 9}, "worker", style(""));
}

}  // namespace

ScheduleChart schedule_chart(const IterationSpace& space, const Partition& partition, FixUp fix_up,
                             const ScheduleChartOptions& options) {
  const std::int32_t shown = std::min(partition.workers, options.most_workers);
  const ScheduleRows rows = schedule_rows(space, partition, fix_up, 0, shown, kMostItemsPerRow);
  double longest = options.horizon;
  for (const ScheduleRow& row : rows.rows) longest = std::max(longest, row.end);
  longest = std::max(longest, 1.0);

  const double header = (options.title.empty() ? 0 : 20) + (options.subtitle.empty() ? 0 : 18);
  const bool brackets = !options.is_small && partition.stream_tiles > 0;
  Frame frame{};
  frame.left = options.is_small ? 5 : 46;
  frame.top = header + (options.is_small ? 6 : 30);
  frame.width = options.width - frame.left - (options.is_small ? 12 : 8);
  frame.row = std::clamp(options.height / std::max(shown, 1), 0.8, 34.0);
  const double beyond =
      rows.meetings.empty() || frame.row < kLeastRow
          ? 0
          : kBetweenMeetings * static_cast<double>(1 + std::min<std::size_t>(rows.meetings.size(),
                                                                             kMeetingsBeside));
  frame.across = {0, longest, frame.left, frame.left + frame.width - beyond};

  const double bottom = frame.y(rows.rows.size());
  Svg svg(options.width, bottom + (options.is_small ? 22 : 40),
          fmt::format("{} workers and the MAC iterations each of them does", partition.workers),
          options.least_width);
  if (!options.title.empty()) svg.text({0, 14}, options.title, style("strong big"));
  if (!options.subtitle.empty()) svg.text({0, 33}, options.subtitle, style(""));
  draw_frame(rows, frame, options, svg);
  Drawing drawing(space, rows, frame, options, svg);
  drawing.items();
  drawing.hand_overs();
  drawing.meetings();
  if (brackets && rows.stream_end > 0) {
    const double x = frame.across(rows.stream_end);
    const bool mixed = partition.stream_tiles < space.tiles;
    if (mixed) {
      svg.line({x, frame.top - 8}, {x, bottom}, style("mark"));
      svg.text({x + 6, frame.top - 9}, "then whole tiles", style("ink"));
    }
    const double least = 50 + 6.5 * 30;
    if (!mixed || x - frame.left > least) {
      svg.text({mixed ? x - 6 : frame.left + frame.width, frame.top - 9},
               "stream-K: equal runs of iterations", style("ink end"));
    }
  }

  std::string note = drawing.note();
  if (shown < partition.workers) {
    note = fmt::format("The first {} of {} workers are drawn; the others' rows look alike. ", shown,
                       partition.workers) +
           note;
  }
  return {svg.str(), note};
}

}  // namespace tessera::report
