// Fitting a machine's constants to measured times. Pure: whoever measures (the command line, a
// backend's benchmark) runs the plans of calibration_plans and hands the times to calibrate.
//
// The fit is least squares on log(predicted / measured) over the logarithms of the constants,
// solved by damped Gauss-Newton steps on the cost model itself, so the model is stated once
// (cost.cpp) and no constant can become negative. Samples far off count less (Huber's weights). A
// weak pull towards the start keeps a constant where it was if no sample tells of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera {

struct CalibrationSample {
  Plan plan;           // its problem, kernel, tile and schedule count; its cost does not
  double seconds = 0;  // measured, median
};

// How well a machine's constants predict samples.
struct ModelQuality {
  double median_error = 0;  // of |predicted / measured − 1|
  double worst_error = 0;
};

struct Calibration {
  Machine machine;  // with the fitted constants
  ModelQuality before;
  ModelQuality after;
};

// Problems and schedules that between them tell of every constant: large and small, one tile and
// many, shallow and deep splits, long and short k. A few milliseconds each on a fitting machine.
std::vector<Plan> calibration_plans(const Machine& machine, ElementType type);

// What the model says of a plan on a machine, whatever the plan was made for.
double predicted_seconds(const Machine& machine, const Plan& plan);

ModelQuality judge(const Machine& machine, std::span<const CalibrationSample> samples);

// `source` says where and when the samples were measured. Throws Error(invalid_argument) for no
// samples or a time that is not positive.
Calibration calibrate(const Machine& start, std::span<const CalibrationSample> samples,
                      const std::string& source);

}  // namespace tessera
