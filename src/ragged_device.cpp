// Views become one rule per operand, and run. ragged_device_plan.cpp plans for them.
#include "ragged_device.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "batch_overlap.hpp"
#include "core/catalogue.hpp"
#include "core/invalid_argument.hpp"
#include "ragged.hpp"
#include "ragged_sizes.hpp"
#include "ragged_views.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

using cuda::OperandRule;

// ---- The rules of each door ----

template <class View>
OperandRule rule_of(const View& view) {
  return {.base = view.data,
          .element_bytes = size_of(view.type),
          .row_stride = view.row_stride,
          .col_stride = view.col_stride};
}

template <class Batch>
OperandRule rule_of_batch(const Batch& batch) {
  OperandRule rule = rule_of(batch);
  rule.group_stride = batch.group_stride;
  return rule;
}

template <class View>
OperandRule rule_of_segments(const View& view, std::int64_t begin_stride) {
  OperandRule rule = rule_of(view);
  rule.begin_stride = begin_stride;
  return rule;
}

OperandRule rule_of_bias(const ConstMatrixView& bias) {
  return {.base = bias.data,
          .element_bytes = size_of(bias.type),
          .group_stride = bias.row_stride,
          .row_stride = bias.col_stride};
}

OperandRule rule_of_pointers(const void* const* pointers, ElementType type,
                             const IndexArray& leading, Major major) {
  return {.pointers = pointers,
          .element_bytes = size_of(type),
          .row_stride = 1,
          .col_stride = 1,
          .leading = list_of(leading),
          .leads_rows = major == Major::row};
}

// An operand's alignment where every product begins at a multiple of some strides.
void lower_alignment(OperandLayout& layout, const OperandRule& rule, std::int64_t groups) {
  if (groups < 2 && rule.begin_stride == 0) return;
  for (const std::int64_t stride : {rule.group_stride, rule.begin_stride}) {
    while (stride * rule.element_bytes % layout.alignment != 0) layout.alignment /= 2;
  }
}

// The rules and sizes of a door, and products that show what its views are worth: as large as they
// can be, and a second one where each has a matrix of its own.
struct Door {
  cuda::DeviceGroups groups;
  std::vector<Operands> samples;
};

Door open(const RaggedRows& rows, BiasAxis bias) {
  Door door;
  door.groups.sizes = view_segments(SizeSource::row_segments, rows.offsets, rows.b.groups,
                                    {rows.c.rows, rows.c.cols, rows.a.cols});
  door.groups.a = rule_of_segments(rows.a, rows.a.row_stride);
  door.groups.b = rule_of_batch(rows.b);
  door.groups.c = rule_of_segments(rows.c, rows.c.row_stride);
  door.groups.bias = rule_of_bias(rows.bias);
  if (rows.b.groups > 0) {
    door.samples = {{rows.a, matrix_of(rows.b, 0), rows.c, bias_of(rows.bias, bias, 0)}};
  }
  return door;
}

Door open(const MaskedRows& masked, BiasAxis bias) {
  Door door;
  door.groups.sizes =
      view_counts(masked.counts, masked.c.groups, {masked.c.rows, masked.c.cols, masked.a.cols});
  door.groups.a = rule_of_batch(masked.a);
  door.groups.b = rule_of_batch(masked.b);
  door.groups.c = rule_of_batch(masked.c);
  door.groups.bias = rule_of_bias(masked.bias);
  for (std::int64_t g = 0; g < std::min<std::int64_t>(2, masked.c.groups); ++g) {
    door.samples.push_back({matrix_of(masked.a, g), matrix_of(masked.b, g), matrix_of(masked.c, g),
                            bias_of(masked.bias, bias, g)});
  }
  return door;
}

Door open(const RaggedK& depth, BiasAxis bias) {
  Door door;
  door.groups.sizes = view_segments(SizeSource::depth_segments, depth.offsets, depth.c.groups,
                                    {depth.c.rows, depth.c.cols, depth.a.cols});
  door.groups.a = rule_of_segments(depth.a, depth.a.col_stride);
  door.groups.b = rule_of_segments(depth.b, depth.b.row_stride);
  door.groups.c = rule_of_batch(depth.c);
  door.groups.bias = rule_of_bias(depth.bias);
  for (std::int64_t g = 0; g < std::min<std::int64_t>(2, depth.c.groups); ++g) {
    door.samples.push_back({depth.a, depth.b, matrix_of(depth.c, g), bias_of(depth.bias, bias, g)});
  }
  return door;
}

Door open(const PointerArray& array, BiasAxis bias) {
  Door door;
  GroupSizes& sizes = door.groups.sizes;
  sizes = view_sizes(array);
  for (std::int64_t* bound : {&sizes.bound_m, &sizes.bound_n, &sizes.bound_k}) {
    *bound = std::min(*bound, kLargestSide);
  }
  door.groups.a = rule_of_pointers(array.a, array.types.a, array.lda, array.a_major);
  door.groups.b = rule_of_pointers(array.b, array.types.b, array.ldb, array.b_major);
  door.groups.c = rule_of_pointers(const_cast<const void* const*>(array.c), array.types.c,
                                   array.ldc, array.c_major);
  door.groups.bias = {.pointers = bias == BiasAxis::none ? nullptr : array.bias, .row_stride = 1};
  return door;
}

Door open(const StridedBatch&, BiasAxis) {
  throw Error(ErrorCode::unsupported, "products", "have sizes in arrays", "a strided batch",
              "call grouped_gemm");
}

// Of all groups, where `samples` show the first ones'. What is not read may lie anywhere.
template <class Products>
void check_apart(const Products& products, bool multiplies, bool has_bias) {
  std::vector<NamedBatch> batches = {{as_batch(products.c), "C", true}};
  if (multiplies) {
    batches.push_back({as_batch(products.a), "A"});
    batches.push_back({as_batch(products.b), "B"});
  }
  if (has_bias) {
    const ConstMatrixView& bias = products.bias;
    batches.push_back(
        {{bias.data, bias.rows, 1, bias.cols, bias.row_stride, 1, bias.col_stride, bias.type},
         "bias"});
  }
  check_batches_apart(batches);
}
// Of these only the device knows where they lie.
void check_apart(const PointerArray&, bool, bool) {}

OperandLayout layout_of_array(const PointerArray& array, Major major, ElementType type) {
  const int least = static_cast<int>(size_of(type));
  if (array.alignment == 0) return {major, least};
  int alignment = 128;
  while (array.alignment % alignment != 0) alignment /= 2;
  return {major, std::max(alignment, least)};
}

Problem problem_of(const PointerArray& array, double alpha, double beta, const Epilogue& epilogue) {
  if (array.alignment < 0) {
    fail_argument("alignment", "be at least 0", std::to_string(array.alignment),
                  "promise nothing with 0, or 16 bytes for the tensor memory accelerator");
  }
  return {array.types,
          {},
          layout_of_array(array, array.a_major, array.types.a),
          layout_of_array(array, array.b_major, array.types.b),
          layout_of_array(array, array.c_major, array.types.c),
          alpha,
          beta,
          epilogue};
}

// ---- Runs ----

// Operands of which the host knows neither sizes nor places are never copied.
std::optional<std::string> why_not_where_it_lies(const KernelEntry& kernel, const Problem& problem,
                                                 const Machine& machine) {
  if (auto reason = why_not(kernel, problem, machine)) return reason;
  return why_not_in_place(kernel, problem);
}

void check_fits(const Plan& plan, const DeviceProducts& products) {
  const Problem& planned = plan.problem;
  const Problem& given = products.problem;
  const GroupSizes& sizes = products.groups.sizes;
  const auto refuse = [](const char* argument, const std::string& requirement,
                         const std::string& value) {
    fail_argument(argument, requirement, value, "plan again for these views");
  };
  if (planned.groups.size() != static_cast<std::size_t>(sizes.groups)) {
    refuse("groups", "number " + std::to_string(planned.groups.size()) + ", as in the plan",
           std::to_string(sizes.groups));
  }
  if (sizes.groups == 0) return;
  if (planned.types != given.types) refuse("types", "be those of the plan", "others");
  const bool any_m = sizes.source != SizeSource::depth_segments;
  const bool is_array = sizes.source == SizeSource::each;
  const bool any_k = is_array || sizes.source == SizeSource::depth_segments;
  const GemmShape& shape = planned.groups.front();
  if ((!any_m && shape.m != sizes.bound_m) || (!is_array && shape.n != sizes.bound_n) ||
      (!any_k && shape.k != sizes.bound_k)) {
    refuse("operands", "have the sizes that are the same for every group as planned",
           "other sizes");
  }
  if (planned.a.major != given.a.major || planned.b.major != given.b.major ||
      planned.c.major != given.c.major) {
    refuse("operands", "lie in rows or columns as planned", "the other way round");
  }
  const KernelEntry* const kernel = find_kernel(plan.kernel);
  if (kernel == nullptr) return;
  const GemmShape most[] = {{sizes.bound_m, sizes.bound_n, sizes.bound_k}};
  auto objection = why_not_where_it_lies(*kernel, given, plan.machine);
  if (!objection) objection = why_not_counted(*kernel, most);
  if (objection) {
    refuse("operands", "suit the plan's kernel", *objection);
  }
}

}  // namespace

DeviceProducts device_products(const RaggedProducts& products, double alpha, double beta,
                               const Epilogue& epilogue) {
  check_views(products, epilogue.bias);
  const Door door =
      std::visit([&](const auto& views) { return open(views, epilogue.bias); }, products);
  DeviceProducts device{door.groups, {}, ElementType::f32};
  const auto* const array = std::get_if<PointerArray>(&products);
  device.problem = array != nullptr ? problem_of(*array, alpha, beta, epilogue)
                                    : describe(door.samples, alpha, beta, epilogue);
  device.problem.groups.clear();
  device.groups.multiplies = alpha != 0;
  const bool has_bias = epilogue.bias != BiasAxis::none;
  std::visit([&](const auto& views) { check_apart(views, alpha != 0, has_bias); }, products);
  if (array == nullptr) {
    const std::int64_t groups = door.groups.sizes.groups;
    lower_alignment(device.problem.a, door.groups.a, groups);
    lower_alignment(device.problem.b, door.groups.b, groups);
    lower_alignment(device.problem.c, door.groups.c, groups);
  }
  device.bias_type = array != nullptr       ? array->types.c
                     : door.samples.empty() ? ElementType::f32
                                            : door.samples.front().bias.type;
  device.groups.bias.element_bytes = size_of(device.bias_type);
  return device;
}

const cuda::DeviceLine* run_on_device(const Plan& plan, const DeviceProducts& products,
                                      const RunOptions& options) {
  check_fits(plan, products);
  return cuda::run_ragged_plan(plan, products.groups, products.bias_type, options);
}

std::size_t device_workspace_bytes(const Plan& plan, const RaggedProducts& products) {
  const Problem& planned = plan.problem;
  const DeviceProducts device =
      device_products(products, planned.alpha, planned.beta, planned.epilogue);
  check_fits(plan, device);
  return device.groups.sizes.groups == 0 ? 0
                                         : cuda::ragged_workspace_bytes(plan, device.groups.sizes);
}

}  // namespace tessera
