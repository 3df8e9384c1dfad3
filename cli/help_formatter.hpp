// Help texts that are the same with every version of CLI11: docs/cli.md is made from them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tessera::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  // "VALUES [default]", and the environment variable that stands in for the option.
  std::string make_option_opts(const CLI::Option* option) const override;
};

// Throws Error(invalid_argument) that lists the verbs where the first word is none of them. (CLI11
// would only say that a verb is missing.)
void check_verb(const CLI::App& app, int argc, const char* const* argv);

}  // namespace tessera::cli
