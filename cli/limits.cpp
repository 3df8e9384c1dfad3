// `tessera limits`: experiments that walk into a limit and show it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/atomic_file.hpp"
#include "cli/command_line.hpp"
#include "cli/limit_experiments.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/shape.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "core/tile_config.hpp"
#include "core/validate.hpp"
#include "report/text.hpp"

namespace tessera::cli {
namespace {

constexpr std::int64_t kMostMemory = std::int64_t{1} << 62;

struct LimitsRequest {
  std::string experiment;
  std::string shape;
  std::string tile;
  std::string type = "f32";
  MachineOptions machine;
  int threads = 0;
  std::int64_t memory = 0;
  int repeats = 3;
  std::string html;
  bool json = false;
};

struct Experiment {
  const char* name;
  LimitFindings (*find)(LimitDevice&, const LimitOptions&);
};
constexpr std::array kExperiments = {
    Experiment{"hbm", find_memory_limit}, Experiment{"scratchpad", find_scratchpad_limit},
    Experiment{"intensity", find_intensity_limit}, Experiment{"stages", find_stage_limit}};

std::string table_text(const LimitFindings& found) {
  std::vector<std::size_t> widths;
  for (const report::TableColumn& column : found.columns) {
    widths.push_back(report::columns(column.name));
  }
  for (const auto& row : found.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], report::columns(row[i]));
    }
  }
  const auto line = [&](const auto& cell) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string value = cell(i);
      const std::string space(widths[i] - report::columns(value), ' ');
      text += found.columns[i].is_number ? "  " + space + value : "  " + value + space;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](std::size_t i) { return found.columns[i].name; });
  for (const auto& row : found.rows) {
    text += line([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
  }
  return text;
}

std::string page_of(const LimitFindings& found, const Machine& machine) {
  report::Page page("Limits: " + found.title, machine.name);
  page.paragraph(found.question);
  if (found.chart.points.size() > 1) page.figure(report::scatter_chart(found.chart), "");
  page.table(found.columns, found.rows);
  for (const std::string& conclusion : found.conclusions) page.paragraph(conclusion);
  page.command(command_line());
  return page.str();
}

int run_limits(const LimitsRequest& options) {
  if (!options.html.empty()) check_writable(options.html);
  LimitOptions limits;
  limits.types = gemm_types_for(element_type_from_name(options.type));
  if (!options.shape.empty()) limits.shape = parse_shape(options.shape, "--shape");
  if (!options.tile.empty()) limits.tile = parse_tile(options.tile);
  limits.repeats = options.repeats;
  const Machine machine = machine_from(options.machine);
  if (size_of(limits.types.c) == 2 && machine.kind == MachineKind::cpu) {
    limits.types.c = ElementType::f32;
  }
  const std::unique_ptr<LimitDevice> device =
      machine.kind == MachineKind::gpu ? open_cuda(machine, options.memory)
                                       : open_cpu(machine, options.threads, options.memory);
  if (machine.kind == MachineKind::gpu) {
    limits.count_bytes = [&](const GemmShape& shape, const TileConfig& tile) {
      return count_first_launch({"run", to_text(shape), "--type", options.type, "--tile",
                                 to_text(tile), "--device", "cuda", "--repeat", "1"});
    };
  }
  const auto experiment =
      std::find_if(kExperiments.begin(), kExperiments.end(),
                   [&](const Experiment& one) { return options.experiment == one.name; });
  const LimitFindings found = experiment->find(*device, limits);

  if (!options.html.empty()) {
    AtomicFile file(options.html);
    file.write(page_of(found, machine));
    file.commit();
  }
  if (options.json) {
    const nlohmann::json result = {{"experiment", options.experiment},
                                   {"machine", machine.name},
                                   {"steps", found.steps},
                                   {"conclusions", found.conclusions},
                                   {"bytes_held_afterwards", device->allocated_bytes()}};
    std::puts(result.dump(2).c_str());
    return 0;
  }
  std::string text = found.title + "\n" + found.question + "\n\n" + table_text(found) + "\n";
  for (const std::string& conclusion : found.conclusions) text += conclusion + "\n";
  if (!output_style().unicode) text = report::to_ascii(text);
  std::fputs(text.c_str(), stdout);
  if (!options.html.empty()) fmt::print("wrote {}\n", options.html);
  return 0;
}

}  // namespace

Verb add_limits_verb(CLI::App& app) {
  const auto options = std::make_shared<LimitsRequest>();
  CLI::App* const verb =
      app.add_subcommand("limits", "Walk into a limit of the machine and show where it is");
  verb->add_option("experiment", options->experiment,
                   "hbm: double K until memory is refused; scratchpad: double the block's depth; "
                   "intensity: double the block's edges; stages: more blocks in flight")
      ->type_name("hbm|scratchpad|intensity|stages")
      ->check(CLI::IsMember({"hbm", "scratchpad", "intensity", "stages"}))
      ->required();
  verb->add_option("--shape", options->shape,
                   "The product (default: the experiment's own; hbm doubles its K)")
      ->type_name("MxNxK");
  verb->add_option("--tile", options->tile, "The block (default: the experiment's own)")
      ->type_name("BMxBNxBK");
  verb->add_option("--type", options->type, "Input type; 16-bit ones give f32 results on a CPU")
      ->type_name("TYPE")
      ->capture_default_str();
  add_machine_options(*verb, options->machine);
  verb->add_option("--threads", options->threads, "Threads on a CPU (default: all cores)")
      ->type_name("N")
      ->check(in_range(1, kMostThreads));
  verb->add_option("--memory", options->memory,
                   "Refuse memory beyond this (default: what the device has)")
      ->transform(CLI::AsSizeValue(false))
      ->check(in_range(std::int64_t{1}, kMostMemory));
  verb->add_option("--repeat", options->repeats, "Runs of each step, of which the fastest counts")
      ->type_name("N")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  verb->add_option("--html", options->html, "Also write the findings as a page to this file")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "Print the findings as JSON");
  return {verb, [options] { return run_limits(*options); }};
}

}  // namespace tessera::cli
