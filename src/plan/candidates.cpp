#include "plan/candidates.hpp"

#include <algorithm>
#include <array>

#include "core/tile_config.hpp"
#include "schedule/partition.hpp"

namespace tessera {
namespace {

// Iterations that a piece of a split keeps at least: with fewer, the pipeline's prologue outweighs
// them.
constexpr std::int64_t kLeastIterationsPerPiece = 2;

bool allowed(const PlanRequest& request, ScheduleKind kind) {
  if (request.options.schedule) return *request.options.schedule == kind;
  if (request.options.splits) return kind == ScheduleKind::split_k;
  return true;
}

// Pieces per tile: as many as fill one to four waves, and fewer in powers of two, which leave
// workers idle but have less to add.
std::vector<int> choose_splits(const PlanRequest& request, const TileProfile& profile,
                               int workers) {
  if (request.options.splits) return {*request.options.splits};
  const std::int64_t most =
      std::min<std::int64_t>(profile.most_iterations / kLeastIterationsPerPiece, kMaxSplits);
  std::vector<int> splits;
  const auto add = [&](std::int64_t count) {
    const auto split = static_cast<int>(std::min(count, most));
    if (split > 1 && std::ranges::find(splits, split) == splits.end()) splits.push_back(split);
  };
  const std::int64_t tiles = std::max<std::int64_t>(1, profile.tiles);
  for (std::int64_t split = 2; split * tiles < workers; split *= 2) add(split);
  for (std::int64_t waves = 1; waves <= 4; ++waves) add(waves * workers / tiles);
  // The caller insists on splitting what fills the machine by itself.
  if (splits.empty() && request.options.schedule) splits.push_back(2);
  return splits;
}

// One wave or less loads alike in every order, but on a GPU neighbours start together, and lone
// blocks that do share best along the grid's shorter side: 448x3456x6464 in 4x27 tiles of 128x128
// takes 37 us instead of 49 on an H200, 2026-11, 29 others with k from 1500 on 2 % less on average.
// Clusters do not care. A swapped kernel walks the grid from its other side.
TileOrderChoice order_within_wave(const PlanRequest& request, const TileConfig& tile,
                                  const TileGrid& grid) {
  const std::int32_t rows = tile.swap_operands ? grid.n : grid.m;
  const std::int32_t cols = tile.swap_operands ? grid.m : grid.n;
  const bool is_alone = tile.cluster_m * tile.cluster_n == 1;
  if (request.machine.kind == MachineKind::cpu || !is_alone || rows >= cols || rows == 1) return {};
  return {TileOrder::swizzle, rows};
}

}  // namespace

std::string kernel_name(const TileCandidate& candidate) {
  return std::string(candidate.kernel != nullptr ? candidate.kernel->name : kAnalyticKernel);
}

TileChoices enumerate_tiles(const PlanRequest& request) {
  TileChoices choices;
  if (request.machine.kind == MachineKind::gpu) {
    enumerate_gpu_tiles(request, choices);
  } else {
    enumerate_cpu_tiles(request, choices);
  }
  return choices;
}

TileOrderChoice choose_order(const PlanRequest& request, const TileProfile& profile,
                             const TileConfig& tile, int workers) {
  if (request.options.order) return *request.options.order;
  const auto largest = std::ranges::max_element(profile.runs, {}, &RunProfile::tiles);
  if (largest == profile.runs.end()) return {};
  if (profile.tiles <= workers && profile.runs.size() == 1 && largest->run.count == 1) {
    return order_within_wave(request, tile, largest->grid);
  }
  if (largest->grid.tiles() <= workers) return {};
  constexpr std::array<int, 5> kBands = {1, 2, 4, 8, 16};
  TileOrderChoice best;
  double least = 0;
  for (const int band : kBands) {
    if (band > largest->grid.m) break;
    const TileOrderChoice order =
        band == 1 ? TileOrderChoice{} : TileOrderChoice{TileOrder::swizzle, band};
    const WaveFootprint wave = wave_footprint(largest->grid, order, workers);
    const double loads = wave.rows * tile.block_m * size_of(request.problem.types.a) +
                         wave.cols * tile.block_n * size_of(request.problem.types.b);
    if (band == 1 || loads < least) {
      best = order;
      least = loads;
    }
  }
  return best;
}

std::vector<Schedule> enumerate_schedules(const PlanRequest& request, const TileProfile& profile,
                                          int workers) {
  std::vector<Schedule> schedules;
  const auto add = [&](ScheduleKind kind, std::int64_t units, int splits, bool two_tile) {
    Schedule schedule;
    schedule.kind = kind;
    schedule.splits = splits;
    schedule.two_tile = two_tile;
    // No more workers than pieces of work, unless the caller says so.
    schedule.workers = request.options.workers
                           ? workers
                           : static_cast<int>(std::clamp<std::int64_t>(units, 1, workers));
    schedules.push_back(schedule);
  };
  const bool partial_wave = profile.tiles % workers != 0;
  const bool divisible = profile.most_iterations > 1;
  const bool forced = request.options.schedule.has_value();
  const bool two_tile = request.options.two_tile;

  if (allowed(request, ScheduleKind::data_parallel)) {
    add(ScheduleKind::data_parallel, profile.tiles, 1, true);
  }
  const bool few_tiles = profile.tiles < 2LL * workers;
  if (allowed(request, ScheduleKind::split_k) &&
      (forced || request.options.splits || (few_tiles && divisible && workers > 1))) {
    for (const int splits : choose_splits(request, profile, workers)) {
      add(ScheduleKind::split_k, profile.tiles * splits, splits, true);
    }
  }
  const bool uneven = partial_wave || profile.runs.size() > 1;
  if (allowed(request, ScheduleKind::stream_k) && (forced || (uneven && divisible))) {
    add(ScheduleKind::stream_k, profile.iterations, 1, true);
  }
  if (allowed(request, ScheduleKind::hybrid) &&
      (forced || (partial_wave && divisible && profile.tiles > workers))) {
    add(ScheduleKind::hybrid, profile.tiles, 1, two_tile);
    // Claimed tiles have no stream that could be of one tile or of two.
    const bool streams = !profile.are_claimed;
    if (!forced && two_tile && streams) add(ScheduleKind::hybrid, profile.tiles, 1, false);
  }
  return schedules;
}

}  // namespace tessera
