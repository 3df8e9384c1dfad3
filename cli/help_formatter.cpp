#include "cli/help_formatter.hpp"

#include "tessera/error.hpp"

namespace tessera::cli {

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  std::string text;
  if (option->get_type_size() != 0) {
    text += " " + option->get_type_name();
    const std::string value = option->get_default_str();
    if (!value.empty()) text += " [" + value + "]";
  }
  if (option->get_expected_max() > 1) text += " ...";
  if (option->get_required()) text += " (required)";
  if (!option->get_envname().empty()) text += " (or " + option->get_envname() + ")";
  return text;
}

void check_verb(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string verbs;
  for (const CLI::App* const verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name() == argv[1]) return;
    verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
  }
  throw Error(ErrorCode::invalid_argument, "verb", "be one of " + verbs,
              "'" + std::string(argv[1]) + "'", "choose a listed verb");
}

}  // namespace tessera::cli
