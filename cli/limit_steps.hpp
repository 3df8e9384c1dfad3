// What the experiments of `tessera limits` share: their own or the asked-for product and block,
// operands on the device, a plan with a given tile, one measured step, the chart of rates.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/limit_device.hpp"
#include "plan/scratchpad.hpp"
#include "report/scatter_chart.hpp"

namespace tessera::cli {

bool is_cpu(const LimitDevice& device);
double flops(const GemmShape& shape);
GemmShape shape_or(const GemmShape& given, const GemmShape& otherwise);
TileConfig tile_or(const TileConfig& given, int block_m, int block_n, int block_k);

// A·B → C on the device, all elements the same small number.
class LimitProduct {
 public:
  // Throws Error(out_of_memory) where the device has too little.
  LimitProduct(LimitDevice& device, const GemmShape& shape, const GemmTypes& types);

  Operands operands() const;
  static std::int64_t bytes(const GemmShape& shape, const GemmTypes& types);

 private:
  GemmShape shape_;
  GemmTypes types_;
  std::unique_ptr<LimitBuffer> a_, b_, c_;
};

// A plan, or the planner's words why there is none.
struct LimitPlan {
  std::optional<Plan> plan;
  std::string refusal;
  ScratchpadUse use;
  bool is_compiled = false;
};

// `tile`: its blocks are honoured; on a CPU also mc.
LimitPlan plan_step(const LimitDevice& device, const GemmShape& shape, const GemmTypes& types,
                    const TileConfig& tile);

// Seconds of the fastest run.
double run_step(LimitDevice& device, const LimitPlan& step, const LimitProduct& product,
                int repeats);

// The measured rate over what an experiment varies.
void set_rate_chart(report::ScatterChart& chart, const char* x_title);

}  // namespace tessera::cli
