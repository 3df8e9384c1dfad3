// The `tessera` command: finds the verb, runs it, and turns whatever happens into an exit code: 0
// fine, 1 the work failed, 2 wrong usage.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

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

// Else a file that a verb opens could become standard output by taking its free number, and get
// what is printed. The wrong direction makes using such a stream fail, as it should.
void occupy_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    const int file = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (file < 0) return;
  }
}

// What a verb that went well ends with: whoever reads the output must be able to trust the code.
int after_printing(int code) {
  errno = 0;
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return code;
  const std::string cause = errno != 0 ? std::strerror(errno) : "a write that failed";
  return report(("standard output: must take what is printed; given " + cause +
                 "; make room, or send it elsewhere")
                    .c_str(),
                kWorkFailed);
}

// How to get the help text of the verb that a wrong line is about.
std::string help_command(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return "tessera " + (verbs.empty() ? "" : verbs.front()->get_name() + " ") + "--help";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tessera;
  occupy_closed_streams();
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
    return after_printing(app.exit(request));
  } catch (const CLI::ParseError& error) {
    const std::string remedy = "; '" + help_command(app) + "' shows what there is";
    return report((error.what() + remedy).c_str(), kWrongUsage);
  } catch (const Error& error) {
    return report(error.what(), kWrongUsage);
  }

  cli::install_interrupt_handler();
  try {
    for (const cli::Verb& verb : verbs) {
      if (verb.command->parsed()) return after_printing(verb.run());
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
