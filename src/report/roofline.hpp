// The roofline: what a machine can compute at an arithmetic intensity, and where a product stands
// on it with every trick it uses. Both axes are logarithmic.
#pragma once

#include <string>
#include <vector>

namespace tessera::report {

struct RooflinePoint {
  std::string name;
  double flops_per_byte = 0;
  // 0: on the roof, at the rate that this intensity allows.
  double flops_per_second = 0;
  bool is_measured = false;
  std::string tip;
};

struct Roofline {
  double peak_flops_per_second = 0;
  double memory_bytes_per_second = 0;
  double cache_bytes_per_second = 0;  // 0: no second roof
  // From the least to the most reuse; a dotted line leads through those that are not measured.
  std::vector<RooflinePoint> points = {};
};

// min(peak, intensity · memory bandwidth)
double attainable(const Roofline& roofline, double flops_per_byte);
// The intensity from which on arithmetic is the limit.
double ridge(const Roofline& roofline);

// Whether the cache's bandwidth is worth a slope of its own.
bool has_cache_roof(const Roofline& roofline);

std::string roofline_picture(const Roofline& roofline);

}  // namespace tessera::report
