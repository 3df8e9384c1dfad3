// The CPU backend's door: runs a plan's schedule over threads.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/tessera.hpp"

namespace tessera::cpu {

// See tessera::run. The operands have been checked. Errors: invalid_argument for a negative number
// of threads or a small workspace, unsupported for a kernel that this processor cannot run,
// out_of_memory; all before anything is written.
void run_plan(const Plan& plan, std::span<const Operands> groups, const RunOptions& options);

// Whether a run may be on more than one thread, if the call allows it.
bool may_use_threads(const Plan& plan);

// Of what the threads share. Each thread also keeps packed panels of its own (workspace.hpp).
std::size_t workspace_bytes(const Plan& plan);

// The plan's kernel. Throws Error as run_plan does.
struct KernelCode;
const KernelCode& code_of(const Plan& plan);

}  // namespace tessera::cpu
