#include "cli/command_line.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tessera::cli {
namespace {

std::string& remembered() {
  static std::string text = "tessera";
  return text;
}

}  // namespace

std::string shell_quoted(const std::string& argument) {
  constexpr std::string_view kPlain = "-_./=:,+@%";
  const bool is_plain =
      !argument.empty() && std::all_of(argument.begin(), argument.end(), [&](unsigned char c) {
        return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (is_plain) return argument;
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void remember_command_line(int argc, const char* const* argv) {
  std::string text = "tessera";
  for (int i = 1; i < argc; ++i) text += " " + shell_quoted(argv[i]);
  remembered() = text;
}

std::string command_line() {
  return remembered();
}

}  // namespace tessera::cli
