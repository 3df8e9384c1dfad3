#include "cli/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/shape.hpp"
#include "core/tile_config.hpp"
#include "plan/cost.hpp"
#include "report/schedule_rows.hpp"
#include "report/text.hpp"
#include "schedule/division.hpp"
#include "schedule/fix_up_of.hpp"
#include "schedule/fixup.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition.hpp"
#include "schedule/partition_of.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t kShownGroups = 6;

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("{:<22}{}\n", name, value);
}

std::string types_text(const GemmTypes& types) {
  return fmt::format("{} x {} -> {}", name_of(types.a), name_of(types.b), name_of(types.c));
}

// "15 + 28 = 43"; a long group shows its first terms.
template <class Value>
std::string sum_text(std::span<const GroupExtent> extents, std::int64_t total, Value value) {
  std::string text;
  for (std::size_t g = 0; g < std::min(extents.size(), kShownGroups); ++g) {
    text += (g > 0 ? " + " : "") + value(extents[g]);
  }
  if (extents.size() > kShownGroups) text += " + ...";
  return fmt::format("{} = {}", text, total);
}

// "188", "2 and 3", "2 to 40".
std::string iterations_text(std::span<const GroupExtent> extents) {
  std::vector<std::int32_t> values;
  for (const GroupExtent& extent : extents) {
    if (extent.tiles() > 0) values.push_back(extent.iterations);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.empty()) return "none";
  if (values.size() == 1) return fmt::format("{}", values[0]);
  return fmt::format("{} {} {}", values.front(), values.size() == 2 ? "and" : "to", values.back());
}

std::string stream_text(const Decomposition& counts, int workers) {
  if (counts.stream_k_tiles == 0) return "0";
  return fmt::format("{} over {} workers: {} each, {} left over", counts.stream_k_iterations,
                     workers, counts.iterations_per_worker, counts.leftover_iterations);
}

// Whole tiles are dealt round robin; this shows what that means.
std::string round_robin_text(const Plan& plan) {
  const Decomposition& counts = plan.decomposition;
  const std::int64_t first = counts.stream_k_tiles;
  const int w = plan.schedule.workers;
  return fmt::format("worker w takes tiles {0}w, {0}w + {1}, {0}w + {2}, ...{3}",
                     first > 0 ? fmt::format("{} + ", first) : "", w, 2 * w,
                     plan.problem.groups.size() > 1 ? " straight across the groups" : "");
}

std::string claimed_text(const Partition& partition, std::int64_t tiles) {
  if (partition.whole_tiles == 0 && tiles > 0) return "whoever is free takes the next piece";
  const std::int64_t in_pieces = tiles - partition.whole_tiles;
  return fmt::format("whoever is free takes the next tile{}",
                     in_pieces > 0 ? fmt::format("; the last {} come in {} pieces each", in_pieces,
                                                 partition.splits)
                                   : "");
}

// How the partial sums of a shared tile become one; `peers` is the most that share one.
std::string fix_up_text(std::int64_t peers, FixUp fix_up) {
  const std::string who = fmt::format("up to {} workers share a tile; ", peers);
  if (fix_up == FixUp::meeting) return who + "they meet, and each adds up a share of it";
  const int levels = fixup_path(peers).levels;
  return who + (levels == 1 ? "the last to be done adds it up"
                            : fmt::format("the last of every {} adds up theirs, in {} levels",
                                          kFixupFanIn, levels));
}

std::string to_text(const Schedule& schedule, const Partition& partition) {
  std::string text = fmt::format("{}, {} workers", kind_text(schedule), schedule.workers);
  if (schedule.kind == ScheduleKind::hybrid) {
    text += fmt::format(", {}", report::hybrid_cut_name(partition));
  }
  return text + fmt::format(", {} order", order_text(schedule));
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes * 1e-9);
  return bytes >= 1e6 ? fmt::format("{:.2f} MB", bytes * 1e-6)
                      : fmt::format("{:.1f} kB", bytes * 1e-3);
}

std::string cost_text(const Plan& plan) {
  const double flops = flops_of(plan.problem);
  std::string text = seconds_text(plan.cost.seconds);
  if (plan.cost.seconds > 0) {
    const double rate = flops / plan.cost.seconds;
    text += rate < 1e12 ? fmt::format(", {:.1f} GFLOP/s", rate * 1e-9)
                        : fmt::format(", {:.1f} TFLOP/s", rate * 1e-12);
  }
  for (std::size_t i = 0; i < plan.cost.terms.size(); ++i) {
    const CostTerm& term = plan.cost.terms[i];
    text += fmt::format("{}{} {}", i == 0 ? " (" : ", ", term.name, seconds_text(term.seconds));
  }
  if (!plan.cost.terms.empty()) text += ")";
  return text;
}

}  // namespace

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", seconds * 1e3);
  if (seconds >= 1e-6) return fmt::format("{:.3f} us", seconds * 1e6);
  return fmt::format("{:.1f} ns", seconds * 1e9);
}

std::string schedule_text(const Plan& plan) {
  return to_text(plan.schedule, partition_of(plan));
}

std::string plan_text(const Plan& plan) {
  const HostIterationSpace host_space(plan.problem.groups, plan.tile);
  const IterationSpace& space = host_space.space();
  const std::span<const GroupExtent> extents(space.groups,
                                             static_cast<std::size_t>(space.group_count));
  const Decomposition& counts = plan.decomposition;
  const Partition partition = partition_of(plan, space);

  std::string text;
  text += line("problem", to_text(plan.problem.groups) + ", " + types_text(plan.problem.types));
  text += line("machine", fmt::format("{}, {} {}, {}", plan.machine.name, plan.machine.workers,
                                      plan.machine.kind == MachineKind::gpu ? "SMs" : "cores",
                                      plan.machine.architecture));
  text += line("kernel", plan.kernel);
  text += line("tile", to_text(plan.tile));
  text += line("schedule", to_text(plan.schedule, partition));
  text += line("tiles", sum_text(extents, counts.tiles, [&](const GroupExtent& extent) {
                 return extents.size() == 1 ? fmt::format("{} x {}", extent.grid_m, extent.grid_n)
                                            : fmt::format("{}", extent.tiles());
               }));
  text += line("iterations per tile", iterations_text(extents));
  text += line("stream-K tiles", fmt::format("{}", counts.stream_k_tiles));
  text += line("data-parallel tiles", fmt::format("{}", counts.data_parallel_tiles));
  text += line("stream-K iterations", stream_text(counts, plan.schedule.workers));
  if (partition.units_are_claimed) {
    text += line("claimed", claimed_text(partition, counts.tiles));
  } else if (counts.data_parallel_tiles > 0 && partition.splits == 1) {
    text += line("round robin", round_robin_text(plan));
  }
  const std::int64_t peers = report::schedule_facts(space, partition).most_peers;
  if (peers > 1) {
    text += line("fix-up", fix_up_text(peers, fix_up_of(plan, partition, space)));
  }
  text += line("traffic",
               fmt::format("{} from memory, {} from cache", bytes_text(plan.cost.memory_bytes),
                           bytes_text(plan.cost.cache_bytes)));
  text += line("predicted", cost_text(plan));
  text += line("reason", plan.reason);
  return text;
}

std::string plan_summary(const Plan& plan) {
  const Decomposition& counts = plan.decomposition;
  std::string text;
  text += line("problem", to_text(plan.problem.groups) + ", " + types_text(plan.problem.types));
  text += line("plan", fmt::format("{}, {} tiles, {}", plan.kernel, to_text(plan.tile),
                                   schedule_text(plan)));
  text +=
      line("", fmt::format("{} tiles ({} stream-K, {} data-parallel), {} iterations", counts.tiles,
                           counts.stream_k_tiles, counts.data_parallel_tiles, counts.iterations));
  return text;
}

std::string candidates_text(const Plan& plan) {
  std::vector<const Candidate*> order;
  for (const Candidate& candidate : plan.others) order.push_back(&candidate);
  std::stable_sort(order.begin(), order.end(), [](const Candidate* a, const Candidate* b) {
    if (!a->cost || !b->cost) return a->cost.has_value() && !b->cost;
    return a->cost->seconds < b->cost->seconds;
  });
  std::string text;
  const auto row = [&](const std::string& kernel, const std::string& tile,
                       const std::string& schedule, const std::string& result) {
    text += fmt::format("{:<38} {:<14} {:<48} {}\n", kernel, tile, schedule, result);
  };
  row("kernel", "tile", "schedule", "predicted, or why not");
  row(plan.kernel, to_text(plan.tile), schedule_text(plan),
      seconds_text(plan.cost.seconds) + ", chosen");
  for (const Candidate* candidate : order) {
    // One that was rejected has no schedule.
    row(candidate->kernel, to_text(candidate->tile),
        candidate->cost ? to_text(candidate->schedule, partition_of(plan.problem, *candidate)) : "",
        candidate->cost ? seconds_text(candidate->cost->seconds) : candidate->rejection);
  }
  return text;
}

}  // namespace tessera::cli
