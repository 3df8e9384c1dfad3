#include "plan/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/block_spec.hpp"
#include "schedule/tile_order.hpp"

namespace tessera {
namespace {

// Share of the shared cache that holds operands for reuse; the rest is C, and lines about to leave.
constexpr double kUsableCache = 0.7;

// A GPU's cache that serves every request by itself, against what the model takes for its memory's
// rate, beside what streaming takes anyway (cost.cpp). H200, 2026-11: 5.7 and 4.3 TB/s.
constexpr double kScattered = 4.3 / 5.7;

}  // namespace

BlockCount count_blocks(const TileGrid& grid, TileOrderChoice order, std::int64_t first,
                        std::int64_t count) {
  const OperandSpecs specs = operand_specs({.block_m = 1, .block_n = 1, .block_k = 1});
  std::set<BlockIndex> a;
  std::set<BlockIndex> b;
  const std::int64_t end = std::min(first + count, grid.tiles());
  for (std::int64_t t = first; t < end; ++t) {
    const TileCoord at = tile_at(order.order, order.group_m, t, grid.m, grid.n);
    for (std::int32_t k = 0; k < grid.k; ++k) {
      a.insert(specs.a.index({at.m, at.n, k}));
      b.insert(specs.b.index({at.m, at.n, k}));
    }
  }
  return {static_cast<std::int64_t>(a.size()), static_cast<std::int64_t>(b.size())};
}

WaveFootprint wave_footprint(const TileGrid& grid, TileOrderChoice order, std::int64_t count) {
  const double tiles = static_cast<double>(std::min(count, grid.tiles()));
  const double grid_m = grid.m;
  const double grid_n = grid.n;
  if (tiles <= 0) return {};
  if (order.order == TileOrder::hilbert) {
    // A stretch of the curve fills about a square; its ragged ends touch a little more.
    constexpr double kRaggedness = 1.15;
    const double side = kRaggedness * std::sqrt(tiles);
    const double rows = std::clamp(std::max(side, tiles / grid_n), 1.0, grid_m);
    return {rows, std::clamp(std::max(side, tiles / rows), 1.0, grid_n)};
  }
  // Linear order is a swizzle of single rows: bands of `band` rows, walked column by column.
  const double band =
      order.order == TileOrder::swizzle ? std::min<double>(order.group_m, grid_m) : 1;
  const double in_band = band * grid_n;
  if (tiles >= in_band) {
    // Of the last band a few tiles are one column's, a row each.
    const double bands = std::floor(tiles / in_band);
    const double left = tiles - bands * in_band;
    return {std::min(grid_m, band * bands + std::min(band, left)), grid_n};
  }
  // A wave that starts at any place of the band runs on into the next one now and then. It has all
  // rows of both then, or if it is no more than two of their columns, as many as it may have on
  // average.
  const double rows = std::min(band, tiles);
  const double crossing = grid_m > band ? (tiles - 1) / in_band : 0;
  const double on_a_side = tiles - 1 <= band      ? tiles / 2
                           : tiles - 1 > 2 * band ? band
                                                  : band - band * (band - 1) / (2 * (tiles - 1));
  return {std::min(grid_m, rows + crossing * (2 * on_a_side - rows)),
          std::min(grid_n, std::ceil(tiles / band))};
}

Traffic estimate_traffic(const ShapeRun& run, const TileGrid& grid, const Problem& problem,
                         TileOrderChoice order, std::int64_t workers, const Machine& machine) {
  const auto m = static_cast<double>(run.shape.m);
  const auto n = static_cast<double>(run.shape.n);
  const auto k = static_cast<double>(run.shape.k);
  const double a_bytes = m * k * size_of(problem.types.a);
  const double b_bytes = k * n * size_of(problem.types.b);
  const double c_bytes = m * n * size_of(problem.types.c) * (problem.beta != 0 ? 2 : 1);
  const double row_bytes = a_bytes / std::max<double>(grid.m, 1);  // of A, per tile row
  const double col_bytes = b_bytes / std::max<double>(grid.n, 1);  // of B, per tile column

  Traffic traffic;
  // Multicast within a cluster: each block of A is asked for once per cluster, and so is B's.
  traffic.cache_bytes = static_cast<double>(grid.tiles()) * (row_bytes + col_bytes);
  const double cache = kUsableCache * static_cast<double>(machine.cache_bytes);
  const bool all_stays = a_bytes + b_bytes <= cache;
  if (all_stays || grid.tiles() <= workers) {
    traffic.memory_bytes = a_bytes + b_bytes;
  } else {
    const WaveFootprint wave = wave_footprint(grid, order, workers);
    const double waves_per_band = std::max(1.0, grid.n / wave.cols);
    const double bands = std::max(1.0, grid.m / wave.rows);
    // The band's rows of A serve all its waves if they stay while columns of B pass by, and B
    // serves all bands if it stays as a whole.
    const bool rows_stay = wave.rows * row_bytes + wave.cols * col_bytes <= cache;
    const bool b_stays = b_bytes + wave.rows * row_bytes <= cache;
    traffic.memory_bytes =
        a_bytes * (rows_stay ? 1 : waves_per_band) + b_bytes * (b_stays ? 1 : bands);
    traffic.memory_bytes = std::min(traffic.memory_bytes, traffic.cache_bytes);
  }
  const double scattered = machine.kind == MachineKind::gpu
                               ? std::max(kScattered * traffic.cache_bytes, a_bytes + b_bytes)
                               : traffic.memory_bytes;
  const auto count = static_cast<double>(run.count);
  return {.memory_bytes = (traffic.memory_bytes + c_bytes) * count,
          .cache_bytes = traffic.cache_bytes * count,
          .scattered_bytes = (scattered + c_bytes) * count};
}

}  // namespace tessera
