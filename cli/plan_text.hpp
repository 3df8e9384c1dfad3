// Plans for people: the choice, its decomposition and its cost in a few lines, and every other
// candidate in a table.
#pragma once

#include <string>

#include "tessera/plan.hpp"

namespace tessera::cli {

// About a dozen lines of "name  value".
std::string plan_text(const Plan& plan);

// Three lines, for verbs that run a plan.
std::string plan_summary(const Plan& plan);

// One line per candidate of plan.others: predicted time, or why it was rejected.
std::string candidates_text(const Plan& plan);

// "hybrid, 82 workers, two-tile, swizzle(8) order"
std::string schedule_text(const Plan& plan);

// "1.23 ms"
std::string seconds_text(double seconds);

}  // namespace tessera::cli
