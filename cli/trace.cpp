// `tessera trace`: runs a plan and shows when each thread or SM computed what.
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
#include "report/chrome_trace.hpp"
#include "report/story.hpp"
#include "report/text.hpp"
#include "report/timeline_chart.hpp"

namespace tessera::cli {
namespace {

struct TraceRequest {
  ProblemOptions problem;
  MachineOptions machine;
  ScheduleOptions schedule;
  std::string out = "trace.json";
  std::string html;
  int threads = 0;
  int repeats = 5;
  std::uint64_t seed = 0;
  bool json = false;
};

void write_file(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

int run_trace(const TraceRequest& options) {
  check_writable(options.out);
  if (!options.html.empty()) check_writable(options.html);
  PlanOptions plan_options = plan_options_from(options.schedule);
  plan_options.keep_others = !options.html.empty();
  const Plan plan =
      make_plan(problem_from(options.problem), machine_from(options.machine), plan_options);
  TracedRun traced = run_traced(plan, options.threads, options.repeats, options.seed);
  const int tracks = static_cast<int>(traced.trace.tracks.size());
  const bool is_gpu = !traced.trace.sms.empty();
  write_file(options.out,
             report::chrome_trace(plan, traced.trace, report::predict_trace(plan, tracks)));

  const report::TraceFacts facts = report::trace_facts(traced.trace);
  const report::TimelineChart chart =
      report::timeline_chart(traced.trace, {.predicted_seconds = plan.cost.seconds});
  if (options.json) {
    const nlohmann::json result = {{"file", options.out},
                                   {"items", facts.items},
                                   {is_gpu ? "sms" : "threads", tracks},
                                   {"seconds", traced.seconds},
                                   {"traced_seconds", traced.traced_seconds},
                                   {"predicted_seconds", plan.cost.seconds},
                                   {"multiplying_share", facts.multiplying},
                                   {"data_share", facts.data},
                                   {"adding_share", facts.adding},
                                   {"waiting_for_peers_share", 0.0},
                                   {"idle_share", facts.idle}};
    std::puts(result.dump(2).c_str());
  } else {
    const auto print = [](std::string text) {
      if (!output_style().unicode) text = report::to_ascii(text);
      std::puts(text.c_str());
    };
    print(chart.words);
    print(fmt::format("Predicted {}; without a trace the fastest of {} runs took {}.",
                      report::seconds(plan.cost.seconds), options.repeats,
                      report::seconds(traced.seconds)));
    print(fmt::format("wrote {}: open it at ui.perfetto.dev or chrome://tracing", options.out));
  }
  if (!options.html.empty()) {
    report::Story story = report::tell(plan);
    story.measured_seconds = traced.seconds;
    story.trace = std::move(traced.trace);
    write_file(options.html, report::story_page(story, command_line()));
    if (!options.json) fmt::print("wrote {}\n", options.html);
  }
  return 0;
}

}  // namespace

Verb add_trace_verb(CLI::App& app) {
  const auto options = std::make_shared<TraceRequest>();
  CLI::App* const verb =
      app.add_subcommand("trace", "Run a product and record when each thread or SM computed what");
  add_problem_options(*verb, options->problem);
  add_machine_options(*verb, options->machine);
  add_schedule_options(*verb, options->schedule);
  verb->add_option("--out", options->out, "The trace, as JSON that Perfetto opens")
      ->type_name("FILE")
      ->capture_default_str();
  verb->add_option("--html", options->html, "Also write the plan's story with the timeline")
      ->type_name("FILE");
  verb->add_option("--threads", options->threads, "Threads on a CPU (default: all cores)")
      ->type_name("N")
      ->check(in_range(1, kMostThreads));
  verb->add_option("--repeat", options->repeats, "Runs, of which the fastest is kept")
      ->type_name("N")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Seed of the random operands")
      ->transform(seed_number())
      ->capture_default_str();
  verb->add_flag("--json", options->json, "Print the shares of time as JSON");
  return {verb, [options] { return run_trace(*options); }};
}

}  // namespace tessera::cli
