// C ← activation(A·B) ∘ (A·B_up), rounded to C's type once, in one of two ways.
//
// Where TMA can read the operands and write C, the Hopper kernel multiplies by both weights at once
// and combines the sums before they leave. Otherwise both products go to scratch memory in the
// accumulator's type, the first with its activation in the epilogue, and a small kernel multiplies
// them. Scratch is allocated and freed in the stream's order, so that a graph may capture the call.
#include "gated_device.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "batch_overlap.hpp"
#include "core/catalogue.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/gated_combine.hpp"
#include "cuda/run.hpp"
#include "cuda/turn.hpp"
#include "plan_cache.hpp"
#include "ragged_device.hpp"
#include "ragged_views.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

// Of one product: wider ones are computed some columns at a time.
constexpr std::int64_t kScratchElements = std::int64_t{1} << 28;
constexpr std::int64_t kColumnUnit = 1024;

ConstBatchView columns_of(ConstBatchView batch, std::int64_t left, std::int64_t count) {
  if (count > 0) batch.data = advanced(batch.data, left * batch.col_stride, batch.type);
  batch.cols = count;
  return batch;
}

// Rows of all groups one after another, `stride` elements apart.
struct Scratch {
  std::byte* data;
  std::int64_t cols;
  std::int64_t stride;
  ElementType type;

  MatrixView matrix(std::int64_t rows) const { return {data, rows, cols, stride, 1, type}; }
  BatchView batch(std::int64_t groups, std::int64_t rows) const {
    return {data, groups, rows, cols, rows * stride, stride, 1, type};
  }
};

// A door's products with other weights and C in scratch memory.
RaggedProducts into(const Scratch& scratch, const ConstBatchView& b, const RaggedRows& rows) {
  return RaggedRows{rows.a, rows.offsets, b, scratch.matrix(rows.c.rows), {}};
}
RaggedProducts into(const Scratch& scratch, const ConstBatchView& b, const MaskedRows& rows) {
  return MaskedRows{rows.a, rows.counts, b, scratch.batch(rows.c.groups, rows.c.rows), {}};
}
RaggedProducts into(const Scratch& scratch, const ConstBatchView& b, const StridedBatch& batch) {
  return StridedBatch{batch.a, b, scratch.batch(batch.c.groups, batch.c.rows), {}};
}

std::int64_t rows_of_all(const RaggedRows& rows) {
  return rows.c.rows;
}
template <class Batched>
std::int64_t rows_of_all(const Batched& batched) {
  return batched.c.groups * batched.c.rows;
}

// Null where the host knows the sizes.
const cuda::DeviceLine* multiply(const RaggedProducts& products, const Epilogue& epilogue,
                                 const RunOptions& options) {
  if (std::holds_alternative<StridedBatch>(products)) {
    ragged_gemm(1, products, 0, epilogue, options);
    return nullptr;
  }
  const DeviceProducts device = device_products(products, 1, 0, epilogue);
  const std::shared_ptr<const Plan> plan = find_or_make_device_plan(device, options.device);
  return run_on_device(*plan, device, options);
}

// The rows that the groups of C own.
template <class Door>
GroupSizes sizes_of(const Door& door) {
  if constexpr (std::is_same_v<Door, StridedBatch>) {
    return {.groups = static_cast<std::int32_t>(door.c.groups), .bound_m = door.c.rows};
  } else {
    return device_products(door, 1, 0, {}).groups.sizes;
  }
}

// The rule of C's columns from `left` on.
template <class Door>
void describe_c(cuda::GatedCombine& work, const Door& door, std::int64_t left) {
  work.c = {.base = advanced(door.c.data, left * door.c.col_stride, door.c.type),
            .element_bytes = size_of(door.c.type),
            .row_stride = door.c.row_stride,
            .col_stride = door.c.col_stride};
  work.c_type = door.c.type;
  if constexpr (!std::is_same_v<Door, RaggedRows>) work.c.group_stride = door.c.group_stride;
}

// ---- In one go ----

bool is_aligned(std::int64_t elements, ElementType type) {
  return elements * size_of(type) % 16 == 0;
}
bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

// Whether the kernel can write C and read B_up by the strides of B.
template <class Door>
bool suits_one_go(const Door& door, const ConstBatchView& up) {
  const ConstBatchView& gate = door.b;
  const auto& c = door.c;
  bool suits = c.type == door.a.type && c.col_stride == 1 && is_aligned(c.cols, c.type) &&
               is_aligned(c.row_stride, c.type) && is_aligned(c.data) && is_aligned(up.data) &&
               up.group_stride == gate.group_stride && up.row_stride == gate.row_stride &&
               up.col_stride == gate.col_stride;
  if constexpr (!std::is_same_v<Door, RaggedRows>) {
    suits = suits && is_aligned(c.group_stride, c.type);
  }
  return suits;
}

// False where this device, or these operands, need the other way.
template <class Door>
bool run_in_one_go(const Door& door, const ConstBatchView& up, Activation activation,
                   const RunOptions& options) {
  if (!suits_one_go(door, up)) return false;
  const Machine& machine = machine_of_calls(options.device);
  const KernelEntry* const kernel = find_kernel(cuda::gated_kernel_name(door.a.type));
  DeviceProducts device = device_products(door, 1, 0, {BiasAxis::none, activation});
  if (kernel == nullptr || why_not(*kernel, device.problem, machine) ||
      why_not_in_place(*kernel, device.problem)) {
    return false;
  }
  device.groups.up = device.groups.b;
  device.groups.up.base = up.data;

  Plan plan;
  plan.problem = device.problem;
  plan.machine = machine;
  plan.kernel = kernel->name;
  plan.tile = kernel->tile;
  plan.schedule.workers = machine.workers / (kernel->tile.cluster_m * kernel->tile.cluster_n);
  cuda::run_ragged_plan(plan, device.groups, device.bias_type, options);
  return true;
}

template <class Door>
void run_door(const Door& door, const ConstBatchView& up, Activation activation,
              const RunOptions& options) {
  const std::int64_t rows = rows_of_all(door);
  const std::int64_t cols = door.c.cols;
  if (rows == 0 || cols == 0 || door.b.groups == 0) return;
  check_batches_apart(std::vector<NamedBatch>{{as_batch(door.c), "C", true}, {up, "up"}});
  const ElementType type = accumulator_of({door.a.type, door.b.type, door.c.type});
  if (type == ElementType::i32) {
    throw Error(ErrorCode::unsupported, "types", "be floating-point for a gated pair",
                "whole numbers", "convert the operands");
  }
  if constexpr (!std::is_same_v<Door, StridedBatch>) {
    if (run_in_one_go(door, up, activation, options)) return;
  }
  const std::int64_t most =
      std::max(kColumnUnit, kScratchElements / rows / kColumnUnit * kColumnUnit);
  const std::int64_t width = std::min(cols, most);
  const std::int64_t stride = (width + 31) / 32 * 32;
  const std::int64_t bytes = rows * stride * size_of(type);
  const cuda::DeviceMemory memory(static_cast<std::size_t>(2 * bytes), options.stream);
  const GroupSizes sizes = sizes_of(door);

  for (std::int64_t left = 0; left < cols; left += width) {
    const std::int64_t count = std::min(width, cols - left);
    const Scratch gate{memory.data(), count, stride, type};
    const Scratch up_product{memory.data() + bytes, count, stride, type};
    multiply(into(gate, columns_of(door.b, left, count), door), {BiasAxis::none, activation},
             options);
    cuda::GatedCombine work;
    work.sizes = sizes;
    work.line = multiply(into(up_product, columns_of(up, left, count), door), {}, options);
    work.gate = gate.data;
    work.up = up_product.data;
    work.type = type;
    work.rows = rows;
    work.cols = count;
    work.stride = stride;
    describe_c(work, door, left);
    cuda::combine_gated(work, options);
  }
}

}  // namespace

void gated_on_device(const RaggedProducts& products, const ConstBatchView& up,
                     Activation activation, const RunOptions& caller) {
  RunOptions options;
  options.device = caller.device;
  options.stream = caller.stream;
  // The combination reads the line of the product before it.
  const auto turn = cuda::take_turn(options);
  if (const auto* const rows = std::get_if<RaggedRows>(&products)) {
    run_door(*rows, up, activation, options);
  } else if (const auto* const masked = std::get_if<MaskedRows>(&products)) {
    run_door(*masked, up, activation, options);
  } else {
    run_door(std::get<StridedBatch>(products), up, activation, options);
  }
}

}  // namespace tessera
