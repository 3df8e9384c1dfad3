#include "report/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/axis.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

constexpr double kWidth = 960;
constexpr double kHeight = 460;

double power_below(double base, double value) {
  return std::pow(base, std::floor(std::log(value) / std::log(base)));
}
double power_above(double base, double value) {
  return std::pow(base, std::ceil(std::log(value) / std::log(base)));
}

struct Axes {
  LogScale x, y;

  Point at(double intensity, double rate) const { return {x(intensity), y(rate)}; }
};

Axes axes_of(const Roofline& roofline) {
  double least = 0.5;
  double most = 2 * ridge(roofline);
  for (const RooflinePoint& point : roofline.points) {
    if (!(point.flops_per_byte > 0)) continue;
    least = std::min(least, point.flops_per_byte);
    most = std::max(most, point.flops_per_byte);
  }
  const double low = power_below(2, least) / 2;
  const double high = power_above(2, most) * 4;
  double slowest = attainable(roofline, low);
  for (const RooflinePoint& point : roofline.points) {
    if (point.flops_per_second > 0) slowest = std::min(slowest, point.flops_per_second);
  }
  return {{low, high, 92, kWidth - 22},
          {slowest * 0.8, roofline.peak_flops_per_second * 2.2, kHeight - 44, 14}};
}

void draw_grid(const Axes& axes, Svg& svg) {
  for (const double tick : axes.x.ticks(2, 9)) {
    const double x = axes.x(tick);
    svg.line({x, axes.y.from}, {x, axes.y.to}, style("grid"));
    svg.text({x, axes.y.from + 18}, tick < 1 ? fmt::format("1/{:.0f}", 1 / tick) : figure(tick),
             style("middle"));
  }
  for (const double tick : axes.y.ticks(10, 6)) {
    const double y = axes.y(tick);
    svg.line({axes.x.from, y}, {axes.x.to, y}, style("grid"));
    svg.text({axes.x.from - 8, y + 4}, flops_per_second(tick), style("end"));
  }
  svg.text({axes.x.to, axes.y.from + 36}, "FLOP per byte from memory", style("end"));
}

void draw_roof(const Roofline& roofline, const Axes& axes, Svg& svg) {
  const double peak = roofline.peak_flops_per_second;
  const Point start = axes.at(axes.x.low, attainable(roofline, axes.x.low));
  const Point corner = axes.at(ridge(roofline), peak);
  const Point end = axes.at(axes.x.high, peak);
  svg.path(fmt::format("M{} {}L{} {}H{}V{}H{}z", coordinate(start.x), coordinate(start.y),
                       coordinate(corner.x), coordinate(corner.y), coordinate(end.x),
                       coordinate(axes.y.from), coordinate(start.x)),
           style("roof-area"));
  draw_grid(axes, svg);
  if (has_cache_roof(roofline)) {
    const double cache_ridge = peak / roofline.cache_bytes_per_second;
    const Point from = axes.at(axes.x.low, axes.x.low * roofline.cache_bytes_per_second);
    const Point to = axes.at(cache_ridge, peak);
    svg.line(from, to, style("roof-cache"));
  }
  svg.path(fmt::format("M{} {}L{} {}H{}", coordinate(start.x), coordinate(start.y),
                       coordinate(corner.x), coordinate(corner.y), coordinate(end.x)),
           style("roof"));
  svg.line(corner, {corner.x, axes.y.from}, style("mark"));
  svg.text({corner.x + 7, axes.y.from - 10},
           fmt::format("ridge at {} FLOP/byte", figure(ridge(roofline))), style("ink halo"));
  svg.text({axes.x.to - 6, corner.y - 9}, fmt::format("peak {}", flops_per_second(peak)),
           style("strong end halo"));

  // Along the slope, at a third of its length.
  const Point third{start.x + (corner.x - start.x) * 0.36, start.y + (corner.y - start.y) * 0.36};
  const double angle =
      std::atan2(corner.y - start.y, corner.x - start.x) * 180 / 3.14159265358979323846;
  svg.text({third.x, third.y - 9},
           fmt::format("memory {}", bytes_per_second(roofline.memory_bytes_per_second)),
           fmt::format("class=\"strong middle halo\" transform=\"rotate({} {} {})\"",
                       coordinate(angle), coordinate(third.x), coordinate(third.y)));
}

struct Placed {
  const RooflinePoint* point;
  Point at;
  double rate;
};

// Beside a point, where there is room: to the lower right of what lies on the slope, and below
// what lies on the flat roof, one further down than the other.
void draw_labels(const std::vector<Placed>& placed, const Axes& axes, Svg& svg) {
  std::vector<Point> taken;
  for (const Placed& one : placed) {
    const std::string name = one.point->name;
    const std::string rate = flops_per_second(one.rate);
    const double width = 7.0 * static_cast<double>(std::max(columns(name), columns(rate)));
    const bool flip = one.at.x + 14 + width > axes.x.to;
    Point at{flip ? one.at.x - 12 : one.at.x + 12, one.at.y + 20};
    const auto clashes = [&] {
      return std::any_of(taken.begin(), taken.end(), [&](const Point& other) {
        return std::abs(other.y - at.y) < 34 && std::abs(other.x - at.x) < 190;
      });
    };
    while (clashes()) at.y += 8;
    taken.push_back(at);
    if (at.y > one.at.y + 30) svg.line(one.at, {one.at.x, at.y - 6}, style("grid"));
    const std::string side = flip ? " end" : "";
    svg.text(at, name, style("strong halo" + side));
    svg.text({at.x, at.y + 15}, rate, style("ink halo" + side));
  }
}

}  // namespace

double attainable(const Roofline& roofline, double flops_per_byte) {
  return std::min(roofline.peak_flops_per_second,
                  flops_per_byte * roofline.memory_bytes_per_second);
}

double ridge(const Roofline& roofline) {
  return roofline.peak_flops_per_second / roofline.memory_bytes_per_second;
}

bool has_cache_roof(const Roofline& roofline) {
  return roofline.cache_bytes_per_second > 1.1 * roofline.memory_bytes_per_second;
}

std::string roofline_picture(const Roofline& roofline) {
  Svg svg(kWidth, kHeight, "Roofline: attainable rate over arithmetic intensity", 720);
  if (!(roofline.peak_flops_per_second > 0) || !(roofline.memory_bytes_per_second > 0)) {
    svg.text({kWidth / 2, kHeight / 2}, "The machine's description has no peak or bandwidth.",
             style("middle"));
    return svg.str();
  }
  const Axes axes = axes_of(roofline);
  draw_roof(roofline, axes, svg);

  std::vector<Placed> placed;
  std::string steps;
  for (const RooflinePoint& point : roofline.points) {
    if (!(point.flops_per_byte > 0)) continue;
    const double rate = point.flops_per_second > 0 ? point.flops_per_second
                                                   : attainable(roofline, point.flops_per_byte);
    const Point at = axes.at(point.flops_per_byte, rate);
    placed.push_back({&point, at, rate});
    if (point.is_measured) continue;
    steps += fmt::format("{}{} {}", steps.empty() ? "M" : "L", coordinate(at.x), coordinate(at.y));
  }
  if (!steps.empty()) svg.path(steps, style("step"));
  draw_labels(placed, axes, svg);
  for (const Placed& one : placed) {
    svg.circle(one.at, 6.5,
               style_with_tip(one.point->is_measured ? "point-measured" : "point",
                              one.point->name + "\n" + intensity(one.point->flops_per_byte) + "\n" +
                                  flops_per_second(one.rate) +
                                  (one.point->tip.empty() ? "" : "\n" + one.point->tip)));
  }
  return svg.str();
}

}  // namespace tessera::report
