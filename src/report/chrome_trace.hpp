// A trace as JSON in the format of Chrome's tracing, which Perfetto (ui.perfetto.dev) opens: one
// track per thread, what was predicted as a second process beside what was measured, arrows from
// published partial sums to where they were added.
#pragma once

#include <string>

#include "tessera/plan.hpp"
#include "tessera/trace.hpp"

namespace tessera::report {

std::string chrome_trace(const Plan& plan, const Trace& measured, const Trace& predicted);

// What the cost model expects on `threads` threads: each item takes its iterations' time and its
// own overhead; threads take workers in turn; and all is stretched to end when the plan is
// predicted to.
Trace predict_trace(const Plan& plan, int threads);

}  // namespace tessera::report
