// `tessera report`: what a sweep found, as a page.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/atomic_file.hpp"
#include "cli/command_line.hpp"
#include "cli/terminal.hpp"
#include "cli/text_file.hpp"
#include "cli/verbs.hpp"
#include "report/sweep_records.hpp"
#include "report/text.hpp"

namespace tessera::cli {
namespace {

struct ReportRequest {
  std::string file;
  std::string html;
  bool json = false;
};

// results.jsonl → results.html
std::string page_beside(const std::string& file) {
  const std::string page = std::filesystem::path(file).replace_extension(".html");
  return page == file ? file + ".html" : page;
}

int run_report(const ReportRequest& options) {
  const report::Sweep sweep = report::parse_sweep(read_text_file(options.file), options.file);
  if (!options.html.empty()) {
    AtomicFile file(options.html);
    file.write(report::sweep_page(sweep, command_line()));
    file.commit();
  }
  if (options.json) {
    nlohmann::json shapes = nlohmann::json::array();
    std::vector<double> speed_ups;
    std::vector<double> regrets;
    for (const report::SweepRecord& record : sweep.records) {
      speed_ups.push_back(record.speed_up());
      regrets.push_back(record.regret());
      shapes.push_back({{"shape", record.name},
                        {"seconds", record.chosen().seconds},
                        {"speed_up", record.speed_up()},
                        {"regret", record.regret()},
                        {"flops_per_byte", record.intensity}});
    }
    const nlohmann::json result = {
        {"corpus", sweep.settings.corpus},
        {"complete", sweep.records.size() == static_cast<std::size_t>(sweep.settings.count)},
        {"geometric_mean_speed_up", report::geometric_mean(speed_ups)},
        {"geometric_mean_regret", report::geometric_mean(regrets)},
        {"shapes", shapes}};
    std::puts(result.dump(2).c_str());
    return 0;
  }
  std::string text = report::sweep_summary(sweep);
  if (!output_style().unicode) text = report::to_ascii(text);
  std::puts(text.c_str());
  if (!options.html.empty()) fmt::print("wrote {}\n", options.html);
  return 0;
}

}  // namespace

Verb add_report_verb(CLI::App& app) {
  const auto options = std::make_shared<ReportRequest>();
  CLI::App* const verb = app.add_subcommand("report", "Show what a sweep found");
  verb->add_option("file", options->file, "What 'tessera sweep --out' wrote")
      ->type_name("FILE")
      ->required();
  CLI::Option* const html =
      verb->add_option("--html", options->html,
                       "Also write a page with its pictures (default: beside the sweep's file)")
          ->type_name("[FILE]")
          ->expected(0, 1);
  verb->add_flag("--json", options->json, "Print the figures as JSON");
  return {verb, [options, html] {
            if (html->count() > 0 && options->html.empty())
              options->html = page_beside(options->file);
            return run_report(*options);
          }};
}

}  // namespace tessera::cli
