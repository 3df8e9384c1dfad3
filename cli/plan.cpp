// `tessera plan`: what the planner chooses and why. Needs no data and none of the hardware it plans
// for.
#include <cstdio>
#include <memory>

#include "cli/options.hpp"
#include "cli/plan_text.hpp"
#include "cli/verbs.hpp"

namespace tessera::cli {
namespace {

struct PlanRequest {
  ProblemOptions problem;
  MachineOptions machine;
  ScheduleOptions schedule;
  bool all = false;
  bool json = false;
};

int run_plan(const PlanRequest& options) {
  PlanOptions plan_options = plan_options_from(options.schedule);
  plan_options.keep_others = options.all;
  const Plan plan =
      make_plan(problem_from(options.problem), machine_from(options.machine), plan_options);
  if (options.json) {
    std::puts(to_json(plan).c_str());
    return 0;
  }
  std::fputs(plan_text(plan).c_str(), stdout);
  if (options.all) std::fputs(("\n" + candidates_text(plan)).c_str(), stdout);
  return 0;
}

}  // namespace

Verb add_plan_verb(CLI::App& app) {
  const auto options = std::make_shared<PlanRequest>();
  CLI::App* const verb =
      app.add_subcommand("plan", "Show the plan for a product, without running it");
  add_problem_options(*verb, options->problem);
  add_machine_options(*verb, options->machine);
  add_schedule_options(*verb, options->schedule);
  verb->add_flag("--all", options->all,
                 "List every candidate: its predicted time or why it was rejected");
  verb->add_flag("--json", options->json,
                 "Print the plan as JSON, as 'tessera run --plan' reads it");
  return {verb, [options] { return run_plan(*options); }};
}

}  // namespace tessera::cli
