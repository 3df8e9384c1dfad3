#include "report/axis.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::report {

std::vector<double> LinearScale::ticks(int wanted) const {
  const double rough = (high - low) / std::max(wanted, 1);
  if (!(rough > 0) || !std::isfinite(rough)) return {low};
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / decade;
  const double step = decade * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  std::vector<double> values;
  const double first = std::ceil(low / step);
  const double last = std::floor(high / step * (1 + 1e-12));
  for (double i = first; i <= last; ++i) values.push_back(i * step);
  return values;
}

double LogScale::operator()(double value) const {
  const double inside = std::clamp(std::isfinite(value) ? value : low, low, high);
  return from + std::log(inside / low) / std::log(high / low) * (to - from);
}

std::vector<double> LogScale::ticks(double base, int most) const {
  const double slack = 1e-9;
  const auto first = static_cast<int>(std::ceil(std::log(low) / std::log(base) - slack));
  const auto last = static_cast<int>(std::floor(std::log(high) / std::log(base) + slack));
  const int step = std::max(1, (last - first + most) / std::max(most, 1));
  std::vector<double> values;
  for (int i = first; i <= last; i += step) values.push_back(std::pow(base, i));
  return values;
}

}  // namespace tessera::report
