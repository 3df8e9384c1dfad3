// One horizontal bar of named parts that add up: a predicted time, or what a scratchpad holds.
#pragma once

#include <string>
#include <vector>

namespace tessera::report {

struct BarPart {
  std::string name;
  double value = 0;
  std::string text;   // the value as people read it
  std::string style;  // a class of the page's style sheet
};

struct Bar {
  std::string description;
  std::vector<BarPart> parts;
  // A mark on the bar, such as a limit; what lies past it is drawn as too much. 0: none.
  double limit = 0;
  bool limit_is_soft = false;  // a cache's: past it nothing is refused
  std::string limit_text;
};

std::string bar_picture(const Bar& bar);

}  // namespace tessera::report
