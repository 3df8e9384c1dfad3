// Runs a plan on random operands, on this machine's CPU or its GPU, and keeps what happened when.
#pragma once

#include <cstdint>

#include "tessera/plan.hpp"
#include "tessera/trace.hpp"

namespace tessera::cli {

struct TracedRun {
  Trace trace;         // of the fastest run
  double seconds = 0;  // of the fastest run without a trace
  double traced_seconds = 0;
};

// A warm-up, then `repeats` runs with and without the trace in turn. Throws Error(unsupported) for
// a plan that nothing here can run.
TracedRun run_traced(const Plan& plan, int threads, int repeats, std::uint64_t seed);

}  // namespace tessera::cli
