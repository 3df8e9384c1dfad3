// The verbs of the command, one file each. Each adds its options to the command line and returns
// what is to be done when it is called.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace tessera::cli {

struct Verb {
  CLI::App* command = nullptr;
  // The process's exit code: 0 fine, 1 the work failed. Throws tessera::Error.
  std::function<int()> run;
};

Verb add_run_verb(CLI::App& app);
Verb add_plan_verb(CLI::App& app);
Verb add_make_verb(CLI::App& app);
Verb add_info_verb(CLI::App& app);
Verb add_bench_verb(CLI::App& app);
Verb add_calibrate_verb(CLI::App& app);
Verb add_explain_verb(CLI::App& app);
Verb add_trace_verb(CLI::App& app);
Verb add_limits_verb(CLI::App& app);
Verb add_sweep_verb(CLI::App& app);
Verb add_report_verb(CLI::App& app);
Verb add_manual_verb(CLI::App& app);

}  // namespace tessera::cli
