#include "report/bar.hpp"

#include <algorithm>

#include "report/axis.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace tessera::report {
namespace {

constexpr double kWidth = 960;
constexpr double kHigh = 42;

}  // namespace

std::string bar_picture(const Bar& bar) {
  double sum = 0;
  for (const BarPart& part : bar.parts) sum += std::max(part.value, 0.0);
  const double most = std::max({sum, bar.limit, 1e-300});
  const LinearScale across{0, most, 1, kWidth - 1};
  const double top = bar.limit > 0 ? 26 : 6;
  Svg svg(kWidth, top + kHigh + 8, bar.description, 720);
  svg.rect(across.from, top, across.to - across.from, kHigh, style("free"));
  double at = 0;
  for (const BarPart& part : bar.parts) {
    if (!(part.value > 0)) continue;
    const double x = across(at);
    const double width = across(at + part.value) - x;
    const bool is_over =
        bar.limit > 0 && !bar.limit_is_soft && at + part.value > bar.limit * (1 + 1e-9);
    svg.rect(x, top, std::max(width - 1, 0.5), kHigh,
             style_with_tip(is_over ? "over" : part.style,
                            part.name + "\n" + part.text + "\n" + percent(part.value / most)));
    if (width > 7.0 * static_cast<double>(std::max(columns(part.name), columns(part.text))) + 10) {
      svg.text({x + width / 2, top + 19}, part.name, style("on middle"));
      svg.text({x + width / 2, top + 34}, part.text, style("on middle"));
    } else if (width > 7.0 * static_cast<double>(columns(part.text)) + 4) {
      svg.text({x + width / 2, top + 26}, part.text, style("on middle"));
    }
    at += part.value;
  }
  if (bar.limit > 0) {
    const double x = across(bar.limit);
    svg.line({x, top - 6}, {x, top + kHigh + 6}, style("mark"));
    svg.text({std::min(x, kWidth - 1), top - 10}, bar.limit_text, style("strong end"));
  }
  return svg.str();
}

}  // namespace tessera::report
