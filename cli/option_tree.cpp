#include "cli/option_tree.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

// Values that the option texts name by their kind.
std::vector<std::string> choices_of_kind(std::string_view kind) {
  if (kind == "SCHEDULE") return {"data_parallel", "split_k", "stream_k", "hybrid"};
  if (kind == "ORDER") return {"linear", "swizzle", "hilbert"};
  if (kind == "TYPE") return {"f64", "f32", "f16", "bf16", "i8", "u8"};
  if (kind == "NAME|FILE" || kind == "FILE|NAME") return machine_names();
  return {};
}

// "on|off|both" lists its values; "NAME|FILE" names two kinds. Kinds are words in capitals that are
// longer than the letters of "NN|NT".
std::vector<std::string> listed_choices(const std::string& value) {
  if (value.find('|') == std::string::npos) return {};
  std::vector<std::string> choices;
  std::istringstream words(value);
  for (std::string word; std::getline(words, word, '|');) {
    const bool is_kind = word.size() > 2 &&
                         std::ranges::any_of(word, [](unsigned char c) { return std::isupper(c); });
    if (is_kind) return {};
    choices.push_back(word);
  }
  return choices;
}

// "KIND" of "KIND:{a,b}" and "INT:INT in [1 - 9]": the checks that the parser adds are for error
// messages.
std::string without_checks(const std::string& value) {
  const std::size_t range = value.find(" in [");
  const std::size_t end = range == std::string::npos ? value.find(":{") : value.rfind(':', range);
  return value.substr(0, end);
}

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  entry.is_positional = option.nonpositional() ? false : option.get_positional();
  if (entry.is_positional) {
    entry.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  }
  if (option.get_type_size() != 0) entry.value = without_checks(option.get_type_name());
  entry.description = option.get_description();
  entry.choices = choices_of_kind(entry.value);
  if (entry.choices.empty()) entry.choices = listed_choices(entry.value);
  entry.is_file = entry.value.find("FILE") != std::string::npos;
  return entry;
}

}  // namespace

OptionTree option_tree(const CLI::App& app) {
  OptionTree tree{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::App* const verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    VerbEntry entry{verb->get_name(), verb->get_description(), {}};
    for (const CLI::Option* const option :
         verb->get_options([](const CLI::Option*) { return true; })) {
      entry.options.push_back(entry_of(*option));
    }
    tree.verbs.push_back(std::move(entry));
  }
  return tree;
}

}  // namespace tessera::cli
