// The last hop of every public call before a backend.
#pragma once

#include <span>
#include <string_view>

#include "plan_cache.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

// Runs the plan where it was made for. The operands have been checked.
void run_on_backend(const Plan& plan, std::span<const Operands> groups, const RunOptions& options);

// The threads that a call on the CPU asked for, itself or by the environment; 0 for the default.
int threads_of(const RunOptions& options);

// One line for the log, where the program wants it: the path that `call` takes.
void log_path(std::string_view call, const FoundPlan& found);

}  // namespace tessera
