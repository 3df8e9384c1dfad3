// One product on the device, from operands to verdict: fills guarded matrices, runs a forced kernel
// and schedule, and judges C and everything around it.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalogue.hpp"
#include "cuda/device_matrix.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

// What GoogleTest prints of a parameter.
inline void PrintTo(const KernelEntry& kernel, std::ostream* out) {
  *out << kernel.name;
}

}  // namespace tessera

namespace tessera::test {

struct ProductCase {
  GemmTypes types = {};
  GemmShape shape = {};
  DeviceLayout a = {};
  DeviceLayout b = {};
  DeviceLayout c = {};
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue = {};
  std::int64_t bias_stride = 1;
  DeviceFill fill = DeviceFill::normal;
  std::uint64_t seed = 1;
};

// A plan that runs the given kernel under the given schedule, whatever the planner would have
// chosen.
Plan forced_plan(const Problem& problem, const KernelEntry& kernel, const Schedule& schedule);

class DeviceProduct {
 public:
  explicit DeviceProduct(const ProductCase& what);

  const ProductCase& what() const { return what_; }
  Operands operands() const;
  Problem problem() const;
  DeviceMatrix& c() { return c_; }
  // C as it was before the first run.
  const DeviceMatrix& c_before() const { return c_before_; }
  void reset_c(cudaStream_t stream = nullptr) { c_.copy_from(c_before_, stream); }

  // Empty if C is right and nothing else was written. Integer fills demand exact results.
  std::string verdict(std::int64_t contributors, std::int64_t samples = 0) const;

 private:
  ProductCase what_;
  DeviceMatrix a_, b_, c_, c_before_;
  DeviceMatrix bias_;  // 1 × max(m, n)
};

// Runs the case and judges it. Nothing where the kernel cannot take these operands.
std::optional<std::string> run_case(const ProductCase& what, const KernelEntry& kernel,
                                    const Schedule& schedule);

// All GPU kernels that this device runs, whatever the operands.
std::vector<KernelEntry> kernels_under_test();

// Names a parameterised test after its kernel.
struct NameOfKernel {
  std::string operator()(const ::testing::TestParamInfo<KernelEntry>& test) const {
    return std::string(test.param.name);
  }
};

// For failure messages: types, shape, layouts, scalars, epilogue, schedule.
std::string describe_case(const ProductCase& what, const Schedule& schedule);

}  // namespace tessera::test
