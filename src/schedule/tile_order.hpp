// Tile orders: which output tile the t-th one is. Neighbours in time should share blocks of A and
// B, so that the shared cache serves them (plan/traffic.hpp counts the blocks).
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"
#include "tessera/schedule.hpp"

namespace tessera {

struct TileCoord {
  std::int32_t m = 0;
  std::int32_t n = 0;
};

namespace tile_order_detail {

struct Vec {
  std::int32_t m = 0;
  std::int32_t n = 0;
};
TESSERA_HD inline Vec operator+(Vec p, Vec q) {
  return {p.m + q.m, p.n + q.n};
}
TESSERA_HD inline Vec operator-(Vec p, Vec q) {
  return {p.m - q.m, p.n - q.n};
}
TESSERA_HD inline Vec operator-(Vec p) {
  return {-p.m, -p.n};
}
TESSERA_HD inline Vec operator*(Vec p, std::int32_t f) {
  return {p.m * f, p.n * f};
}
TESSERA_HD inline Vec half(Vec p) {
  return {p.m >> 1, p.n >> 1};
}
// Vectors here lie along one axis, so their length is the sum of their coordinates' magnitudes.
TESSERA_HD inline std::int32_t length(Vec p) {
  return (p.m < 0 ? -p.m : p.m) + (p.n < 0 ? -p.n : p.n);
}
TESSERA_HD inline Vec direction(Vec p) {
  return {(p.m > 0) - (p.m < 0), (p.n > 0) - (p.n < 0)};
}

// A Hilbert-like curve over a rectangle of any size. The rectangle has one corner at `at` and is
// spanned by `along` (the curve's net direction) and `across`. A long rectangle is cut into two
// along its direction; any other into three: up, along, and down again. Each step descends into the
// part that holds tile t, so the loop takes O(log(grid)) steps. (Idea: J. Červený's generalised
// Hilbert curve.)
TESSERA_HD inline TileCoord hilbert(std::int64_t t, std::int32_t grid_m, std::int32_t grid_n) {
  Vec at{0, 0};
  Vec along = grid_n >= grid_m ? Vec{0, grid_n} : Vec{grid_m, 0};
  Vec across = grid_n >= grid_m ? Vec{grid_m, 0} : Vec{0, grid_n};
  while (length(across) > 1 && length(along) > 1) {
    Vec along_half = half(along);
    Vec across_half = half(across);
    if (2 * length(along) > 3 * length(across)) {
      if (length(along_half) % 2 != 0 && length(along) > 2)
        along_half = along_half + direction(along);
      const std::int64_t first = static_cast<std::int64_t>(length(along_half)) * length(across);
      if (t < first) {
        along = along_half;
      } else {
        t -= first;
        at = at + along_half;
        along = along - along_half;
      }
      continue;
    }
    if (length(across_half) % 2 != 0 && length(across) > 2) {
      across_half = across_half + direction(across);
    }
    const std::int64_t up = static_cast<std::int64_t>(length(across_half)) * length(along_half);
    const std::int64_t over =
        static_cast<std::int64_t>(length(along)) * length(across - across_half);
    if (t < up) {
      along = across_half;
      across = along_half;
    } else if (t < up + over) {
      t -= up;
      at = at + across_half;
      across = across - across_half;
    } else {
      t -= up + over;
      at = at + (along - direction(along)) + (across_half - direction(across));
      const Vec back = -across_half;
      across = -(along - along_half);
      along = back;
    }
  }
  const Vec step = length(across) == 1 ? direction(along) : direction(across);
  const Vec p = at + step * static_cast<std::int32_t>(t);
  return {p.m, p.n};
}

}  // namespace tile_order_detail

// 0 ≤ t < grid_m·grid_n. Every order is a bijection onto the grid.
TESSERA_HD inline TileCoord tile_at(TileOrder order, std::int32_t group_m, std::int64_t t,
                                    std::int32_t grid_m, std::int32_t grid_n) {
  switch (order) {
    case TileOrder::swizzle: {
      const auto [group, within] = divide(t, static_cast<std::int64_t>(group_m) * grid_n);
      const std::int32_t first = static_cast<std::int32_t>(group) * group_m;
      const std::int32_t left = grid_m - first;
      const auto [col, row] = divide(within, left < group_m ? left : group_m);
      return {first + static_cast<std::int32_t>(row), static_cast<std::int32_t>(col)};
    }
    case TileOrder::hilbert:
      return tile_order_detail::hilbert(t, grid_m, grid_n);
    case TileOrder::linear:
      break;
  }
  const auto [row, col] = divide(t, grid_n);
  return {static_cast<std::int32_t>(row), static_cast<std::int32_t>(col)};
}

}  // namespace tessera
