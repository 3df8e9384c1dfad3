#include "cli/limit_experiments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/interrupt.hpp"
#include "cli/limit_steps.hpp"
#include "cli/progress.hpp"
#include "report/pipeline_chart.hpp"
#include "report/story.hpp"
#include "report/text.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

using report::bytes;
using report::flops_per_second;
using report::percent;
using report::seconds;

constexpr std::int64_t kMostK = std::int64_t{1} << 36;

double to_double(std::int64_t value) {
  return static_cast<double>(value);
}

// The work of all the products whose operands fit, as K doubles.
double work_until_full(const LimitDevice& device, GemmShape shape, const GemmTypes& types) {
  const std::int64_t left = device.memory_left();
  double sum = 0;
  for (; shape.k <= kMostK && LimitProduct::bytes(shape, types) <= left; shape.k *= 2) {
    sum += flops(shape);
  }
  return sum;
}

// The rate of the fastest step, for "falls to … of the best".
double best_rate(const std::vector<report::ScatterPoint>& points) {
  double best = 0;
  for (const report::ScatterPoint& point : points) best = std::max(best, point.y);
  return best;
}

// Which of a CPU's caches holds so much.
std::string cache_verdict(const Machine& machine, std::int64_t use) {
  return use <= machine.l1_bytes           ? "fits L1"
         : use <= machine.scratchpad_bytes ? "fits L2"
         : use <= machine.cache_bytes      ? "fits the shared cache"
                                           : "fits no cache";
}

// What the planner says of a block on a GPU, and whether the device says otherwise.
std::string scratchpad_verdict(const LimitPlan& step, bool device_takes) {
  const bool planner_takes = step.plan.has_value();
  std::string verdict = !planner_takes     ? "refused: " + step.refusal
                        : step.is_compiled ? "fits"
                                           : "fits; no kernel of this depth is compiled";
  if (device_takes != planner_takes) verdict += " (the device says otherwise)";
  return verdict;
}

// Kernels of a CPU have no stages: how long packing takes instead.
void add_packing(LimitFindings& found, LimitDevice& device, const LimitOptions& options,
                 const GemmShape& shape) {
  found.question =
      "A CPU's caches are filled by its own prefetchers, so its kernels have no stages to count: "
      "blocks are packed and multiplied in turn.";
  const LimitProduct product(device, shape, options.types);
  Plan plan = make_plan(dense_problem(shape, options.types), device.machine());
  const Operands operands = product.operands();
  const double taken = device.seconds(plan, {&operands, 1}, options.repeats);
  const report::Story story = report::tell(plan);
  const report::PipelineTimes& times = story.pipeline;
  const double share = times.multiply / (times.multiply + times.transfer);
  found.rows.push_back({"1", bytes(to_double(story.scratchpad.total())), percent(share),
                        seconds(taken), flops_per_second(flops(shape) / taken), "the only way"});
  found.steps.push_back({{"stages", 1},
                         {"predicted_multiplier_share", share},
                         {"seconds", taken},
                         {"flops_per_second", flops(shape) / taken}});
  found.conclusions.push_back(
      fmt::format("Packing is predicted to take {} of each iteration.", percent(1 - share)));
}

}  // namespace

LimitFindings find_memory_limit(LimitDevice& device, const LimitOptions& options) {
  const GemmShape start = shape_or(
      options.shape, is_cpu(device) ? GemmShape{256, 256, 1024} : GemmShape{4096, 4096, 4096});
  const TileConfig tile =
      is_cpu(device) ? tile_or(options.tile, 128, 128, 256) : tile_or(options.tile, 128, 128, 64);
  LimitFindings found;
  found.title = "Device memory";
  found.question = fmt::format(
      "The block stays {} while K doubles from {} until memory is refused: a longer K only streams "
      "more blocks past the same scratchpad.",
      report::tile(tile), start.k);
  found.columns = {{"k", true},        {"operands", true}, {"scratchpad", true},
                   {"measured", true}, {"rate", true},     {"predicted", true}};
  set_rate_chart(found.chart, "K");
  Progress progress("doubling K", work_until_full(device, start, options.types) * 1e-9, "GFLOP");
  double work = 0;
  std::int64_t least_use = -1;
  std::int64_t most_use = -1;
  for (GemmShape shape = start; shape.k <= kMostK; shape.k *= 2) {
    throw_if_interrupted();
    const LimitPlan step = plan_step(device, shape, options.types, tile);
    if (!step.plan) {
      found.conclusions.push_back("the planner refused: " + step.refusal);
      break;
    }
    try {
      const LimitProduct product(device, shape, options.types);
      const double taken = run_step(device, step, product, options.repeats);
      const double rate = flops(shape) / taken;
      progress.at((work += flops(shape)) * 1e-9);
      const std::int64_t use = step.use.total();
      least_use = least_use < 0 ? use : std::min(least_use, use);
      most_use = std::max(most_use, use);
      const auto all = to_double(LimitProduct::bytes(shape, options.types));
      found.rows.push_back({report::count(shape.k), bytes(all), bytes(to_double(use)),
                            seconds(taken), flops_per_second(rate),
                            seconds(step.plan->cost.seconds)});
      found.steps.push_back({{"k", shape.k},
                             {"operand_bytes", LimitProduct::bytes(shape, options.types)},
                             {"scratchpad_bytes", use},
                             {"seconds", taken},
                             {"flops_per_second", rate},
                             {"predicted_seconds", step.plan->cost.seconds}});
      found.chart.points.push_back(
          {to_double(shape.k), rate,
           fmt::format("k {}\n{}\n{}", shape.k, bytes(all), flops_per_second(rate)), false});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      found.rows.push_back({report::count(shape.k),
                            bytes(to_double(LimitProduct::bytes(shape, options.types))), "refused",
                            "", "", ""});
      found.steps.push_back({{"k", shape.k},
                             {"operand_bytes", LimitProduct::bytes(shape, options.types)},
                             {"refused", error.what()}});
      found.conclusions.push_back(
          fmt::format("K = {} is refused by the allocator, which is how this ends: {}",
                      report::count(shape.k), error.what()));
      break;
    }
  }
  if (most_use >= 0 && least_use == most_use) {
    found.conclusions.push_back(
        fmt::format("The scratchpad in use stayed at {} throughout.", bytes(to_double(most_use))));
  }
  found.conclusions.push_back(
      fmt::format("Afterwards {} are held.", bytes(to_double(device.allocated_bytes()))));
  return found;
}

LimitFindings find_scratchpad_limit(LimitDevice& device, const LimitOptions& options) {
  const Machine& machine = device.machine();
  const bool soft = is_cpu(device);
  const GemmShape shape =
      shape_or(options.shape, soft ? GemmShape{512, 512, 8192} : GemmShape{4096, 4096, 8192});
  TileConfig tile =
      soft ? tile_or(options.tile, 512, 512, 16) : tile_or(options.tile, 128, 128, 16);
  tile.block_k = 16;
  // A fixed panel of A: left to itself the backend would shrink it to what its cache holds.
  if (soft && tile.mc == 0) tile.mc = tile.block_m;
  LimitFindings found;
  found.title = soft ? "Scratchpad: the caches" : "Scratchpad: shared memory";
  found.question = fmt::format(
      "K stays {} while the block's depth doubles from 16. Depth raises no intensity; it only "
      "costs "
      "room{}.",
      shape.k,
      soft
          ? ", and a cache that is too small does not refuse: it makes every block come again from "
            "further away"
          : "");
  found.columns = {{"block_k", true},   {"scratchpad", true}, {"of the limit", true},
                   {"predicted", true}, {"measured", true},   {"rate", true},
                   {"verdict", false}};
  set_rate_chart(found.chart, "bytes of scratchpad");
  found.chart.x_text = bytes;
  const LimitProduct product(device, shape, options.types);
  const std::int64_t asked = device.scratchpad_limit();
  bool agree = true;
  Progress progress("doubling the depth", std::log2(to_double(shape.k) / tile.block_k) + 1,
                    "steps");
  for (; tile.block_k <= shape.k; tile.block_k *= 2) {
    throw_if_interrupted();
    LimitPlan step = plan_step(device, shape, options.types, tile);
    const std::int64_t use = step.use.total();
    const auto limit = to_double(machine.scratchpad_bytes);
    std::string verdict;
    double taken = 0;
    if (step.plan && (soft || step.is_compiled)) {
      taken = run_step(device, step, product, options.repeats);
    }
    if (soft) {
      verdict = cache_verdict(machine, use);
    } else {
      const bool device_takes = asked == 0 || use <= asked;
      agree = agree && device_takes == step.plan.has_value();
      verdict = scratchpad_verdict(step, device_takes);
    }
    const double rate = taken > 0 ? flops(shape) / taken : 0;
    progress.at(to_double(std::ssize(found.rows)) + 1);
    found.rows.push_back({report::count(tile.block_k), bytes(to_double(use)),
                          limit > 0 ? percent(to_double(use) / limit) : "",
                          step.plan ? seconds(step.plan->cost.seconds) : "",
                          taken > 0 ? seconds(taken) : "", rate > 0 ? flops_per_second(rate) : "",
                          verdict});
    nlohmann::json json = {{"block_k", tile.block_k},
                           {"scratchpad_bytes", use},
                           {"limit_bytes", machine.scratchpad_bytes},
                           {"device_limit_bytes", asked},
                           {"verdict", verdict}};
    if (step.plan) json["predicted_seconds"] = step.plan->cost.seconds;
    if (taken > 0) json["seconds"] = taken;
    if (taken > 0) json["flops_per_second"] = rate;
    if (!step.refusal.empty()) json["refusal"] = step.refusal;
    found.steps.push_back(json);
    if (rate > 0) {
      found.chart.points.push_back({to_double(use), rate,
                                    fmt::format("block_k {}\n{}\n{}", tile.block_k,
                                                bytes(to_double(use)), flops_per_second(rate)),
                                    soft && use > machine.scratchpad_bytes});
    }
  }
  if (soft && !found.chart.points.empty()) {
    const double best = best_rate(found.chart.points);
    found.conclusions.push_back(fmt::format(
        "The limit is soft: with {} per worker the rate is {} of the best.",
        bytes(found.chart.points.back().x), percent(found.chart.points.back().y / best)));
  } else if (!soft) {
    found.conclusions.push_back(
        asked == 0 ? "The device was not asked."
        : agree    ? fmt::format("The device itself allows {}: it agrees with every verdict.",
                                 bytes(to_double(asked)))
                   : "The device does not agree with every verdict.");
  }
  return found;
}

LimitFindings find_stage_limit(LimitDevice& device, const LimitOptions& options) {
  const Machine& machine = device.machine();
  constexpr int kMost = 8;
  const GemmShape shape = shape_or(
      options.shape, is_cpu(device) ? GemmShape{512, 512, 512} : GemmShape{8192, 8192, 8192});
  LimitFindings found;
  found.title = "Stages";
  found.columns = {
      {"stages", true},   {"scratchpad", true}, {"predicted share of the multiplier", true},
      {"measured", true}, {"rate", true},       {"verdict", false}};
  set_rate_chart(found.chart, "stages");
  found.chart.x_is_log = false;
  if (is_cpu(device)) {
    add_packing(found, device, options, shape);
    return found;
  }
  found.question =
      "More stages keep more blocks on their way while one is multiplied, and each costs room for "
      "a "
      "block of A and one of B.";
  TileConfig tile = tile_or(options.tile, 128, 128, 64);
  std::unique_ptr<LimitProduct> product;
  double best_share = 0;
  int enough = 0;
  Progress progress("adding stages", kMost, "steps");
  for (int stages = 1; stages <= kMost; ++stages) {
    throw_if_interrupted();
    tile.stages = stages;
    LimitPlan step = plan_step(device, shape, options.types, tile);
    // One stage is what the planner reads as "choose"; what it would choose is not asked here.
    const ScratchpadUse use =
        scratchpad_use(tile, options.types, step.is_compiled ? step.use.epilogue_bytes : 0);
    const bool fits = use.total() <= machine.scratchpad_bytes;
    double share = 0;
    if (step.plan) {
      const report::PipelineTimes times = report::tell(*step.plan).pipeline;
      constexpr int kIterations = 256;
      const auto events = report::pipeline_events(times, stages, kIterations);
      share = times.multiply * kIterations / events.back().done;
    }
    double taken = 0;
    if (step.is_compiled && step.plan->tile.stages == stages) {
      if (!product) product = std::make_unique<LimitProduct>(device, shape, options.types);
      taken = run_step(device, step, *product, options.repeats);
    }
    const double rate = taken > 0 ? flops(shape) / taken : 0;
    progress.at(stages);
    found.rows.push_back(
        {std::to_string(stages), bytes(to_double(use.total())), share > 0 ? percent(share) : "",
         taken > 0 ? seconds(taken) : "", rate > 0 ? flops_per_second(rate) : "",
         !fits       ? "too much: the limit is " + bytes(to_double(machine.scratchpad_bytes))
         : taken > 0 ? "fits"
                     : "fits; no kernel with as many is compiled"});
    nlohmann::json json = {{"stages", stages},
                           {"scratchpad_bytes", use.total()},
                           {"fits", fits},
                           {"predicted_multiplier_share", share}};
    if (taken > 0) json["seconds"] = taken;
    if (taken > 0) json["flops_per_second"] = rate;
    found.steps.push_back(json);
    if (fits && share > 1.01 * best_share) {
      best_share = share;
      enough = stages;
    }
    if (rate > 0) {
      found.chart.points.push_back({to_double(stages), rate,
                                    fmt::format("{} stages\n{}", stages, flops_per_second(rate)),
                                    false});
    }
  }
  found.conclusions.push_back(
      fmt::format("By the prediction {} are enough: the multiplier is busy {} of the time.",
                  report::counted(enough, "stage"), percent(best_share)));
  return found;
}

}  // namespace tessera::cli
