#include "report/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/axis.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

constexpr double kWidth = 960;
constexpr double kHeight = 300;
constexpr double kLeft = 46;
constexpr double kRight = kWidth - 14;
constexpr double kTop = 40;
constexpr double kBottom = kHeight - 46;
constexpr int kMostBins = 48;
// On both sides of 1, in powers of two.
constexpr double kLeastSpan = 0.1;

// Ratios as round numbers on both sides of 1, as far as they fit.
std::vector<double> ratio_ticks(const LogScale& scale) {
  std::vector<double> ticks = scale.ticks(2, 9);
  if (ticks.size() >= 4) return ticks;
  return LinearScale{scale.low, scale.high, 0, 1}.ticks(8);
}

}  // namespace

std::string histogram_picture(const Histogram& histogram) {
  Svg svg(kWidth, kHeight, histogram.description, 720);
  std::vector<double> ratios;
  for (const double ratio : histogram.ratios) {
    if (ratio > 0 && std::isfinite(ratio)) ratios.push_back(ratio);
  }
  svg.text({kRight, kHeight - 6}, histogram.x_title, style("end ink"));
  if (ratios.empty()) {
    svg.text({kWidth / 2, kHeight / 2}, "nothing to show", style("middle"));
    return svg.str();
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  // A bin never straddles 1, so that winners and losers have bars of their own.
  const double low = std::min(std::log2(*least), -kLeastSpan);
  const double high = std::max(std::log2(*most), kLeastSpan);
  const double width = (high - low) / kMostBins;
  const auto first = static_cast<int>(std::floor(low / width));
  const auto last = std::max(first + 1, static_cast<int>(std::floor(high / width)) + 1);
  std::vector<std::int64_t> bins(static_cast<std::size_t>(last - first));
  for (const double ratio : ratios) {
    const auto bin = static_cast<int>(std::floor(std::log2(ratio) / width)) - first;
    ++bins[static_cast<std::size_t>(std::clamp(bin, 0, last - first - 1))];
  }
  const auto highest = static_cast<double>(*std::max_element(bins.begin(), bins.end()));
  const LogScale x{std::exp2(first * width), std::exp2(last * width), kLeft, kRight};
  const LinearScale y{0, highest, kBottom, kTop};
  for (const double tick : y.ticks(4)) {
    svg.line({kLeft, y(tick)}, {kRight, y(tick)}, style("grid"));
    svg.text({kLeft - 8, y(tick) + 4}, figure(tick), style("end"));
  }
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    const double from = std::exp2((first + static_cast<int>(i)) * width);
    const double to = std::exp2((first + static_cast<int>(i) + 1) * width);
    const double at = y(static_cast<double>(bins[i]));
    svg.rect(x(from) + 0.5, at, std::max(1.0, x(to) - x(from) - 1), kBottom - at,
             style_with_tip(
                 to <= 1 + 1e-9 ? "bar-slow" : "bar",
                 fmt::format("{} to {}\n{}", times(from), times(to), counted(bins[i], "shape"))));
  }
  svg.line({kLeft, kBottom}, {kRight, kBottom}, style("axis"));
  for (const double tick : ratio_ticks(x)) {
    svg.line({x(tick), kBottom}, {x(tick), kBottom + 4}, style("axis"));
    svg.text({x(tick), kBottom + 18}, times(tick), style("middle"));
  }
  svg.line({x(1), kBottom}, {x(1), kTop - 8}, style("axis"));
  if (histogram.mean > 0) {
    const double at = x(histogram.mean);
    svg.line({at, kBottom}, {at, kTop - 14}, style("mark"));
    const bool flip = at > kWidth * 0.7;
    svg.text({at + (flip ? -6 : 6), kTop - 12}, histogram.mean_text,
             style(flip ? "strong end halo" : "strong halo"));
  }
  return svg.str();
}

}  // namespace tessera::report
