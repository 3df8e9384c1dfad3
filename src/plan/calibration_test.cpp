#include "plan/calibration.hpp"

#include <gtest/gtest.h>

#include "tessera/error.hpp"

namespace tessera {
namespace {

// Times as a machine with other constants would give them, which the fit has to find.
std::vector<CalibrationSample> samples_of(const Machine& truth, const Machine& start,
                                          ElementType type) {
  std::vector<CalibrationSample> samples;
  for (Plan& plan : calibration_plans(start, type)) {
    const double seconds = predicted_seconds(truth, plan);
    samples.push_back({std::move(plan), seconds});
  }
  return samples;
}

TEST(Calibration, FindsTheConstantsThatMadeTheTimes) {
  for (const char* name : {"h200", "zen5"}) {
    const Machine start = machine_by_name(name);
    Machine truth = start;
    truth.cost.compute_efficiency *= 0.8;
    truth.cost.tile_seconds *= 2;
    truth.cost.launch_seconds *= 0.6;
    truth.memory_bytes_per_second *= 0.7;
    const Calibration result =
        calibrate(start, samples_of(truth, start, ElementType::bf16), "a test");
    EXPECT_GT(result.before.median_error, 0.05) << name;
    EXPECT_LT(result.after.median_error, 0.02) << name;
    EXPECT_NEAR(result.machine.cost.compute_efficiency, truth.cost.compute_efficiency, 0.05);
    EXPECT_EQ(result.machine.cost.source, "a test");
  }
}

TEST(Calibration, AFewWildSamplesDoNotMatter) {
  const Machine start = machine_by_name("h200");
  Machine truth = start;
  truth.cost.compute_efficiency *= 0.85;
  std::vector<CalibrationSample> samples = samples_of(truth, start, ElementType::bf16);
  samples[3].seconds *= 20;
  samples[7].seconds *= 5;
  EXPECT_LT(calibrate(start, samples, "a test").after.median_error, 0.03);
}

TEST(Calibration, AMachineThatFitsIsLeftAlone) {
  const Machine start = machine_by_name("zen5");
  const Calibration same = calibrate(start, samples_of(start, start, ElementType::f32), "a test");
  EXPECT_DOUBLE_EQ(same.machine.cost.tile_seconds, start.cost.tile_seconds);
  EXPECT_DOUBLE_EQ(same.machine.memory_bytes_per_second, start.memory_bytes_per_second);
}

TEST(Calibration, RefusesNoTimesAndImpossibleOnes) {
  const Machine machine = machine_by_name("zen5");
  EXPECT_THROW(calibrate(machine, {}, ""), Error);
  std::vector<CalibrationSample> samples = samples_of(machine, machine, ElementType::f32);
  samples[0].seconds = 0;
  EXPECT_THROW(calibrate(machine, samples, ""), Error);
}

}  // namespace
}  // namespace tessera
