// Runs a plan in the memory of this machine's GPU. In a build without CUDA every call throws
// Error(unsupported).
#pragma once

#include "cli/traced_run.hpp"
#include "cli/workload.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {

// Copies the operands to the device, runs the plan once to warm up and `repeats` times, and copies
// C back. Returns the seconds of the fastest repetition, between events on the device.
double run_on_cuda(const Plan& plan, Workload& workload, int repeats);

// Like run_traced, with the device's cache emptied before each run where the build has the GPU
// benchmark's means to do so.
TracedRun trace_on_cuda(const Plan& plan, Workload& workload, int repeats);

}  // namespace tessera::cli
