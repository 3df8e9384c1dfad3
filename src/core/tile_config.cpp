#include "core/tile_config.hpp"

#include <array>
#include <string_view>

namespace tessera {
namespace {

struct Bound {
  std::string_view name;
  int value;
  int least;
  int most;
};

template <std::size_t count>
std::optional<std::string> first_outside(const std::array<Bound, count>& bounds) {
  for (const Bound& bound : bounds) {
    if (bound.value < bound.least || bound.value > bound.most) {
      return std::string(bound.name) + " must be " + std::to_string(bound.least) + " to " +
             std::to_string(bound.most) + "; it is " + std::to_string(bound.value);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string to_text(const TileConfig& tile) {
  return std::to_string(tile.block_m) + "x" + std::to_string(tile.block_n) + "x" +
         std::to_string(tile.block_k);
}

std::string kind_text(const Schedule& schedule) {
  std::string text(name_of(schedule.kind));
  if (schedule.kind == ScheduleKind::split_k) text += "(" + std::to_string(schedule.splits) + ")";
  return text;
}

std::string order_text(const Schedule& schedule) {
  std::string text(name_of(schedule.order));
  if (schedule.order == TileOrder::swizzle) text += "(" + std::to_string(schedule.group_m) + ")";
  return text;
}

std::optional<std::string> why_not(const TileConfig& tile) {
  return first_outside(std::array<Bound, 10>{{
      {"block_m", tile.block_m, 1, kMaxBlock},
      {"block_n", tile.block_n, 1, kMaxBlock},
      {"block_k", tile.block_k, 1, kMaxBlock},
      {"stages", tile.stages, 1, kMaxStages},
      {"cluster_m", tile.cluster_m, 1, kMaxCluster},
      {"cluster_n", tile.cluster_n, 1, kMaxCluster},
      {"warpgroups", tile.warpgroups, 0, 8},
      {"mr", tile.mr, 0, 4096},
      {"nr", tile.nr, 0, 4096},
      {"mc", tile.mc, 0, kMaxBlock},
  }});
}

std::optional<std::string> why_not(const Schedule& schedule) {
  return first_outside(std::array<Bound, 3>{{
      {"workers", schedule.workers, 1, kMaxWorkers},
      {"splits", schedule.splits, 1, kMaxSplits},
      {"group_m", schedule.group_m, 1, kMaxBlock},
  }});
}

std::optional<std::string> why_not(const TileConfig& tile, const Problem& problem) {
  const auto too_many = [](std::int64_t size, int block) { return size / block >= kMaxGridSide; };
  // Iterations of all groups are counted on one line of 64 bits; this leaves room for sums.
  constexpr double kMaxIterations = 4e18;
  double iterations = 0;
  for (const GemmShape& shape : problem.groups) {
    if (too_many(shape.m, tile.block_m) || too_many(shape.n, tile.block_n) ||
        too_many(shape.k, tile.block_k)) {
      return "tiles of " + to_text(tile) + " cut " + std::to_string(shape.m) + "x" +
             std::to_string(shape.n) + "x" + std::to_string(shape.k) + " into more than " +
             std::to_string(kMaxGridSide) + " along one side";
    }
    const auto blocks = [](std::int64_t size, int block) {
      return static_cast<double>(size / block + 1);
    };
    iterations += blocks(shape.m, tile.block_m) * blocks(shape.n, tile.block_n) *
                  blocks(shape.k, tile.block_k);
  }
  if (iterations > kMaxIterations) {
    return "tiles of " + to_text(tile) + " give more than 4e18 iterations";
  }
  return std::nullopt;
}

}  // namespace tessera
