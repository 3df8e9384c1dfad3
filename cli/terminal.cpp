#include "cli/terminal.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "cli/progress.hpp"

namespace tessera::cli {
namespace {

// The locale as POSIX finds it: the first of the three that is set.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != std::string_view::npos ||
           locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace

report::StoryTextStyle output_style() {
  return {.colour = may_colour(STDOUT_FILENO),
          .unicode = isatty(STDOUT_FILENO) == 1 && locale_is_utf8()};
}

}  // namespace tessera::cli
