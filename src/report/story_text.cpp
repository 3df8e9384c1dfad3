// The story of a plan on a terminal: short sections, one figure per line, bars where they help.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/tile_config.hpp"
#include "report/roofline.hpp"
#include "report/story.hpp"
#include "report/story_words.hpp"
#include "report/text.hpp"
#include "schedule/division.hpp"

namespace tessera::report {
namespace {

constexpr std::size_t kWrap = 92;
constexpr std::size_t kName = 30;
constexpr int kBar = 32;
constexpr std::size_t kShownLosers = 6;
constexpr std::size_t kShownRejected = 4;
constexpr std::int64_t kShownStages = 8;

class Printer {
 public:
  explicit Printer(const StoryTextStyle& style) : style_(style) {}

  void heading(const std::string& text) {
    out_ += (out_.empty() ? "" : "\n") + paint("1", text) + "\n";
  }
  void row(const std::string& name, const std::string& value, const std::string& note = "",
           bool stands_out = false) {
    std::string line = "  " + pad(name, kName) + pad(value, 17) + note;
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += (stands_out ? paint("36", line) : line) + "\n";
  }
  void paragraph(const std::string& text) {
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      if (!line.empty() && columns(line) + 1 + columns(word) > kWrap) {
        out_ += "  " + line + "\n";
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
      at = end + 1;
    }
    if (!line.empty()) out_ += "  " + line + "\n";
  }
  std::string str() const { return style_.unicode ? out_ : to_ascii(out_); }

  static std::string bar(double share) {
    const int filled = std::clamp(static_cast<int>(std::lround(share * kBar)), 0, kBar);
    std::string text;
    for (int i = 0; i < filled; ++i) text += "█";
    if (filled == 0 && share > 0) text = "▏";
    return text;
  }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return style_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  static std::string pad(const std::string& text, std::size_t width) {
    const std::size_t taken = columns(text);
    return text + std::string(taken < width ? width - taken : 2, ' ');
  }

  StoryTextStyle style_;
  std::string out_;
};

void print_plan(const Story& story, Printer& out) {
  const Plan& plan = story.plan;
  out.heading(fmt::format("{}   {}   on {}", shapes(plan.problem), types(plan.problem.types),
                          plan.machine.name));
  out.row("kernel", plan.kernel);
  out.row("tile", tile(plan.tile));
  out.row("schedule", fmt::format("{} over {}", cut(plan.schedule, partition_of(plan)),
                                  counted(plan.schedule.workers, "worker")));
  out.row("tile order", order_text(plan.schedule));
  out.row(
      "predicted", seconds(plan.cost.seconds),
      fmt::format(
          "{}, {} of the peak of these workers", flops_per_second(story.predicted_flops_per_second),
          percent(story.predicted_flops_per_second / std::max(story.peak_flops_per_second, 1.0))));
  if (story.measured_seconds) {
    out.row("measured", seconds(*story.measured_seconds),
            fmt::format("{}, {} of what was predicted",
                        flops_per_second(flops_of(plan.problem) / *story.measured_seconds),
                        percent(*story.measured_seconds / plan.cost.seconds)));
  }
  if (!plan.reason.empty()) out.row("why", plan.reason);
}

void print_intensity(const Story& story, Printer& out) {
  const Roofline roofline{.peak_flops_per_second = story.peak_flops_per_second,
                          .memory_bytes_per_second = story.memory_bytes_per_second};
  const auto row = [&](const char* name, double value) {
    out.row(name, intensity(value), "at most " + flops_per_second(attainable(roofline, value)));
  };
  out.heading("Data: how much arithmetic each byte from memory pays for");
  row("one element at a time", story.naive_intensity);
  row("one tile", story.tile_intensity);
  row("tiles sharing the cache", story.shared_intensity);
  row("every byte only once", story.bound_intensity);
  out.row("the machine's ridge", intensity(story.ridge), "from here on arithmetic is the limit",
          true);
}

void print_scratchpad(const Story& story, Printer& out) {
  const ScratchpadUse& use = story.scratchpad;
  const Machine& machine = story.plan.machine;
  const auto limit = static_cast<double>(machine.scratchpad_bytes);
  const bool is_soft = machine.kind == MachineKind::cpu;
  out.heading(fmt::format("Scratchpad: {} {} {} of {} per worker{}",
                          bytes(static_cast<double>(use.total())), is_soft ? "beside" : "of",
                          bytes(limit), scratchpad_name(machine),
                          is_soft ? ", walked in pieces that fit" : ""));
  const double share = limit > 0 ? static_cast<double>(use.stage_bytes()) / limit : 0;
  const int shown = static_cast<int>(std::min<std::int64_t>(use.stages, kShownStages));
  for (int stage = 0; stage < shown; ++stage) {
    out.row(
        use.stages == 1 ? "blocks" : fmt::format("stage {}", stage),
        bytes(static_cast<double>(use.stage_bytes())),
        fmt::format("A {} + B {}  {}", bytes(static_cast<double>(use.a_bytes)),
                    bytes(static_cast<double>(use.b_bytes)), Printer::bar(std::min(share, 1.0))));
  }
  if (use.epilogue_bytes > 0) {
    out.row("epilogue", bytes(static_cast<double>(use.epilogue_bytes)));
  }
  if (is_soft) return;
  out.row("left", bytes(std::max(0.0, limit - static_cast<double>(use.total()))));
}

void print_workers(const Story& story, Printer& out) {
  const ScheduleFacts& facts = story.facts;
  const int workers = story.plan.schedule.workers;
  out.heading("Workers");
  out.row("waves of whole tiles", count(facts.waves),
          fmt::format("the last one would give {} of {} workers a tile", count(facts.last_wave),
                      workers));
  out.row("busiest worker", counted(std::llround(facts.longest), "iteration"),
          fmt::format("workers busy {} of the time", percent(facts.busy_share)));
  if (facts.shared_tiles > 0) {
    const bool meets = story.fix_up == FixUp::meeting;
    out.row("shared tiles", count(facts.shared_tiles),
            fmt::format("by up to {} workers each{}; {} {}", count(facts.most_peers),
                        meets ? ", who meet" : "",
                        counted(std::llround(story.handed_over), "partial sum"),
                        meets ? "published" : "handed over"));
  }
  for (const std::string& words : words_on_schedule(story)) out.paragraph(words);
  if (story.cuts.size() < 2) return;
  out.heading("The same tiles, divided in other ways");
  for (const CutStory& one : story.cuts) {
    out.row(one.name + (one.is_chosen ? " (chosen)" : ""), seconds(one.seconds),
            fmt::format("busy {}, at most {} to a tile", percent(one.facts.busy_share),
                        counted(one.facts.most_peers, "contributor")),
            one.is_chosen);
  }
}

void print_orders(const Story& story, Printer& out) {
  if (story.orders.empty()) return;
  out.heading(fmt::format("Tile order: blocks that the first wave ({}) fetches",
                          counted(story.first_wave, "tile")));
  for (const OrderStory& one : story.orders) {
    out.row(one.name + (one.is_chosen ? " (chosen)" : ""), count(one.blocks.total()),
            fmt::format("A {} + B {}", count(one.blocks.a), count(one.blocks.b)), one.is_chosen);
  }
}

void print_time(const Story& story, Printer& out) {
  const Cost& cost = story.plan.cost;
  out.heading("Time: " + seconds(cost.seconds) + ", as the sum of");
  for (const CostTerm& term : cost.terms) {
    const double share = cost.seconds > 0 ? term.seconds / cost.seconds : 0;
    out.row(term.name, seconds(term.seconds),
            fmt::format("{:>6}  {}", percent(share), Printer::bar(share)));
  }
}

void print_others(const Story& story, Printer& out) {
  if (story.losers.empty() && story.rejected.empty()) return;
  out.heading("What lost");
  const std::size_t shown = std::min(story.losers.size(), kShownLosers);
  for (std::size_t i = 0; i < shown; ++i) {
    const LoserStory& loser = story.losers[i];
    out.row(loser.candidate.kernel, seconds(loser.candidate.cost->seconds),
            fmt::format("{}  {}, {}: {}", times(loser.times_as_long), tile(loser.candidate.tile),
                        loser.cut, loser.why));
  }
  if (story.losers.size() > shown) {
    out.row("", "", fmt::format("and {} more that are slower", story.losers.size() - shown));
  }
  const std::size_t rejected = std::min(story.rejected.size(), kShownRejected);
  for (std::size_t i = 0; i < rejected; ++i) {
    out.row(story.rejected[i].kernel, "rejected", story.rejected[i].rejection);
  }
  if (story.rejected.size() > rejected) {
    out.row("", "",
            fmt::format("and {} more rejected; 'tessera plan --all' lists them",
                        story.rejected.size() - rejected));
  }
}

}  // namespace

std::string story_text(const Story& story, const StoryTextStyle& style) {
  Printer out(style);
  print_plan(story, out);
  print_intensity(story, out);
  print_scratchpad(story, out);
  print_workers(story, out);
  print_orders(story, out);
  print_time(story, out);
  print_others(story, out);
  return out.str();
}

}  // namespace tessera::report
