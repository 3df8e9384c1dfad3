// What the experiments of `tessera limits` share: operands on the device, a plan with a given tile,
// and one measured step.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/limit_device.hpp"
#include "plan/scratchpad.hpp"

namespace tessera::cli {

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

}  // namespace tessera::cli
