// The library's side of set_log: whether anyone listens, and saying a line.
#pragma once

#include <string_view>

#include "tessera/log.hpp"

namespace tessera {

enum class LogTopic {
  dispatch,  // which path a call took, and why
};

// One atomic load, so that silence costs nothing. Ask before making up a line.
bool is_logged(LogTopic topic);

void log_line(std::string_view line);

}  // namespace tessera
