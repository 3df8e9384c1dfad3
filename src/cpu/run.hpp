// The CPU backend's door: runs a plan's schedule over threads.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/tessera.hpp"

namespace tessera::cpu {

// See tessera::run. The operands have been checked.
void run_plan(const Plan& plan, std::span<const Operands> groups, const RunOptions& options);

std::size_t workspace_bytes(const Plan& plan);

}  // namespace tessera::cpu
