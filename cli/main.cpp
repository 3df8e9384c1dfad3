// The `tessera` command: finds the verb, runs it, and turns whatever happens into an exit code: 0
// fine, 1 the work failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>

#include "cli/command_line.hpp"
#include "cli/help_formatter.hpp"
#include "cli/interrupt.hpp"
#include "cli/verbs.hpp"
#include "tessera/error.hpp"
#include "tessera/tessera.hpp"

namespace {

constexpr int kWorkFailed = 1;
constexpr int kWrongUsage = 2;

int report(const char* message, int code) {
  std::fprintf(stderr, "tessera: %s\n", message);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tessera;
  CLI::App app(
      "Tessera multiplies matrices: it plans which worker computes what, and runs the plan.",
      "tessera");
  app.set_version_flag("--version", version());
  app.formatter(std::make_shared<cli::HelpFormatter>());
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 fine, 1 the work failed, 2 wrong usage. 'tessera VERB --help' tells more.");
  const std::array verbs = {
      cli::add_run_verb(app),     cli::add_plan_verb(app),   cli::add_make_verb(app),
      cli::add_info_verb(app),    cli::add_bench_verb(app),  cli::add_calibrate_verb(app),
      cli::add_explain_verb(app), cli::add_trace_verb(app),  cli::add_limits_verb(app),
      cli::add_sweep_verb(app),   cli::add_report_verb(app), cli::add_manual_verb(app)};
  cli::remember_command_line(argc, argv);
  try {
    cli::check_verb(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return report((std::string(error.what()) + "; 'tessera --help' shows what there is").c_str(),
                  kWrongUsage);
  } catch (const Error& error) {
    return report(error.what(), kWrongUsage);
  }

  cli::install_interrupt_handler();
  try {
    for (const cli::Verb& verb : verbs) {
      if (verb.command->parsed()) return verb.run();
    }
  } catch (const Error& error) {
    return report(error.what(),
                  error.code() == ErrorCode::invalid_argument ? kWrongUsage : kWorkFailed);
  } catch (const std::bad_alloc&) {
    return report("memory: there is too little for this product; use a smaller one", kWorkFailed);
  } catch (const std::exception& error) {
    return report(error.what(), kWorkFailed);
  }
  return kWrongUsage;
}
