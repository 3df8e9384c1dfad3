#include "report/scatter_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/axis.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

constexpr double kWidth = 960;
constexpr double kHeight = 400;
constexpr double kLeft = 78;
constexpr double kBottom = kHeight - 46;
constexpr double kTop = 34;
constexpr double kRight = kWidth - 18;
constexpr std::size_t kMostPoints = 4000;

struct Axis {
  std::function<double(double)> place;
  std::vector<double> ticks;
};

bool has_place(double value, bool is_log) {
  return std::isfinite(value) && (!is_log || value > 0);
}

Axis make_axis(double low, double high, bool is_log, double base, double from, double to,
               int ticks) {
  if (is_log) {
    const double step = std::sqrt(base);
    double least = std::pow(step, std::floor(std::log(low) / std::log(step) - 0.2));
    double most = std::pow(step, std::ceil(std::log(high) / std::log(step) + 0.2));
    if (!(most > least)) most = least * base;
    const LogScale scale{least, most, from, to};
    // Ratios near 1 span less than a power of the base: then ordinary round numbers do.
    std::vector<double> values = scale.ticks(base, ticks);
    if (values.size() < 3) values = LinearScale{least, most, from, to}.ticks(ticks);
    return {scale, std::move(values)};
  }
  const double margin = high > low ? 0.06 * (high - low) : std::max(1.0, std::abs(high) * 0.1);
  const LinearScale scale{low >= 0 && low < 0.4 * high ? 0 : low - margin, high + margin, from, to};
  return {scale, scale.ticks(ticks)};
}

}  // namespace

std::string scatter_chart(const ScatterChart& chart) {
  Svg svg(kWidth, kHeight, chart.description, 720);
  std::vector<const ScatterPoint*> points;
  for (const ScatterPoint& point : chart.points) {
    if (has_place(point.x, chart.x_is_log) && has_place(point.y, chart.y_is_log)) {
      points.push_back(&point);
    }
  }
  svg.text({0, 14}, chart.y_title, style("ink"));
  svg.text({kRight, kHeight - 6}, chart.x_title, style("end ink"));
  if (points.empty()) {
    svg.text({kWidth / 2, kHeight / 2}, "nothing to show", style("middle"));
    return svg.str();
  }
  const auto by_x = [](const ScatterPoint* a, const ScatterPoint* b) { return a->x < b->x; };
  const auto by_y = [](const ScatterPoint* a, const ScatterPoint* b) { return a->y < b->y; };
  const auto [left, right] = std::minmax_element(points.begin(), points.end(), by_x);
  const auto [below, above] = std::minmax_element(points.begin(), points.end(), by_y);
  double x_low = (*left)->x, x_high = (*right)->x, y_low = (*below)->y, y_high = (*above)->y;
  if (chart.guide == GuideKind::level) {
    y_low = std::min(y_low, chart.level);
    y_high = std::max(y_high, chart.level);
  } else if (chart.guide == GuideKind::diagonal) {
    x_low = y_low = std::min(x_low, y_low);
    x_high = y_high = std::max(x_high, y_high);
  }
  const Axis x = make_axis(x_low, x_high, chart.x_is_log, chart.x_base, kLeft, kRight, 8);
  const Axis y = make_axis(y_low, y_high, chart.y_is_log, chart.y_base, kBottom, kTop, 7);
  for (const double tick : x.ticks) {
    svg.line({x.place(tick), kBottom}, {x.place(tick), kTop}, style("grid"));
    svg.text({x.place(tick), kBottom + 18}, chart.x_text ? chart.x_text(tick) : figure(tick),
             style("middle"));
  }
  for (const double tick : y.ticks) {
    svg.line({kLeft, y.place(tick)}, {kRight, y.place(tick)}, style("grid"));
    svg.text({kLeft - 8, y.place(tick) + 4}, chart.y_text ? chart.y_text(tick) : figure(tick),
             style("end"));
  }
  if (chart.guide == GuideKind::level) {
    const double at = y.place(chart.level);
    svg.line({kLeft, at}, {kRight, at}, style("mark"));
    svg.text({kRight - 4, at - 7}, chart.guide_text, style("end ink halo"));
  } else if (chart.guide == GuideKind::diagonal) {
    svg.line({x.place(x_low), y.place(x_low)}, {x.place(x_high), y.place(x_high)}, style("mark"));
    svg.text({x.place(x_high) - 12, y.place(x_high) - 6}, chart.guide_text, style("end ink halo"));
  }
  if (chart.joins_points) {
    std::string line;
    for (const ScatterPoint* point : points) {
      line += fmt::format("{}{} {}", line.empty() ? "M" : "L", coordinate(x.place(point->x)),
                          coordinate(y.place(point->y)));
    }
    svg.path(line, style("axis"));
  }
  const std::size_t step = (points.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < points.size(); i += step) {
    svg.circle({x.place(points[i]->x), y.place(points[i]->y)}, points.size() > 600 ? 3 : 4.5,
               style_with_tip(points[i]->stands_out ? "dot-warm" : "dot", points[i]->tip));
  }
  return svg.str();
}

}  // namespace tessera::report
