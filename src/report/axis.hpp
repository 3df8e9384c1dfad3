// Scales: from values to places on a picture, and which values deserve a tick.
#pragma once

#include <vector>

namespace tessera::report {

struct LinearScale {
  double low = 0;   // value at `from`
  double high = 1;  // value at `to`
  double from = 0;
  double to = 1;

  double operator()(double value) const {
    return from + (value - low) / (high - low) * (to - from);
  }
  // Round values within [low, high], about `wanted` of them.
  std::vector<double> ticks(int wanted) const;
};

// Values are positive; what lies outside [low, high] is placed at the border.
struct LogScale {
  double low = 1;
  double high = 10;
  double from = 0;
  double to = 1;

  double operator()(double value) const;
  // Powers of `base` within [low, high], thinned to at most `most`.
  std::vector<double> ticks(double base, int most) const;
};

}  // namespace tessera::report
