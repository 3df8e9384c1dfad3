#include "cli/limit_steps.hpp"

#include "core/catalogue.hpp"
#include "report/text.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

bool is_cpu(const LimitDevice& device) {
  return device.machine().kind == MachineKind::cpu;
}

double flops(const GemmShape& shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k);
}

GemmShape shape_or(const GemmShape& given, const GemmShape& otherwise) {
  return given.m > 0 ? given : otherwise;
}

TileConfig tile_or(const TileConfig& given, int block_m, int block_n, int block_k) {
  if (given.block_m > 0) return given;
  TileConfig tile;
  tile.block_m = block_m;
  tile.block_n = block_n;
  tile.block_k = block_k;
  return tile;
}

LimitProduct::LimitProduct(LimitDevice& device, const GemmShape& shape, const GemmTypes& types)
    : shape_(shape),
      types_(types),
      a_(device.allocate(shape.m * shape.k * size_of(types.a))),
      b_(device.allocate(shape.k * shape.n * size_of(types.b))),
      c_(device.allocate(shape.m * shape.n * size_of(types.c))) {}

std::int64_t LimitProduct::bytes(const GemmShape& shape, const GemmTypes& types) {
  return shape.m * shape.k * size_of(types.a) + shape.k * shape.n * size_of(types.b) +
         shape.m * shape.n * size_of(types.c);
}

Operands LimitProduct::operands() const {
  return {.a = {a_->data(), shape_.m, shape_.k, shape_.k, 1, types_.a},
          .b = {b_->data(), shape_.k, shape_.n, shape_.n, 1, types_.b},
          .c = {c_->data(), shape_.m, shape_.n, shape_.n, 1, types_.c}};
}

LimitPlan plan_step(const LimitDevice& device, const GemmShape& shape, const GemmTypes& types,
                    const TileConfig& tile) {
  LimitPlan step;
  PlanOptions options;
  options.tile = tile;
  try {
    step.plan = make_plan(dense_problem(shape, types), device.machine(), options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::invalid_argument) {
      throw;
    }
    step.use = scratchpad_use(tile, types, epilogue_bytes(nullptr, tile, types));
    step.refusal = why_not_resident(step.use, device.machine()).value_or(error.what());
    return step;
  }
  if (device.machine().kind == MachineKind::cpu && tile.mc > 0) step.plan->tile.mc = tile.mc;
  const KernelEntry* const kernel = find_kernel(step.plan->kernel);
  step.is_compiled = kernel != nullptr;
  step.use = scratchpad_use(step.plan->tile, types, epilogue_bytes(kernel, step.plan->tile, types));
  return step;
}

double run_step(LimitDevice& device, const LimitPlan& step, const LimitProduct& product,
                int repeats) {
  const Operands operands = product.operands();
  return device.seconds(*step.plan, {&operands, 1}, repeats);
}

void set_rate_chart(report::ScatterChart& chart, const char* x_title) {
  chart.description = std::string("Rate over ") + x_title;
  chart.x_title = x_title;
  chart.y_title = "measured rate";
  chart.x_base = 2;
  chart.y_base = 10;
  chart.y_text = report::flops_per_second;
  chart.joins_points = true;
}

}  // namespace tessera::cli
