#include "cli/completion.hpp"

#include "cli/command_line.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

// What bash does behind one option: offer the choices, the files, or both, or nothing.
std::string bash_value(const OptionEntry& option) {
  std::string action = "COMPREPLY=(";
  if (!option.choices.empty()) {
    action += " $(compgen -W " + shell_quoted(joined(option.choices, " ")) + " -- \"$word\")";
  }
  if (option.is_file) action += " $(compgen -f -- \"$word\")";
  return action + " ); return";
}

std::string bash_script(const OptionTree& tree) {
  std::string verbs;
  std::string cases;
  for (const VerbEntry& verb : tree.verbs) {
    verbs += (verbs.empty() ? "" : " ") + verb.name;
    std::string options;
    std::string values;
    for (const OptionEntry& option : verb.options) {
      if (option.is_positional) continue;
      options += (options.empty() ? "" : " ") + joined(option.names, " ");
      if (option.value.empty()) continue;
      values += "        " + joined(option.names, "|") + ") " + bash_value(option) + " ;;\n";
    }
    cases += "    " + verb.name + ")\n      case $before in\n" + values + "      esac\n" +
             "      options=" + shell_quoted(options) + " ;;\n";
  }
  return "# Completion of the tessera command for bash: source this.\n"
         "_tessera() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=( $(compgen -W " +
         shell_quoted(verbs + " --help --version") +
         " -- \"$word\") )\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  case $word in\n"
         "    -*) COMPREPLY=( $(compgen -W \"$options\" -- \"$word\") ) ;;\n"
         "    *) COMPREPLY=( $(compgen -f -- \"$word\") ) ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _tessera tessera\n";
}

std::string fish_script(const OptionTree& tree) {
  std::string script = "# Completion of the tessera command for fish.\n";
  for (const VerbEntry& verb : tree.verbs) {
    script += "complete -c tessera -f -n __fish_use_subcommand -a " + verb.name + " -d " +
              shell_quoted(verb.description) + "\n";
    for (const OptionEntry& option : verb.options) {
      if (option.is_positional) continue;
      script += "complete -c tessera -n '__fish_seen_subcommand_from " + verb.name + "'";
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        script += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
      }
      if (!option.value.empty()) script += option.is_file ? " -rF" : " -x";
      if (!option.choices.empty()) script += " -a " + shell_quoted(joined(option.choices, " "));
      script += " -d " + shell_quoted(option.description) + "\n";
    }
  }
  return script;
}

}  // namespace

std::string completion_script(const OptionTree& tree, std::string_view shell) {
  if (shell == "bash") return bash_script(tree);
  if (shell == "fish") return fish_script(tree);
  // zsh reads bash's kind, once told to.
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(tree);
  throw Error(ErrorCode::invalid_argument, "shell", "be bash, zsh or fish",
              "'" + std::string(shell) + "'", "choose one of these");
}

}  // namespace tessera::cli
