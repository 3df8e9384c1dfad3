// The sentences of a plan's story, shared by the terminal and the page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/story.hpp"

namespace tessera::report {

// "The tile (128 × 128) multiplies every byte 64 times …"
std::string words_on_intensity(const Story& story);
// What the schedule does and why, a few sentences each: what whole tiles alone would do, how the
// tiles are cut, why so many of them, where partial sums meet.
std::vector<std::string> words_on_schedule(const Story& story);
// Of a plan that keeps tiles whole and so leaves workers idle: what cutting them would do. The same
// plan with the schedule that is cut; nothing where no cut would keep more workers busy.
std::optional<Story> cut_instead(const Story& story);
std::string words_on_cut_instead(const Story& story, const Story& cut);
std::string words_on_order(const Story& story);
std::string words_on_scratchpad(const Story& story);
std::string words_on_pipeline(const Story& story);
// What the machine's scratchpad is called there.
std::string scratchpad_name(const Machine& machine);
// What a term of the cost model stands for.
std::string words_on_term(const std::string& name);

}  // namespace tessera::report
