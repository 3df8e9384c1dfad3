// The command as it was typed, for reports that say how to make them again.
#pragma once

#include <string>

namespace tessera::cli {

// Called once, by main.
void remember_command_line(int argc, const char* const* argv);

// "tessera explain 1536x1792x6016 --html 'my file.html'", quoted for a shell.
std::string command_line();

// One argument, in single quotes where a shell would take it apart.
std::string shell_quoted(const std::string& argument);

}  // namespace tessera::cli
