// What standard output can show: colours and characters beyond ASCII only where a person looks at a
// terminal that has them.
#pragma once

#include "report/story.hpp"

namespace tessera::cli {

// Colours: a terminal, and no NO_COLOR. Unicode: a terminal whose locale is UTF-8.
report::StoryTextStyle output_style();

}  // namespace tessera::cli
