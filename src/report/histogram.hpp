// How often a ratio occurs: bars over a logarithmic axis, with a mark at 1 and one at the mean.
#pragma once

#include <string>
#include <vector>

namespace tessera::report {

struct Histogram {
  std::string description = {};
  std::string x_title = {};
  std::vector<double> ratios = {};
  double mean = 0;  // marked; 0: no mark
  std::string mean_text = {};
};

std::string histogram_picture(const Histogram& histogram);

}  // namespace tessera::report
