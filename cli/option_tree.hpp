// The command's verbs and options as data, read off the parser: the man page and the shells'
// completions are made from this, so they cannot say anything else than the command does.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tessera::cli {

struct OptionEntry {
  std::vector<std::string> names;  // "--tile", "-t"; a positional argument's own name
  std::string value;               // "BMxBNxBK"; empty for a flag
  std::string description;
  bool is_positional = false;
  // What may stand for the value; empty where it is free.
  std::vector<std::string> choices;
  bool is_file = false;
};

struct VerbEntry {
  std::string name;
  std::string description;
  std::vector<OptionEntry> options;
};

struct OptionTree {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<VerbEntry> verbs;
};

OptionTree option_tree(const CLI::App& app);

}  // namespace tessera::cli
