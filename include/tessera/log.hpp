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

}  // namespace tessera
