#include "cli/man_page.hpp"

#include "core/environment.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

// Text as troff takes it: hyphens that are to be copied, and no line that looks like a request.
std::string escaped(const std::string& text) {
  std::string result;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) result += "\\&";
    at_line_start = c == '\n';
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string names_text(const OptionEntry& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += (text.empty() ? "" : ", ") + ("\\fB" + escaped(name) + "\\fR");
  }
  if (!option.value.empty() && !option.is_positional) {
    text += " \\fI" + escaped(option.value) + "\\fR";
  }
  return text;
}

void append_item(std::string& page, const std::string& head, const std::string& body) {
  page += ".TP\n" + head + "\n" + escaped(body) + "\n";
}

}  // namespace

std::string man_page(const OptionTree& tree) {
  std::string page = ".TH TESSERA 1 \"\" \"tessera " + std::string(version()) + "\"\n";
  page += ".SH NAME\n" + escaped(tree.name) + " \\- multiply matrices by a planned schedule\n";
  page += ".SH SYNOPSIS\n.B " + escaped(tree.name) + "\n.I verb\n[\\fIarguments\\fR]\n";
  page += ".SH DESCRIPTION\n" + escaped(tree.description) + "\n";
  for (const VerbEntry& verb : tree.verbs) {
    page += ".SH " + escaped(verb.name) + "\n" + escaped(verb.description) + "\n";
    for (const OptionEntry& option : verb.options) {
      append_item(page, names_text(option), option.description);
    }
  }
  page += ".SH ENVIRONMENT\n";
  for (const EnvironmentVariable& variable : environment_variables()) {
    append_item(page, "\\fB" + std::string(variable.name) + "\\fR", std::string(variable.meaning));
  }
  page += ".SH EXIT STATUS\n" + escaped(tree.footer) + "\n";
  return page;
}

}  // namespace tessera::cli
