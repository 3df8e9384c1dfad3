// The GPU of this machine, for the verbs: its description, and runs on its memory. In a build
// without CUDA, and on a machine without a device, every function throws Error(unsupported) and
// says which of the two is missing.
#pragma once

#include <string>
#include <vector>

#include "cli/workload.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {

// The shipped description of the current device where there is one, else one made from what the
// driver tells about it.
Machine cuda_machine();

struct CudaDevice {
  std::string name;
  int multiprocessors = 0;
  std::string architecture;  // "sm_90"
  double memory_bytes = 0;
};
// Nothing throws here: no device is an empty list.
std::vector<CudaDevice> cuda_devices();

struct CudaTiming {
  double seconds = 0;  // of the fastest repetition, on the device
};

// Copies the operands to the device, runs the plan `repeats` times and copies C back.
CudaTiming run_on_cuda(const Plan& plan, Workload& workload, int repeats);

}  // namespace tessera::cli
