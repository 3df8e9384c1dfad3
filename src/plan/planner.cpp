// make_plan: enumerate → reject → cost → choose. Pure: it reads its arguments and the catalogue,
// and nothing else. candidates.hpp has the knobs, cost.hpp the model.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tile_config.hpp"
#include "core/validate.hpp"
#include "plan/candidates.hpp"
#include "plan/decompose.hpp"
#include "plan/invariant.hpp"
#include "plan/layer.hpp"
#include "plan/reason.hpp"
#include "schedule/check.hpp"
#include "tessera/error.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

struct Costed {
  TileCandidate candidate;
  Schedule schedule;
  Prediction prediction;
  double price = 0;  // of it
};

void check_machine(const Machine& machine) {
  const auto positive = [&](const char* field, double value) {
    if (value > 0) return;
    throw Error(ErrorCode::invalid_argument, "machine." + std::string(field), "be positive",
                std::to_string(value), "describe the machine completely");
  };
  positive("workers", machine.workers);
  positive("memory_bytes_per_second", machine.memory_bytes_per_second);
  positive("cache_bytes_per_second", machine.cache_bytes_per_second);
  positive("worker_memory_bytes_per_second", machine.worker_memory_bytes_per_second);
  positive("cost.compute_efficiency", machine.cost.compute_efficiency);
}

[[noreturn]] void reject_option(const std::string& option, const std::string& requirement,
                                const std::string& given, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, option, requirement, given, remedy);
}

void check_tile_option(const Problem& problem, const Machine& machine, const TileConfig& wanted) {
  TileConfig tile = wanted;
  const bool may_be_chosen = machine.kind == MachineKind::cpu;
  for (int* side : {&tile.block_m, &tile.block_n, &tile.block_k}) {
    if (*side == 0 && may_be_chosen) *side = 1 << 10;
  }
  auto objection = why_not(tile);
  if (!objection) objection = why_not(tile, problem);
  if (objection) reject_option("tile", "be usable", to_text(wanted), *objection);
}

void check_options(const Problem& problem, const Machine& machine, const PlanOptions& options) {
  Schedule schedule;
  if (options.workers) schedule.workers = *options.workers;
  if (options.splits) {
    schedule.kind = ScheduleKind::split_k;
    schedule.splits = *options.splits;
    if (options.schedule && *options.schedule != ScheduleKind::split_k) {
      reject_option("splits", "go with split_k", std::string(name_of(*options.schedule)),
                    "leave one of the two out");
    }
  }
  if (options.order) {
    schedule.order = options.order->order;
    schedule.group_m = options.order->group_m;
  }
  check_schedule(schedule);
  check_layouts(problem, machine.kind);
  if (options.tile) check_tile_option(problem, machine, *options.tile);
  if (options.batch_invariant && options.schedule &&
      *options.schedule != ScheduleKind::data_parallel &&
      *options.schedule != ScheduleKind::split_k) {
    reject_option("schedule", "be data_parallel or split_k where batch_invariant is asked for",
                  std::string(name_of(*options.schedule)),
                  "its split points would move with the number of rows");
  }
  if (options.kernel && find_kernel(*options.kernel) == nullptr) {
    std::string known;
    for (const KernelEntry& kernel : catalogue()) {
      if (kernel.device != machine.kind || kernel.a != problem.types.a) continue;
      known += (known.empty() ? "" : ", ") + std::string(kernel.name);
    }
    reject_option("kernel", "be one of " + known, "'" + *options.kernel + "'",
                  "choose a listed name");
  }
}

// Candidates without a peak rate or with tiles beyond counting cannot be costed.
void reject_uncountable(const PlanRequest& request, TileChoices& choices) {
  std::erase_if(choices.accepted, [&](const TileCandidate& candidate) {
    std::optional<std::string> objection = why_not(candidate.tile, request.problem);
    const ElementType type =
        candidate.kernel != nullptr ? candidate.kernel->multiplies : request.problem.types.a;
    if (request.machine.peak(type) <= 0) {
      objection = "the machine has no peak rate for " + std::string(name_of(type));
    }
    if (objection) choices.rejected.push_back({kernel_name(candidate), candidate.tile, *objection});
    return objection.has_value();
  });
}

// Dozens of kernels fail alike, and a message's end, which says what to do, must be reached: the C
// API keeps 2047 bytes.
constexpr std::size_t kMostReasons = 6;

// Each reason once, with the first kernel that it holds for.
std::string reasons_text(const std::vector<Rejection>& rejections) {
  std::vector<std::pair<const Rejection*, int>> reasons;
  for (const Rejection& rejection : rejections) {
    const auto known = std::ranges::find_if(
        reasons, [&](const auto& one) { return one.first->reason == rejection.reason; });
    if (known == reasons.end()) {
      reasons.emplace_back(&rejection, 0);
    } else {
      ++known->second;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    const auto& [first, others] = reasons[i];
    text += "; " + first->kernel + " " + first->reason;
    if (others > 0) text += " (" + std::to_string(others) + " more alike)";
  }
  if (reasons.size() > kMostReasons) {
    text += "; and " + std::to_string(reasons.size() - kMostReasons) + " more reasons";
  }
  return text;
}

[[noreturn]] void report_nothing_left(const PlanRequest& request, const TileChoices& choices) {
  const GemmTypes& types = request.problem.types;
  std::string message = "plan: no kernel can compute " + std::string(name_of(types.a)) + " by " +
                        std::string(name_of(types.b)) + " on " + request.machine.name;
  message += reasons_text(choices.rejected);
  message += choices.rejected.empty()
                 ? "; none is compiled for these types, so convert the operands"
                 : "; change what a reason names";
  throw Error(ErrorCode::unsupported, message);
}

struct Costing {
  std::vector<Costed> all;
  std::size_t chosen = 0;
};

// Without keep_others, what cannot be chosen any more is left out before its prediction.
Costing cost_all(const PlanRequest& request, const TileChoices& choices) {
  Costing costing;
  const auto is_beaten = [&](double price) {
    return !costing.all.empty() && price >= costing.all[costing.chosen].price;
  };
  for (const TileCandidate& candidate : choices.accepted) {
    const TileProfile profile = profile_tiles(request.runs, request.problem, request.machine,
                                              candidate.tile, candidate.kernel, candidate.workers);
    std::optional<TileOrderChoice> order;
    Traffic traffic;
    std::vector<Schedule> schedules =
        request.options.batch_invariant ? std::vector{invariant_schedule(request, candidate)}
                                        : enumerate_schedules(request, profile, candidate.workers);
    for (Schedule& schedule : schedules) {
      if (!request.options.keep_others &&
          is_beaten(
              price_of(profile, schedule, least_seconds(profile, request.machine, schedule)))) {
        continue;
      }
      if (!order) {
        order = choose_order(request, profile, candidate.tile, candidate.workers);
        traffic = traffic_of(profile, request.problem, request.machine, *order, candidate.workers);
      }
      schedule.order = order->order;
      schedule.group_m = order->group_m;
      const Prediction prediction = predict(profile, request.machine, schedule, traffic);
      const double price = price_of(profile, schedule, prediction.seconds);
      costing.all.push_back({candidate, schedule, prediction, price});
      if (price < kWorthwhile * costing.all[costing.chosen].price) {
        costing.chosen = costing.all.size() - 1;
      }
    }
  }
  return costing;
}

std::vector<Candidate> others_of(std::vector<Costed> all, std::size_t chosen,
                                 const TileChoices& choices) {
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(chosen));
  std::ranges::stable_sort(all, {}, [](const Costed& costed) { return costed.prediction.seconds; });
  std::vector<Candidate> others;
  others.reserve(all.size() + choices.rejected.size());
  for (const Costed& costed : all) {
    others.push_back({kernel_name(costed.candidate), costed.candidate.tile, costed.schedule,
                      to_cost(costed.prediction), ""});
  }
  for (const Rejection& rejection : choices.rejected) {
    others.push_back({rejection.kernel, rejection.tile, {}, std::nullopt, rejection.reason});
  }
  return others;
}

}  // namespace

Plan make_plan(const Problem& problem, const Machine& machine, const PlanOptions& options) {
  return make_plan(problem, machine, options, choose_if_layer(problem, machine, options));
}

Plan make_plan(const Problem& problem, const Machine& machine, const PlanOptions& options,
               const std::optional<LayerChoice>& layer) {
  check_problem(problem);
  check_machine(machine);
  check_options(problem, machine, options);

  PlanOptions within = options;
  if (layer) {
    if (layer->schedule) within.schedule = layer->schedule;
    if (layer->order) within.order = layer->order;
  }
  const PlanRequest request{problem, machine, within, shape_runs(problem),
                            layer ? layer->kernel : nullptr};
  TileChoices choices = enumerate_tiles(request);
  reject_uncountable(request, choices);
  if (options.batch_invariant) keep_invariant_tile(request, choices);
  if (choices.accepted.empty()) report_nothing_left(request, choices);

  Costing costing = cost_all(request, choices);
  const Costed best = costing.all[costing.chosen];

  Plan plan;
  plan.problem = problem;
  plan.machine = machine;
  plan.kernel = kernel_name(best.candidate);
  plan.tile = best.candidate.tile;
  plan.schedule = best.schedule;
  plan.decomposition = decompose(plan);
  plan.cost = to_cost(best.prediction);
  plan.reason = reason_for(request, best.candidate,
                           profile_tiles(request.runs, problem, machine, plan.tile,
                                         best.candidate.kernel, plan.schedule.workers),
                           plan.schedule, best.prediction);
  if (options.keep_others) {
    plan.others = others_of(std::move(costing.all), costing.chosen, choices);
  }
  return plan;
}

}  // namespace tessera
