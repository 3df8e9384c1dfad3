// Options that several verbs share: what to compute, on which machine, and how to divide it.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/matrix.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {

// Accepts numbers from `least` to `most`, without a word about it in the help text. CLI11's own
// range takes a NaN, which is neither below nor above.
template <class Number>
CLI::Validator in_range(Number least, Number most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        Number number{};
        const bool is_number = CLI::detail::lexical_cast(text, number);
        return is_number && number >= least && number <= most
                   ? std::string()
                   : fmt::format("must be from {} to {}; given '{}'", least, most, text);
      },
      "");
}

// Takes a seed in decimal digits; for CLI11 alone -1 is the largest number there is, and so is
// every number that is larger.
CLI::Validator seed_number();

// What to compute, without data.
struct ProblemOptions {
  std::string shape;  // MxNxK, or empty
  std::string group;  // MxNxK,MxNxK,…, or a JSON file, or empty
  std::string type;   // empty: f32, or what the files hold
  std::string out_type;
  std::string trans = "NN";
  double alpha = 1;
  double beta = 0;
  std::string activation = "none";
};
void add_problem_options(CLI::App& app, ProblemOptions& options);

GemmTypes types_from(const ProblemOptions& options);
// --trans: how A and B are stored, 'N' by rows as they are used, 'T' transposed, 'P' for a B that
// is given by rows and packed. layouts_from throws Error(invalid_argument) for anything else.
void add_layout_option(CLI::App& app, std::string& trans);
StoredLayouts layouts_from(const std::string& trans);
Epilogue epilogue_from(const ProblemOptions& options);

// The problem that the options pose with operands that lie in memory without gaps. Throws where
// neither a shape nor a group is given.
Problem problem_from(const ProblemOptions& options);

// Whether --group names a file.
bool is_group_file(const std::string& group);

struct MachineOptions {
  std::string machine;  // a name, a file, or empty
  std::string device = "cpu";
};
void add_machine_options(CLI::App& app, MachineOptions& options);

// --machine, or else the device of this machine.
Machine machine_from(const MachineOptions& options);

// --peer: libraries to compare with.
void add_peer_option(CLI::App& app, std::vector<std::string>& peers);

// How to divide the work. Zero and empty mean that the planner chooses.
struct ScheduleOptions {
  std::string schedule;
  int workers = 0;
  int splits = 0;
  std::string tile;
  std::string order;
  bool no_two_tile = false;
  std::string kernel;
  bool batch_invariant = false;
};
void add_schedule_options(CLI::App& app, ScheduleOptions& options);
PlanOptions plan_options_from(const ScheduleOptions& options);

}  // namespace tessera::cli
