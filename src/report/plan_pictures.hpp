// The pictures of a plan as a piece of HTML for a page that is not ours, such as a notebook; and
// what they share with the whole story (story_page.cpp).
#pragma once

#include <string>
#include <vector>

#include "report/page.hpp"
#include "schedule/fix_up_of.hpp"
#include "tessera/plan.hpp"

namespace tessera::report {

// The predicted time as a bar of its terms.
std::string cost_picture(const Cost& cost);
// What the schedule's chart shows; `shares` where tiles have several pieces.
std::vector<LegendEntry> schedule_legend(bool shares, FixUp fix_up);

// A style sheet and figures: the schedule, the tile order, the predicted time. They belong into an
// element of the class "tessera-plan", to which the style keeps itself. No script; hovering an
// element shows the browser's own tooltip. Text is in the colour of what is around it, so that
// light and dark pages both fit, however they are made so.
std::string plan_pictures(const Plan& plan);

}  // namespace tessera::report
