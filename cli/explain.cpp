// `tessera explain`: the story of one plan, on the terminal and as a page.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/atomic_file.hpp"
#include "cli/command_line.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/traced_run.hpp"
#include "cli/verbs.hpp"
#include "core/validate.hpp"
#include "report/story.hpp"

namespace tessera::cli {
namespace {

constexpr int kRepeats = 5;

struct ExplainRequest {
  ProblemOptions problem;
  MachineOptions machine;
  ScheduleOptions schedule;
  std::string html;
  int threads = 0;
  bool runs = false;
  bool json = false;
};

nlohmann::json json_of(const report::Story& story) {
  nlohmann::json orders = nlohmann::json::array();
  for (const report::OrderStory& one : story.orders) {
    orders.push_back({{"order", one.name},
                      {"blocks_a", one.blocks.a},
                      {"blocks_b", one.blocks.b},
                      {"blocks", one.blocks.total()},
                      {"chosen", one.is_chosen}});
  }
  nlohmann::json cuts = nlohmann::json::array();
  for (const report::CutStory& one : story.cuts) {
    cuts.push_back({{"schedule", one.name},
                    {"predicted_seconds", one.seconds},
                    {"busy_share", one.facts.busy_share},
                    {"most_peers", one.facts.most_peers},
                    {"chosen", one.is_chosen}});
  }
  nlohmann::json losers = nlohmann::json::array();
  for (const report::LoserStory& one : story.losers) {
    losers.push_back({{"kernel", one.candidate.kernel},
                      {"predicted_seconds", one.candidate.cost->seconds},
                      {"times_as_long", one.times_as_long},
                      {"because_of", one.why}});
  }
  nlohmann::json terms = nlohmann::json::object();
  for (const CostTerm& term : story.plan.cost.terms) terms[term.name] = term.seconds;
  nlohmann::json result = {
      {"plan", nlohmann::json::parse(to_json(story.plan))},
      {"intensity",
       {{"naive", story.naive_intensity},
        {"tile", story.tile_intensity},
        {"with_cache", story.shared_intensity},
        {"bound", story.bound_intensity},
        {"ridge", story.ridge}}},
      {"scratchpad",
       {{"a_bytes_per_stage", story.scratchpad.a_bytes},
        {"b_bytes_per_stage", story.scratchpad.b_bytes},
        {"stages", story.scratchpad.stages},
        {"epilogue_bytes", story.scratchpad.epilogue_bytes},
        {"used_bytes", story.scratchpad.total()},
        {"limit_bytes", story.plan.machine.scratchpad_bytes}}},
      {"waves", {{"count", story.facts.waves}, {"tiles_in_last", story.facts.last_wave}}},
      {"workers",
       {{"busy_share", story.facts.busy_share},
        {"busiest_iterations", story.facts.longest},
        {"shared_tiles", story.facts.shared_tiles},
        {"most_peers", story.facts.most_peers},
        {"peers_meet", story.fix_up == FixUp::meeting}}},
      {"first_wave_blocks", orders},
      {"cost_terms", terms},
      {"other_schedules", cuts},
      {"losers", losers},
      {"rejected", story.rejected.size()}};
  if (story.measured_seconds) result["measured_seconds"] = *story.measured_seconds;
  return result;
}

int run_explain(const ExplainRequest& options) {
  if (!options.html.empty()) check_writable(options.html);
  PlanOptions plan_options = plan_options_from(options.schedule);
  plan_options.keep_others = true;
  report::Story story = report::tell(
      make_plan(problem_from(options.problem), machine_from(options.machine), plan_options));
  if (options.runs) {
    TracedRun traced = run_traced(story.plan, options.threads, kRepeats, 0);
    story.measured_seconds = traced.seconds;
    story.trace = std::move(traced.trace);
  }
  if (!options.html.empty()) {
    AtomicFile file(options.html);
    file.write(report::story_page(story, command_line()));
    file.commit();
  }
  if (options.json) {
    std::puts(json_of(story).dump(2).c_str());
  } else {
    std::fputs(report::story_text(story, output_style()).c_str(), stdout);
    if (!options.html.empty()) fmt::print("\nwrote {}\n", options.html);
  }
  return 0;
}

}  // namespace

Verb add_explain_verb(CLI::App& app) {
  const auto options = std::make_shared<ExplainRequest>();
  CLI::App* const verb = app.add_subcommand(
      "explain", "Tell why a plan is what it is: intensity, scratchpad, waves, tile order, time");
  add_problem_options(*verb, options->problem);
  add_machine_options(*verb, options->machine);
  add_schedule_options(*verb, options->schedule);
  verb->add_option("--html", options->html,
                   "Also write the story with its pictures to this HTML file")
      ->type_name("FILE");
  verb->add_flag("--run", options->runs,
                 "Run the plan on this machine's CPU or GPU and put what was measured beside it");
  verb->add_option("--threads", options->threads, "Threads of --run on a CPU (default: all cores)")
      ->type_name("N")
      ->check(in_range(1, kMostThreads));
  verb->add_flag("--json", options->json, "Print the story's numbers as JSON");
  return {verb, [options] { return run_explain(*options); }};
}

}  // namespace tessera::cli
