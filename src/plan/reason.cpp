#include "plan/reason.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/operand_copies.hpp"
#include "plan/layer.hpp"
#include "plan/passing.hpp"
#include "schedule/partition.hpp"

namespace tessera {
namespace {

std::string count(std::int64_t number, const std::string& thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return std::to_string(whole > 0 ? (100 * part + whole / 2) / whole : 0) + " %";
}

std::string why_schedule(const TileProfile& profile, const Schedule& schedule) {
  const std::int64_t tiles = profile.tiles;
  const std::int64_t last_wave = tiles % schedule.workers;
  const std::string workers = count(schedule.workers, "worker");
  switch (schedule.kind) {
    case ScheduleKind::data_parallel:
      if (schedule.workers == 1) return "one worker takes " + count(tiles, "tile");
      if (last_wave == 0) return count(tiles, "tile") + " divide evenly among " + workers;
      return count(tiles, "whole tile") + " among " + workers +
             ": cutting tiles would cost more than the idle end saves";
    case ScheduleKind::split_k:
      return count(tiles, "tile") + (tiles == 1 ? " is" : " are") +
             " too few for the machine, so k is cut into " + count(schedule.splits, "piece");
    case ScheduleKind::stream_k:
      return "whole tiles would not share out evenly (" + count(tiles, "tile") + "), so " +
             workers + " take equal runs of the " + count(profile.iterations, "iteration");
    case ScheduleKind::hybrid:
      if (profile.are_claimed) {
        return count(tiles, "tile") + " among " + workers + ", of which the last come in " +
               count(kClaimedPieces, "piece") + " so that all end together";
      }
      if (last_wave == 0) return count(tiles, "tile") + " fill every wave of " + workers;
      return "the last wave of " + workers + " would be " + percent(last_wave, schedule.workers) +
             " full, so its tiles" +
             (schedule.two_tile && tiles - last_wave > schedule.workers ? " and one wave more"
                                                                        : "") +
             " are cut evenly";
  }
  return "";
}

std::string why_tile(const PlanRequest& request, const TileCandidate& candidate) {
  if (candidate.kernel == nullptr)
    return "; no kernel with this tile is compiled, so it cannot run";
  if (!request.runs.empty() && packs_in_passing(candidate.tile, candidate.kernel, request.problem,
                                                request.runs.front().shape, request.machine)) {
    return "; A is read in place, and B packed in passing, by the first rows that read it";
  }
  if (!request.runs.empty() && widens_first(candidate.tile, *candidate.kernel, request.problem,
                                            request.runs.front().shape, request.machine)) {
    return "; operands are widened first, each element once";
  }
  if (candidate.tile.a_in_place && candidate.tile.b_in_place) {
    return "; A and B are read in place, for packing would cost more than it saves";
  }
  if (candidate.tile.b_in_place) return "; B is read in place: its elements serve few rows each";
  if (candidate.tile.a_in_place) return "; A is read in place: its elements serve few columns each";
  return "";
}

// Where a machine multiplies a wider type faster than the problem's own.
std::string why_kernel(const PlanRequest& request, const TileCandidate& candidate) {
  if (candidate.kernel == nullptr || request.options.kernel) return "";
  const ElementType type = request.problem.types.a;
  const double own = request.machine.peak(type);
  if (best_rate(type, request.machine) <= own) return "";
  const ElementType multiplied = candidate.kernel->multiplies;
  const std::string name(name_of(type));
  if (multiplied == type && type == ElementType::f64) {
    return request.options.batch_invariant
               ? "; f64 is multiplied as it is: by residues a row's bits would depend on others"
               : "; f64 is multiplied as it is: residues are not known to save time here";
  }
  if (multiplied == type && type == ElementType::f32) {
    return request.options.batch_invariant
               ? "; f32 is multiplied as it is: its parts would depend on other rows"
               : "; f32 is multiplied as it is: splitting it would cost more than it saves";
  }
  if (multiplied == type) {
    return "; " + name + " is multiplied as it is: widening it would cost more than it saves";
  }
  std::array<char, 32> times{};
  std::snprintf(times.data(), times.size(), "%.2g",
                peak_of(*candidate.kernel, request.machine) / own);
  if (splits_f64(*candidate.kernel)) {
    return "; f64 is multiplied by " + std::to_string(candidate.kernel->products) +
           " residues of 8 bits, which together are " + times.data() +
           " times as fast here, and at least as precise";
  }
  if (candidate.kernel->products > 1) {
    const bool in_three = splits_f32(*candidate.kernel);
    return "; " + name + " is split in " + (in_three ? "three" : "two") + " parts of " +
           std::string(name_of(multiplied)) + ", whose " +
           std::to_string(candidate.kernel->products) + " products are together " + times.data() +
           " times as fast here, and " + (in_three ? "as precise" : "exact");
  }
  return "; " + name + " is widened to " + std::string(name_of(multiplied)) +
         ", which is multiplied " + times.data() + " times as fast here";
}

// Whether the catalogue has kernels for the problem that cannot read its operands where they lie.
bool could_copy(const PlanRequest& request) {
  if (!may_copy(request.options)) return false;
  return std::ranges::any_of(cuda_kernels(), [&](const KernelEntry& kernel) {
    return copies_of(kernel, request.problem).any() &&
           !why_not(kernel, request.problem, request.machine);
  });
}

std::string why_copied(const PlanRequest& request, const TileCandidate& candidate) {
  if (request.machine.kind != MachineKind::gpu || candidate.kernel == nullptr) return "";
  const Problem& problem = request.problem;
  if (suits_tma(problem.a) && suits_tma(problem.b)) return "";
  const OperandCopies copies = copies_of(*candidate.kernel, problem);
  if (copies.any()) {
    const std::string who = copies.a && copies.b ? "A and B are" : copies.a ? "A is" : "B is";
    return "; " + who + " copied first (" + *why_not_in_place(*candidate.kernel, problem) + ")";
  }
  return could_copy(request) ? "; copying operands first, for TMA to read, would take longer" : "";
}

std::string why_limited(const Prediction& prediction) {
  if (prediction.memory > 0.5 * prediction.seconds) return "; memory is the limit";
  return "";
}

}  // namespace

std::string reason_for(const PlanRequest& request, const TileCandidate& candidate,
                       const TileProfile& profile, const Schedule& schedule,
                       const Prediction& prediction) {
  if (profile.tiles == 0) return "there is nothing to compute";
  const PlanOptions& options = request.options;
  std::string text;
  if (options.batch_invariant) {
    text =
        "a row's bits must not depend on its neighbours, so tile and splits follow from n, k and "
        "the "
        "types";
  } else if (request.for_layer != nullptr) {
    const Layer layer = layer_of(request.problem);
    text = "layers of experts with about " + std::to_string(layer.mean_rows) +
           " rows each and k = " + std::to_string(layer.k) + " do best so";
  } else if (options.schedule) {
    text = "the caller chose " + std::string(name_of(*options.schedule));
  } else {
    text = why_schedule(profile, schedule);
  }
  return text + why_tile(request, candidate) + why_kernel(request, candidate) +
         why_copied(request, candidate) + why_limited(prediction);
}

}  // namespace tessera
