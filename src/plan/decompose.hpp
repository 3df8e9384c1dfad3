// The counts of a divided iteration space, for people and for `tessera plan`.
#pragma once

#include "tessera/plan.hpp"

namespace tessera {

Decomposition decompose(const Plan& plan);

}  // namespace tessera
