// What the library has to say while it works: one line per call, with the path it took and why.
//
// Nobody who does not ask hears anything: the lines go to the program's own function, or, where it
// has set none, to stderr for the topics that the environment variable TESSERA_VERBOSE names.
#pragma once

#include <functional>
#include <string_view>

#include "tessera/export.hpp"

namespace tessera {

// Receives one line, without a newline, from whichever thread made the call; must not throw.
using LogFunction = std::function<void(std::string_view line)>;

// Replaces the receiver for the whole process; an empty function restores the default. A call under
// way in another thread may still reach the former receiver.
TESSERA_API void set_log(LogFunction receiver);

enum class LogTopic {
  dispatch,  // which path a call took, and why
};

// For what is built on the library and has something to say in its manner: whether anyone listens
// (one atomic load, so that silence costs nothing), and a line for whoever does.
TESSERA_API bool is_logged(LogTopic topic);
TESSERA_API void log_line(std::string_view line);

}  // namespace tessera
