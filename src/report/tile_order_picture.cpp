#include "report/tile_order_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/svg.hpp"
#include "schedule/tile_order.hpp"

namespace tessera::report {
namespace {

constexpr double kWidth = 300;
constexpr double kSide = 238;  // of the longer side of C
constexpr double kStrip = 16;  // A's and B's blocks beside C
constexpr double kLeft = 34;
constexpr double kTop = 80;
constexpr std::int64_t kMostTiles = 4096;

class Drawing {
 public:
  Drawing(const TileOrderPicture& picture, Svg& svg) : picture_(picture), svg_(svg) {
    cell_ = kSide / std::max({picture.grid_m, picture.grid_n, 1});
    gap_ = cell_ >= 7 ? 1.2 : cell_ >= 3 ? 0.5 : 0;
  }

  void draw() {
    const double width = cell_ * picture_.grid_n;
    const double height = cell_ * picture_.grid_m;
    const std::int64_t tiles = static_cast<std::int64_t>(picture_.grid_m) * picture_.grid_n;
    const std::int64_t first_wave = std::min({picture_.wave, tiles, kMostTiles});
    if (tiles <= kMostTiles && cell_ >= 3) {
      for (std::int64_t t = first_wave; t < tiles; ++t) cell(at(t), "tile", later_tip(t));
    } else {
      svg_.rect(kLeft, kTop, width, height, style("tile"));
    }
    std::set<std::int32_t> rows;
    std::set<std::int32_t> cols;
    std::string walk;
    for (std::int64_t t = 0; t < first_wave; ++t) {
      const TileCoord tile = at(t);
      rows.insert(tile.m);
      cols.insert(tile.n);
      cell(tile, "first-wave",
           fmt::format("Tile ({}, {}) is number {} in this order:\nin the first wave", tile.m,
                       tile.n, t));
      walk += fmt::format("{}{} {}", t == 0 ? "M" : "L", coordinate(x(tile.n) + cell_ / 2),
                          coordinate(y(tile.m) + cell_ / 2));
    }
    if (cell_ >= 4) svg_.path(walk, style("walk"));
    strips(rows, cols);
    svg_.rect(kLeft, kTop, width, height, style("outline"));
    svg_.text({kLeft + width / 2, kTop - kStrip - 12}, "columns of B", style("middle"));
    const double label_y = kTop + height / 2;
    svg_.text({kLeft - kStrip - 10, label_y}, "rows of A",
              fmt::format("class=\"middle\" transform=\"rotate(-90 {} {})\"",
                          coordinate(kLeft - kStrip - 10), coordinate(label_y)));
  }

  double height() const { return kTop + cell_ * picture_.grid_m + 6; }

 private:
  TileCoord at(std::int64_t t) const {
    return tile_at(picture_.order.order, picture_.order.group_m, t, picture_.grid_m,
                   picture_.grid_n);
  }
  double x(std::int32_t n) const { return kLeft + cell_ * n; }
  double y(std::int32_t m) const { return kTop + cell_ * m; }

  std::string later_tip(std::int64_t t) const {
    const TileCoord tile = at(t);
    return fmt::format("Tile ({}, {}) is number {} in this order:\nin wave {}", tile.m, tile.n, t,
                       t / std::max<std::int64_t>(picture_.wave, 1) + 1);
  }

  void cell(const TileCoord& tile, const char* name, const std::string& tip) {
    svg_.rect(x(tile.n) + gap_ / 2, y(tile.m) + gap_ / 2, cell_ - gap_, cell_ - gap_,
              style_with_tip(name, tip));
  }

  // Runs of neighbouring blocks become one rectangle where single ones could not be told apart.
  void strips(const std::set<std::int32_t>& rows, const std::set<std::int32_t>& cols) {
    svg_.rect(kLeft - kStrip - 5, kTop, kStrip, cell_ * picture_.grid_m, style("free"));
    svg_.rect(kLeft, kTop - kStrip - 5, cell_ * picture_.grid_n, kStrip, style("free"));
    for (const std::int32_t m : rows) {
      svg_.rect(kLeft - kStrip - 5, y(m) + gap_ / 2, kStrip, cell_ - gap_,
                style_with_tip("touched", fmt::format("Block row {} of A", m)));
    }
    for (const std::int32_t n : cols) {
      svg_.rect(x(n) + gap_ / 2, kTop - kStrip - 5, cell_ - gap_, kStrip,
                style_with_tip("touched", fmt::format("Block column {} of B", n)));
    }
  }

  const TileOrderPicture& picture_;
  Svg& svg_;
  double cell_ = 1;
  double gap_ = 0;
};

}  // namespace

std::string tile_order_picture(const TileOrderPicture& picture) {
  Svg svg(kWidth,
          kTop + 8 +
              kSide * std::min(1.0, static_cast<double>(picture.grid_m) /
                                        std::max({picture.grid_m, picture.grid_n, 1})),
          fmt::format("Tile order {}: {}", picture.title, picture.subtitle));
  svg.text({0, 15}, picture.title + (picture.is_chosen ? " (chosen)" : ""),
           style(picture.is_chosen ? "strong big accent" : "strong big"));
  svg.text({0, 33}, picture.subtitle, style(""));
  Drawing(picture, svg).draw();
  return svg.str();
}

}  // namespace tessera::report
