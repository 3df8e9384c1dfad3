#include "plan/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/cost.hpp"
#include "plan/shape_runs.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

// A constant of the fit. Bandwidths and the efficiency enter the model as divisors; on a
// logarithmic scale that makes no difference.
using Constant = double& (*)(Machine&);

constexpr std::array<Constant, 10> kConstants = {
    [](Machine& m) -> double& { return m.cost.launch_seconds; },
    [](Machine& m) -> double& { return m.cost.tile_seconds; },
    [](Machine& m) -> double& { return m.cost.split_seconds; },
    [](Machine& m) -> double& { return m.cost.iteration_overhead_seconds; },
    [](Machine& m) -> double& { return m.cost.peer_seconds_per_byte; },
    [](Machine& m) -> double& { return m.cost.pack_seconds_per_byte; },
    [](Machine& m) -> double& { return m.cost.compute_efficiency; },
    [](Machine& m) -> double& { return m.memory_bytes_per_second; },
    [](Machine& m) -> double& { return m.worker_memory_bytes_per_second; },
    [](Machine& m) -> double& { return m.cache_bytes_per_second; },
};
constexpr std::size_t kCount = kConstants.size();

using Vector = std::array<double, kCount>;
using Matrix = std::array<Vector, kCount>;

// Errors beyond this factor count linearly rather than by their square.
constexpr double kHuber = 0.15;
// Pull towards the start, as if so much of a sample had said that a constant is e times off.
constexpr double kPrior = 1e-3;
constexpr int kSteps = 30;
// No constant moves further than this factor from its start in one step, or in all.
constexpr double kLongestStep = 0.5;
constexpr double kFurthest = 4.0;

Machine moved(const Machine& start, const Vector& by) {
  Machine machine = start;
  for (std::size_t i = 0; i < kCount; ++i) kConstants[i](machine) *= std::exp(by[i]);
  machine.cost.compute_efficiency = std::min(machine.cost.compute_efficiency, 1.0);
  return machine;
}

double residual(const Machine& machine, const CalibrationSample& sample) {
  return std::log(predicted_seconds(machine, sample.plan) / sample.seconds);
}

double huber_weight(double error) {
  const double size = std::abs(error);
  return size <= kHuber ? 1 : kHuber / size;
}

// Solves matrix · x = right by elimination; the prior keeps the diagonal positive.
Vector solve(Matrix matrix, Vector right) {
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t row = i + 1; row < kCount; ++row) {
      const double factor = matrix[row][i] / matrix[i][i];
      for (std::size_t col = i; col < kCount; ++col) matrix[row][col] -= factor * matrix[i][col];
      right[row] -= factor * right[i];
    }
  }
  Vector x{};
  for (std::size_t i = kCount; i-- > 0;) {
    double sum = right[i];
    for (std::size_t col = i + 1; col < kCount; ++col) sum -= matrix[i][col] * x[col];
    x[i] = sum / matrix[i][i];
  }
  return x;
}

double objective(const Machine& start, const Vector& at,
                 std::span<const CalibrationSample> samples) {
  const Machine machine = moved(start, at);
  double sum = 0;
  for (const CalibrationSample& sample : samples) {
    const double size = std::abs(residual(machine, sample));
    sum += size <= kHuber ? size * size : kHuber * (2 * size - kHuber);
  }
  for (const double each : at) sum += kPrior * each * each;
  return sum;
}

// One damped Gauss-Newton step from `at`.
Vector step_from(const Machine& start, const Vector& at,
                 std::span<const CalibrationSample> samples) {
  constexpr double kDifference = 1e-3;
  Matrix normal{};
  Vector gradient{};
  const Machine here = moved(start, at);
  std::array<Machine, kCount> beside;
  for (std::size_t i = 0; i < kCount; ++i) {
    Vector there = at;
    there[i] += kDifference;
    beside[i] = moved(start, there);
  }
  for (const CalibrationSample& sample : samples) {
    const double error = residual(here, sample);
    const double weight = huber_weight(error);
    Vector slope;
    for (std::size_t i = 0; i < kCount; ++i) {
      slope[i] = (residual(beside[i], sample) - error) / kDifference;
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      gradient[i] -= weight * slope[i] * error;
      for (std::size_t j = 0; j < kCount; ++j) normal[i][j] += weight * slope[i] * slope[j];
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    normal[i][i] += kPrior;
    gradient[i] -= kPrior * at[i];
  }
  Vector step = solve(normal, gradient);
  for (double& each : step) each = std::clamp(each, -kLongestStep, kLongestStep);
  return step;
}

Vector fit(const Machine& start, std::span<const CalibrationSample> samples) {
  Vector at{};
  double best = objective(start, at, samples);
  for (int i = 0; i < kSteps; ++i) {
    Vector step = step_from(start, at, samples);
    // Halved until it helps: the model has corners where another worker or resource becomes the
    // limit.
    bool helped = false;
    for (int halving = 0; halving < 6 && !helped; ++halving) {
      Vector there = at;
      for (std::size_t c = 0; c < kCount; ++c) {
        there[c] = std::clamp(at[c] + step[c], -kFurthest, kFurthest);
        step[c] /= 2;
      }
      const double value = objective(start, there, samples);
      if (value < best) {
        helped = true;
        best = value;
        at = there;
      }
    }
    if (!helped) break;
  }
  return at;
}

void add_plan(std::vector<Plan>& plans, const Machine& machine, ElementType type,
              const GemmShape& shape, const PlanOptions& options) {
  plans.push_back(make_plan(dense_problem(shape, gemm_types_for(type)), machine, options));
}

}  // namespace

double predicted_seconds(const Machine& machine, const Plan& plan) {
  const TileProfile profile =
      profile_tiles(shape_runs(plan.problem), plan.problem, machine, plan.tile,
                    find_kernel(plan.kernel), plan.schedule.workers);
  const Traffic traffic =
      traffic_of(profile, plan.problem, machine, {plan.schedule.order, plan.schedule.group_m},
                 plan.schedule.workers);
  return predict(profile, machine, plan.schedule, traffic).seconds;
}

ModelQuality judge(const Machine& machine, std::span<const CalibrationSample> samples) {
  std::vector<double> errors;
  for (const CalibrationSample& sample : samples) {
    errors.push_back(std::abs(predicted_seconds(machine, sample.plan) / sample.seconds - 1));
  }
  if (errors.empty()) return {};
  std::ranges::sort(errors);
  return {errors[errors.size() / 2], errors.back()};
}

std::vector<Plan> calibration_plans(const Machine& machine, ElementType type) {
  // A GPU's sizes are such that one product takes 10 µs to 1 ms; a CPU core's, 100 µs to 20 ms.
  const bool gpu = machine.kind == MachineKind::gpu;
  const std::int64_t unit = gpu ? 1024 : 256;
  const std::int64_t long_k = gpu ? 32768 : 8192;
  const std::array shapes = {
      GemmShape{unit, unit, unit},         GemmShape{2 * unit, 2 * unit, 2 * unit},
      GemmShape{4 * unit, 4 * unit, unit}, GemmShape{4 * unit, 4 * unit, 4 * unit},
      GemmShape{128, 128, long_k},         GemmShape{256, 256, long_k / 2},
      GemmShape{unit, unit, long_k / 4},   GemmShape{16, 4 * unit, 4 * unit},
      GemmShape{64, 8 * unit, 2 * unit},   GemmShape{1, 4096, 4096},
      GemmShape{3 * unit, 5 * unit, unit}, GemmShape{unit + 1, unit - 1, unit},
  };
  std::vector<Plan> plans;
  for (const GemmShape& shape : shapes) {
    add_plan(plans, machine, type, shape, {});
    if (machine.workers == 1) continue;
    for (const ScheduleKind kind :
         {ScheduleKind::data_parallel, ScheduleKind::split_k, ScheduleKind::stream_k}) {
      PlanOptions options;
      options.schedule = kind;
      add_plan(plans, machine, type, shape, options);
    }
  }
  return plans;
}

Calibration calibrate(const Machine& start, std::span<const CalibrationSample> samples,
                      const std::string& source) {
  if (samples.empty()) {
    throw Error(ErrorCode::invalid_argument, "samples", "hold at least one measurement", "none",
                "measure the plans of calibration_plans");
  }
  for (const CalibrationSample& sample : samples) {
    if (sample.seconds > 0 && std::isfinite(sample.seconds)) continue;
    throw Error(ErrorCode::invalid_argument, "samples", "have positive times",
                std::to_string(sample.seconds), "measure again");
  }
  Calibration calibration;
  calibration.before = judge(start, samples);
  calibration.machine = moved(start, fit(start, samples));
  calibration.machine.cost.source = source;
  calibration.after = judge(calibration.machine, samples);
  return calibration;
}

}  // namespace tessera
