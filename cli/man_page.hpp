// The man page, in troff, from the option tree.
#pragma once

#include <string>

#include "cli/option_tree.hpp"

namespace tessera::cli {

std::string man_page(const OptionTree& tree);

}  // namespace tessera::cli
