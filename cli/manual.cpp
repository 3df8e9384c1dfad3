// `tessera manual`: the man page, or a shell's completion script, made from the command's own
// options.
#include <cstdio>
#include <memory>

#include "cli/completion.hpp"
#include "cli/man_page.hpp"
#include "cli/verbs.hpp"

namespace tessera::cli {

Verb add_manual_verb(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* const verb = app.add_subcommand(
      "manual", "Print the man page, or a shell's completion script, from the options");
  verb->add_option("--completion", *shell, "Print the completion script for this shell")
      ->type_name("bash|zsh|fish");
  return {verb, [&app, shell] {
            const OptionTree tree = option_tree(app);
            const std::string text =
                shell->empty() ? man_page(tree) : completion_script(tree, *shell);
            std::fputs(text.c_str(), stdout);
            return 0;
          }};
}

}  // namespace tessera::cli
