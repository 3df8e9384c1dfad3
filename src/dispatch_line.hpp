// One line for the log: which path a call took, and why.
#pragma once

#include <string>
#include <string_view>

#include "tessera/plan.hpp"

namespace tessera {

// `call` is the public function's name; `origin` says where the plan came from.
std::string dispatch_line(std::string_view call, const Plan& plan, std::string_view origin);

}  // namespace tessera
