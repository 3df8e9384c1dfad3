// The four experiments of `tessera limits`. Each walks one quantity past a limit and tells, step by
// step, what was predicted and what was measured.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/limit_device.hpp"
#include "cli/memory_counters.hpp"
#include "report/page.hpp"
#include "report/scatter_chart.hpp"
#include "tessera/tile_config.hpp"

namespace tessera::cli {

struct LimitOptions {
  GemmTypes types;
  GemmShape shape;  // 0: the experiment's own
  TileConfig tile;  // 0: the experiment's own
  int repeats = 3;
  // What a launch of this product with this block moves; none where nothing can be counted, as on a
  // CPU.
  std::function<CounterReading(const GemmShape&, const TileConfig&)> count_bytes;
};

struct LimitFindings {
  std::string title;
  std::string question;  // what is varied, what is kept
  std::vector<report::TableColumn> columns;
  std::vector<std::vector<std::string>> rows;
  nlohmann::json steps = nlohmann::json::array();
  std::vector<std::string> conclusions;
  report::ScatterChart chart;
};

// Keeps the block and doubles K until memory is refused: that is the normal end.
LimitFindings find_memory_limit(LimitDevice& device, const LimitOptions& options);
// Keeps K and doubles the block's depth until the scratchpad is too small; a CPU's limit is soft.
LimitFindings find_scratchpad_limit(LimitDevice& device, const LimitOptions& options);
// Doubles the block's edges from 1: intensity against speed, and against the bytes that were moved.
LimitFindings find_intensity_limit(LimitDevice& device, const LimitOptions& options);
// 1, 2, 3, … stages in flight.
LimitFindings find_stage_limit(LimitDevice& device, const LimitOptions& options);

}  // namespace tessera::cli
