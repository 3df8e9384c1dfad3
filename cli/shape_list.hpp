// Lists of shapes by name: those in the command itself, or a CSV file.
#pragma once

#include <string>

namespace tessera::cli {

// The list's text. Throws Error(io) for what is neither a built-in list nor a readable file.
std::string shape_list(const std::string& name);

}  // namespace tessera::cli
