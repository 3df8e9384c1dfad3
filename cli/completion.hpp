// Completion scripts for shells, from the option tree.
#pragma once

#include <string>
#include <string_view>

#include "cli/option_tree.hpp"

namespace tessera::cli {

// `shell` is bash, zsh or fish; throws Error(invalid_argument) for another.
std::string completion_script(const OptionTree& tree, std::string_view shell);

}  // namespace tessera::cli
