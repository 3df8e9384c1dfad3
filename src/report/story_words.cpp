#include "report/story_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plan/decompose.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

std::string idle_share(const ScheduleFacts& facts) {
  return percent(1 - facts.busy_share);
}

std::string words_on_waves(const Story& story) {
  const Plan& plan = story.plan;
  const int workers = plan.schedule.workers;
  const ScheduleFacts& facts = story.facts;
  const auto whole = std::find_if(story.cuts.begin(), story.cuts.end(), [](const CutStory& one) {
    return one.schedule.kind == ScheduleKind::data_parallel;
  });
  std::string text = fmt::format("{} on {}: ", counted(plan.decomposition.tiles, "tile"),
                                 counted(workers, "worker"));
  if (facts.waves <= 1) {
    text += facts.last_wave == workers
                ? "one wave, in which every worker has a tile."
                : fmt::format(
                      "less than one wave. Dealt out whole, {} of {} workers would have a "
                      "tile and the others nothing to do.",
                      facts.last_wave, workers);
    return text;
  }
  if (facts.last_wave == workers) {
    return text +
           fmt::format("{} full waves, so that whole tiles keep every worker busy.", facts.waves);
  }
  text += fmt::format(
      "dealt out whole they take {} waves, and in the last one {} of {} workers {} a tile while "
      "the "
      "others have nothing to do.",
      facts.waves, facts.last_wave, workers, facts.last_wave == 1 ? "has" : "have");
  if (whole != story.cuts.end()) {
    text += fmt::format(" That leaves {} of all worker time unused.", idle_share(whole->facts));
  }
  return text;
}

// What holds this product up, seen from the ridge.
std::string pace(const Story& story) {
  constexpr double kNoticeable = 0.05;
  for (const CostTerm& term : story.plan.cost.terms) {
    if (term.name == "memory" && term.seconds > kNoticeable * story.plan.cost.seconds) {
      return "this product waits for memory";
    }
  }
  return story.shared_intensity < story.ridge
             ? "this product stays left of it, but memory keeps up with the rate of its kernel"
             : "past it the multipliers set the pace, not the memory";
}

std::string words_on_stream(const Story& story) {
  const Decomposition& parts = story.plan.decomposition;
  const std::int64_t each = parts.iterations_per_worker;
  const std::string run = parts.leftover_iterations > 0
                              ? fmt::format("{} or {}", count(each), count(each + 1))
                              : count(each);
  return fmt::format(
      "{} laid end to end as one line of {} MAC iterations, and the line is cut into {} runs of "
      "{}, "
      "wherever tiles begin and end. This is stream-K: the work is divided by iterations, not by "
      "tiles.",
      parts.stream_k_tiles == parts.tiles
          ? "All tiles are"
          : fmt::format("So {} of the {} tiles are", count(parts.stream_k_tiles),
                        count(parts.tiles)),
      count(parts.stream_k_iterations), story.plan.schedule.workers, run);
}

std::string words_on_claims(const Story& story) {
  if (story.whole_claims == 0) {
    return fmt::format(
        "Each tile comes in up to {} nearly equal pieces. Tiles differ in cost, so nobody knows "
        "beforehand who will be free when: workers claim the pieces one by one.",
        story.facts.most_peers);
  }
  const std::int64_t in_pieces = story.plan.decomposition.tiles - story.whole_claims;
  std::string text =
      "Tiles differ in cost, so nobody knows beforehand who will be free when: workers claim them "
      "one by one.";
  if (in_pieces > 0) {
    text +=
        fmt::format(" The last {} come in {} pieces each, so that all end at nearly the same time.",
                    counted(in_pieces, "tile"), story.facts.most_peers);
  }
  return text;
}

// Where the first runs of the line begin and end, tile by tile.
std::string words_on_first_wave(const Story& story) {
  const Decomposition& parts = story.plan.decomposition;
  const std::int64_t tile = parts.iterations_per_tile;
  const std::int64_t run = parts.iterations_per_worker + (parts.leftover_iterations > 0 ? 1 : 0);
  if (story.plan.problem.groups.size() > 1 || story.plan.schedule.workers < 2 || run == tile)
    return "";
  if (run < tile) {
    return fmt::format(
        "In the first wave worker 0 takes the first {} of the first tile's {} iterations, worker 1 "
        "begins where it will stop, and so on down the line.",
        count(run), count(tile));
  }
  if (run >= 2 * tile) return "";
  return fmt::format(
      "In the first wave worker 0 takes all {0} iterations of the first tile and then the first "
      "{1} "
      "of the second. Worker 1 begins {1} iterations into the second, finishes it, and goes on "
      "into "
      "the third; worker 2 begins there, and so on: each run begins where the one before will "
      "stop.",
      count(tile), count(run - tile));
}

std::string words_on_two_tiles(const Story& story) {
  const auto one = std::find_if(story.cuts.begin(), story.cuts.end(), [](const CutStory& two) {
    return two.schedule.kind == ScheduleKind::hybrid && !two.schedule.two_tile;
  });
  const Decomposition& parts = story.plan.decomposition;
  const int workers = story.plan.schedule.workers;
  if (story.plan.schedule.kind != ScheduleKind::hybrid || one == story.cuts.end() ||
      one->is_chosen || parts.stream_k_tiles <= workers) {
    return "";
  }
  return fmt::format(
      "Why two tiles' worth of work for each worker, and not only the {} left over? Cut alone, "
      "each "
      "of those would be shared by up to {} workers, and all their partial sums would have to be "
      "added. With one full wave more in the line a run is longer than a tile, and no tile has "
      "more "
      "than {} contributors.",
      counted(parts.stream_k_tiles - workers, "tile"), one->facts.most_peers,
      story.facts.most_peers);
}

std::string words_on_meetings(const Story& story) {
  const double wait = story.mean_wait_iterations;
  return fmt::format(
      "The pieces of a tile are done at about the same time, and nobody has anything else to do. "
      "So its workers meet: each publishes its partial sum and stays until all have come{}; then "
      "each adds up a share of the tile, over the partial sums of all, and writes it. Nobody "
      "depends on one who stays: whoever has stayed for too long leaves, and the last to come does "
      "everything. (The predicted time is that of additions level after level.)",
      wait > 0 ? fmt::format(", here for {} iterations ({}) on average", figure(wait),
                             seconds(wait * story.iteration_seconds))
               : "");
}

std::string words_on_fix_up(const Story& story) {
  if (story.fix_up == FixUp::meeting) return words_on_meetings(story);
  return fmt::format(
      "Nobody waits for a peer. A worker whose piece of a tile is done publishes its partial sum "
      "and "
      "goes on with its next item; whoever is last to finish a piece of that tile adds what the "
      "others published and writes the tile. Here {} are handed over, and one lies ready for {} "
      "iterations ({}) on average until it is added: the sums wait, not the workers.",
      counted(std::llround(story.handed_over), "partial sum"), figure(story.mean_wait_iterations),
      seconds(story.mean_wait_iterations * story.iteration_seconds));
}

}  // namespace

std::string scratchpad_name(const Machine& machine) {
  return machine.kind == MachineKind::gpu ? "shared memory" : "L2 cache";
}

std::string words_on_intensity(const Story& story) {
  const Plan& plan = story.plan;
  const std::string uses =
      plan.tile.block_m == plan.tile.block_n
          ? fmt::format("{} times", plan.tile.block_m)
          : fmt::format("{} or {} times", plan.tile.block_n, plan.tile.block_m);
  std::string text = fmt::format(
      "Computed one element of C at a time, every multiply-add reads two fresh elements: {}. A "
      "tile "
      "of {} × {} uses each element that it has fetched {}: {}. ",
      intensity(story.naive_intensity), plan.tile.block_m, plan.tile.block_n, uses,
      intensity(story.tile_intensity));
  if (story.shared_intensity > story.tile_intensity * 1.05) {
    text += fmt::format(
        "Tiles that are computed at the same time share blocks in the cache, so that memory has to "
        "deliver still less: {}. ",
        intensity(story.shared_intensity));
  }
  return text + fmt::format("The ridge lies at {}: {}.", intensity(story.ridge), pace(story));
}

std::vector<std::string> words_on_schedule(const Story& story) {
  const Plan& plan = story.plan;
  const Decomposition& parts = plan.decomposition;
  std::vector<std::string> words;
  if (parts.tiles == 0) return {"There is nothing to compute."};
  words.push_back(words_on_waves(story));
  if (story.claims_units) {
    words.push_back(words_on_claims(story));
    if (story.handed_over > 0) words.push_back(words_on_fix_up(story));
    return words;
  }
  std::string first_wave;
  switch (plan.schedule.kind) {
    case ScheduleKind::data_parallel:
      words.push_back(fmt::format(
          "The plan keeps tiles whole: worker w takes the tiles w, w + {0}, w + {1} and so on.",
          plan.schedule.workers, 2 * plan.schedule.workers));
      return words;
    case ScheduleKind::split_k:
      words.push_back(fmt::format(
          "Each tile's {} iterations are cut into {} nearly equal pieces, and the pieces "
          "are dealt out in turn.",
          count(parts.iterations_per_tile), plan.schedule.splits));
      break;
    case ScheduleKind::stream_k:
    case ScheduleKind::hybrid:
      if (parts.stream_k_tiles > 0) words.push_back(words_on_stream(story));
      first_wave = words_on_first_wave(story);
      break;
  }
  if (parts.stream_k_tiles > 0 && parts.data_parallel_tiles > 0) {
    words.back() += fmt::format(
        " The other {} stay whole, {} for each worker. All workers finish within about one "
        "iteration "
        "of each other.",
        count(parts.data_parallel_tiles),
        counted(parts.data_parallel_tiles / plan.schedule.workers, "tile"));
  }
  if (!first_wave.empty()) words.push_back(first_wave);
  const std::string why = words_on_two_tiles(story);
  if (!why.empty()) words.push_back(why);
  if (story.handed_over > 0) words.push_back(words_on_fix_up(story));
  return words;
}

std::optional<Story> cut_instead(const Story& story) {
  // Claimed tiles are not what stream-K would cut.
  if (story.plan.schedule.kind != ScheduleKind::data_parallel || story.claims_units) {
    return std::nullopt;
  }
  // Of the ways told, the last that is cut: with two tiles' work for each worker where that exists.
  const auto found = std::find_if(story.cuts.rbegin(), story.cuts.rend(), [](const CutStory& one) {
    return one.facts.most_peers > 1 && one.schedule.kind == ScheduleKind::hybrid;
  });
  if (found == story.cuts.rend() || found->facts.busy_share <= story.facts.busy_share) {
    return std::nullopt;
  }
  Plan plan = story.plan;
  plan.schedule = found->schedule;
  plan.decomposition = decompose(plan);
  plan.cost.seconds = found->seconds;
  plan.others.clear();
  return tell(plan);
}

std::string words_on_cut_instead(const Story& story, const Story& cut) {
  return fmt::format(
      "Whole tiles leave {} of all worker time unused; cut tiles would leave {}. The planner keeps "
      "them whole all the same: it predicts {} against {}, because cutting costs something, too. "
      "This is how it would go.",
      idle_share(story.facts), idle_share(cut.facts), seconds(story.plan.cost.seconds),
      seconds(cut.plan.cost.seconds));
}

std::string words_on_order(const Story& story) {
  if (story.orders.empty()) return "There are no tiles.";
  const auto chosen = std::find_if(story.orders.begin(), story.orders.end(),
                                   [](const OrderStory& one) { return one.is_chosen; });
  const OrderStory& linear = story.orders.front();
  std::string text = fmt::format(
      "The first wave is {} computed at the same time. Tiles in one row need the same blocks of A, "
      "tiles in one column the same blocks of B, and a block that several tiles need is fetched "
      "from "
      "memory once.",
      counted(story.first_wave, "tile"));
  if (chosen == story.orders.end()) return text;
  text += fmt::format(" In {} order the first wave needs {} blocks", chosen->name,
                      count(chosen->blocks.total()));
  if (chosen->order.order != TileOrder::linear) {
    text += fmt::format("; row by row it would be {}", count(linear.blocks.total()));
  }
  return text + ".";
}

std::string words_on_scratchpad(const Story& story) {
  const Machine& machine = story.plan.machine;
  const TileConfig& tile = story.plan.tile;
  const auto use = static_cast<double>(story.scratchpad.total());
  const auto limit = static_cast<double>(machine.scratchpad_bytes);
  if (machine.kind == MachineKind::cpu) {
    return fmt::format(
        "A worker keeps one {} × {} block of A and one {} × {} block of B at hand: {} together, "
        "beside "
        "an {} of {}. A CPU's limit is soft: what does not fit is fetched again from the next "
        "cache. "
        "Larger blocks are packed and walked in pieces that fit.",
        tile.block_m, tile.block_k, tile.block_k, tile.block_n,
        bytes(static_cast<double>(story.scratchpad.stage_bytes())), scratchpad_name(machine),
        bytes(limit));
  }
  return fmt::format(
      "Each of {} holds a {} × {} block of A and a {} × {} block of B; with what the epilogue "
      "needs "
      "that is {} of the {} of {} that a worker has ({}). The block's depth along k does not raise "
      "the "
      "intensity; it only costs room.",
      counted(tile.stages, "stage"), tile.block_m / tile.cluster_m, tile.block_k, tile.block_k,
      tile.block_n / tile.cluster_n, bytes(use), bytes(limit), scratchpad_name(machine),
      percent(use / limit));
}

std::string words_on_pipeline(const Story& story) {
  const int stages = story.plan.tile.stages;
  const int iterations = 64;
  const double serial = pipeline_events(story.pipeline, 1, iterations).back().done;
  const double piped = pipeline_events(story.pipeline, stages, iterations).back().done;
  if (story.plan.machine.kind == MachineKind::cpu) {
    return fmt::format(
        "A CPU's own prefetchers fill its caches while it multiplies, so there is no pipeline to "
        "show: a worker packs a block ({}), multiplies it ({}), and goes on.",
        seconds(story.pipeline.transfer), seconds(story.pipeline.multiply));
  }
  return fmt::format(
      "With {} the next blocks are on their way while one is multiplied. One stage at a time, "
      "every "
      "load would stand in the way of the multiplier: the same iterations would take {} as long. "
      "(Loads are drawn with an assumed latency of {}; the cost model does not use it.)",
      counted(stages, "stage"), times(serial / piped), seconds(story.pipeline.latency));
}

std::string words_on_term(const std::string& name) {
  static const std::array<std::pair<const char*, const char*>, 8> kWords{{
      {"launch", "from the call to the first useful instruction"},
      {"copying", "operands to places where the kernel can read them"},
      {"arithmetic", "multiplying, on an average worker"},
      {"packing", "rearranging operands for the multiplier"},
      {"items", "starting and finishing work items, and each iteration's overhead"},
      {"imbalance", "the busiest worker beyond the average one"},
      {"fix-up", "adding partial sums after the last iteration"},
      {"memory", "waiting for memory beyond the busiest worker"},
  }};
  for (const auto& [term, words] : kWords) {
    if (name == term) return words;
  }
  return "";
}

}  // namespace tessera::report
