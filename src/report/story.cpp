#include "report/story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/catalogue.hpp"
#include "core/tile_config.hpp"
#include "plan/cost.hpp"
#include "plan/intensity.hpp"
#include "report/text.hpp"
#include "schedule/division.hpp"
#include "schedule/fix_up_of.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"

namespace tessera::report {
namespace {

constexpr int kDefaultGroup = 8;

// From asking for a block in device memory to its arrival in shared memory, on an idle H100: 0.6 to
// 0.8 µs in published pointer-chasing measurements, 2024. For the picture of the pipeline alone;
// the cost model has no such term.
constexpr double kLoadLatency = 0.7e-6;

void tell_intensity(Story& story) {
  const Plan& plan = story.plan;
  const Machine& machine = plan.machine;
  TileConfig element;
  element.block_m = element.block_n = element.block_k = 1;
  story.naive_intensity = flops_per_byte(element, plan.problem.types);
  story.tile_intensity = flops_per_byte(plan.tile, plan.problem.types);
  story.bound_intensity = flops_per_byte(plan.problem);
  const double flops = flops_of(plan.problem);
  if (plan.cost.memory_bytes > 0) story.shared_intensity = flops / plan.cost.memory_bytes;

  const double used =
      std::min<double>(machine.workers, static_cast<double>(plan.schedule.workers) *
                                            plan.tile.cluster_m * plan.tile.cluster_n);
  story.peak_flops_per_second = best_rate(plan.problem.types.a, machine) * used;
  story.memory_bytes_per_second =
      std::min(machine.memory_bytes_per_second, used * machine.worker_memory_bytes_per_second);
  story.cache_bytes_per_second =
      machine.cache_bytes_per_second * used / std::max(1, machine.workers);
  if (story.memory_bytes_per_second > 0) {
    story.ridge = story.peak_flops_per_second / story.memory_bytes_per_second;
  }
  if (plan.cost.seconds > 0) story.predicted_flops_per_second = flops / plan.cost.seconds;
}

void tell_orders(Story& story) {
  const Plan& plan = story.plan;
  const Decomposition& parts = plan.decomposition;
  // Every tile needs all blocks along k: counting one step and multiplying is exact.
  const TileGrid grid{static_cast<std::int32_t>(parts.tiles_m),
                      static_cast<std::int32_t>(parts.tiles_n), 1};
  if (grid.tiles() == 0) return;
  story.first_wave = std::min<std::int64_t>(plan.schedule.workers, grid.tiles());
  const bool swizzles = plan.schedule.order == TileOrder::swizzle;
  const std::array<TileOrderChoice, 3> orders{
      {{TileOrder::linear, kDefaultGroup},
       {TileOrder::swizzle, swizzles ? plan.schedule.group_m : kDefaultGroup},
       {TileOrder::hilbert, kDefaultGroup}}};
  for (const TileOrderChoice& choice : orders) {
    Schedule named;
    named.order = choice.order;
    named.group_m = choice.group_m;
    BlockCount blocks = count_blocks(grid, choice, 0, story.first_wave);
    blocks.a *= parts.iterations_per_tile;
    blocks.b *= parts.iterations_per_tile;
    story.orders.push_back(
        {choice, order_text(named), blocks, choice.order == plan.schedule.order});
  }
}

void tell_cuts(Story& story, const TileProfile& profile, const IterationSpace& space) {
  const Plan& plan = story.plan;
  const Traffic traffic =
      traffic_of(profile, plan.problem, plan.machine, {plan.schedule.order, plan.schedule.group_m},
                 plan.schedule.workers);
  std::vector<Schedule> schedules(4, plan.schedule);
  schedules[0].kind = ScheduleKind::data_parallel;
  schedules[1].kind = ScheduleKind::stream_k;
  schedules[2].kind = schedules[3].kind = ScheduleKind::hybrid;
  schedules[2].two_tile = false;
  schedules[3].two_tile = true;
  if (plan.schedule.kind == ScheduleKind::split_k) schedules[2] = plan.schedule;

  // What makes a division of the work this one: its stream's tiles, and those in pieces.
  using Numbers = std::tuple<std::int64_t, std::int64_t, std::int32_t>;
  const auto numbers = [&](const Schedule& schedule) -> Numbers {
    const Partition partition = partition_of(plan, schedule, space);
    if (partition.splits == 1) return {partition.stream_tiles, 0, 1};
    const std::int64_t in_pieces = space.tiles - partition.stream_tiles - partition.whole_tiles;
    return {partition.stream_tiles, in_pieces, in_pieces > 0 ? partition.splits : 1};
  };
  std::vector<Numbers> seen;
  bool has_chosen = false;
  for (const Schedule& schedule : schedules) {
    const auto same = numbers(schedule);
    const bool is_chosen =
        !has_chosen && schedule.kind == plan.schedule.kind && same == numbers(plan.schedule);
    // A hybrid without left-over tiles is one of the others by another name; and so is one that
    // has no full wave to add, or whose tiles are claimed, of those of one and of two tiles.
    if (!is_chosen && std::find(seen.begin(), seen.end(), same) != seen.end()) continue;
    seen.push_back(same);
    has_chosen = has_chosen || is_chosen;
    const Partition partition = partition_of(plan, schedule, space);
    story.cuts.push_back({schedule, cut(schedule, partition), schedule_facts(space, partition),
                          predict(profile, plan.machine, schedule, traffic).seconds, is_chosen});
  }
}

void tell_hand_overs(Story& story, const IterationSpace& space) {
  // A sample is enough for a mean.
  constexpr std::int32_t kMostWorkers = 512;
  const Partition partition = partition_of(story.plan, space);
  story.fix_up = fix_up_of(story.plan, partition, space);
  const ScheduleRows rows = schedule_rows(space, partition, story.fix_up, 0, kMostWorkers, 256);
  double waited = 0;
  std::size_t sums = rows.hand_overs.size();
  for (const HandOver& hand_over : rows.hand_overs) waited += hand_over.added - hand_over.published;
  for (const Meeting& meeting : rows.meetings) {
    sums += meeting.peers.size();
    for (const Meeting::Peer& peer : meeting.peers) waited += meeting.complete - peer.published;
  }
  if (sums == 0) return;
  story.mean_wait_iterations = waited / static_cast<double>(sums);
  story.handed_over = static_cast<double>(sums) *
                      std::max(1.0, static_cast<double>(partition.workers) / kMostWorkers);
}

std::string grown_term(const Cost& chosen, const Cost& loser) {
  std::string why;
  // Less is rounding.
  double most = 1e-3 * chosen.seconds;
  for (const CostTerm& term : loser.terms) {
    const auto same = std::find_if(chosen.terms.begin(), chosen.terms.end(),
                                   [&](const CostTerm& other) { return other.name == term.name; });
    const double grown = term.seconds - (same == chosen.terms.end() ? 0 : same->seconds);
    if (grown <= most) continue;
    most = grown;
    why = term.name + " +" + seconds(grown);
  }
  return why.empty() ? "as good, but the simpler one is kept" : why;
}

void tell_candidates(Story& story) {
  const Plan& plan = story.plan;
  for (const Candidate& candidate : plan.others) {
    if (candidate.cost) {
      const double chosen = story.plan.cost.seconds;
      story.losers.push_back({candidate,
                              cut(candidate.schedule, partition_of(plan.problem, candidate)),
                              chosen > 0 ? candidate.cost->seconds / chosen : 1,
                              grown_term(story.plan.cost, *candidate.cost)});
    } else {
      story.rejected.push_back(candidate);
    }
  }
  std::stable_sort(
      story.losers.begin(), story.losers.end(),
      [](const LoserStory& a, const LoserStory& b) { return a.times_as_long < b.times_as_long; });
}

void tell_pipeline(Story& story, const TileProfile& profile) {
  if (profile.runs.empty()) return;
  const RunProfile& run = profile.runs.front();
  story.iteration_seconds = run.time.iteration(1);
  story.pipeline.multiply = run.time.arithmetic;
  if (story.plan.machine.kind == MachineKind::cpu) {
    story.pipeline.transfer = run.time.packing;
    return;
  }
  story.pipeline.latency = kLoadLatency;
  story.pipeline.transfer = bytes_per_iteration(story.plan.tile, story.plan.problem.types) /
                            (story.plan.machine.cache_bytes_per_second /
                             std::max(1, story.plan.machine.workers) * profile.blocks_per_worker);
}

}  // namespace

Story tell(const Plan& plan) {
  Story story;
  story.plan = plan;
  const KernelEntry* kernel = find_kernel(plan.kernel);
  const TileProfile profile = profile_tiles(shape_runs(plan.problem), plan.problem, plan.machine,
                                            plan.tile, kernel, plan.schedule.workers);
  const HostIterationSpace space(plan.problem.groups, plan.tile);

  tell_intensity(story);
  story.scratchpad = scratchpad_use(plan.tile, plan.problem.types,
                                    epilogue_bytes(kernel, plan.tile, plan.problem.types));
  const Partition partition = partition_of(plan, space);
  story.facts = schedule_facts(space, partition);
  story.claims_units = partition.units_are_claimed;
  story.whole_claims = partition.whole_tiles;
  tell_orders(story);
  if (profile.tiles > 0) tell_cuts(story, profile, space);
  tell_hand_overs(story, space);
  tell_pipeline(story, profile);
  tell_candidates(story);
  return story;
}

}  // namespace tessera::report
