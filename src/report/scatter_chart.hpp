// Points over two axes, each linear or logarithmic, with optional guide lines.
#pragma once

#include <string>
#include <vector>

namespace tessera::report {

struct ScatterPoint {
  double x = 0;
  double y = 0;
  std::string tip;
  bool stands_out = false;
};

enum class GuideKind { none, level, diagonal };

struct ScatterChart {
  std::string description;
  std::string x_title;
  std::string y_title;
  bool x_is_log = true;
  bool y_is_log = true;
  double y_base = 2;  // of the ticks of a logarithmic y axis
  double x_base = 10;
  GuideKind guide = GuideKind::none;  // y = level, or y = x
  double level = 1;
  std::string guide_text;
  // How ticks are written; null: report::figure.
  std::string (*x_text)(double) = nullptr;
  std::string (*y_text)(double) = nullptr;
  std::vector<ScatterPoint> points;
  bool joins_points = false;  // a line through the points, in their order
};

// Points without a place on the axes (not finite, or not positive on a logarithmic one) are left
// out; of more than 4000 every n-th is drawn.
std::string scatter_chart(const ScatterChart& chart);

}  // namespace tessera::report
