// Checks of what callers hand in. Everything throws tessera::Error before anything is written.
#pragma once

#include <span>

#include "tessera/plan.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// Sizes, types and epilogue of a Problem. (describe, in the public API, checks operands too.)
void check_problem(const Problem& problem);

// That operands are what a plan was made for: as many groups, the same shapes, types and epilogue,
// and layouts that its kernel can read.
void check_operands_fit(const Problem& planned, std::span<const Operands> groups);

}  // namespace tessera
