// Why a plan is what it is: the sentence in Plan::reason.
#pragma once

#include <string>

#include "plan/candidates.hpp"

namespace tessera {

std::string reason_for(const PlanRequest& request, const TileCandidate& candidate,
                       const TileProfile& profile, const Schedule& schedule,
                       const Prediction& prediction);

}  // namespace tessera
