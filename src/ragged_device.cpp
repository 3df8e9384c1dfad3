#include "ragged_device.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/catalogue.hpp"
#include "core/invalid_argument.hpp"
#include "plan/cost.hpp"
#include "plan/decompose.hpp"
#include "plan/layer.hpp"
#include "plan_cache.hpp"
#include "ragged.hpp"
#include "ragged_sizes.hpp"
#include "ragged_views.hpp"
#include "schedule/iteration_space.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

using cuda::OperandRule;

// What a product of an array without a bound is assumed to be, at most, for the plan.
constexpr std::int64_t kAssumedSide = 1024;
// Sizes without a bound end where coordinates of tiles do.
constexpr std::int64_t kLargestSide = kMostTmaSide;

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

Door open(const PointerArray& array, BiasAxis) {
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
  door.groups.bias = {.pointers = array.bias, .element_bytes = 0, .row_stride = 1};
  return door;
}

Door open(const StridedBatch&, BiasAxis) {
  throw Error(ErrorCode::unsupported, "products", "have sizes in arrays", "a strided batch",
              "call grouped_gemm");
}

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

// ---- Plans ----

// Offsets of groups that have shares of `total` like those of a flat Dirichlet distribution: the
// quantiles of an exponential one, the largest first.
std::vector<std::int64_t> skewed_offsets(std::int64_t total, std::int64_t groups) {
  std::vector<std::int64_t> offsets = {0};
  offsets.reserve(static_cast<std::size_t>(groups) + 1);
  double before = 0;
  const auto count = static_cast<double>(groups);
  const auto quantile = [&](std::int64_t g) {
    return -std::log((static_cast<double>(g) + 0.5) / count);
  };
  double sum = 0;
  for (std::int64_t g = 0; g < groups; ++g) sum += quantile(g);
  for (std::int64_t g = 0; g < groups; ++g) {
    before += quantile(g);
    offsets.push_back(g + 1 == groups ? total
                                      : std::llround(static_cast<double>(total) * before / sum));
  }
  return offsets;
}

std::vector<GemmShape> likely_shapes(const GroupSizes& sizes, bool even) {
  const GemmShape bound{sizes.bound_m, sizes.bound_n, sizes.bound_k};
  std::vector<GemmShape> shapes(static_cast<std::size_t>(sizes.groups), bound);
  const bool is_depth = sizes.source == SizeSource::depth_segments;
  if (is_depth || sizes.source == SizeSource::row_segments) {
    const std::int64_t total = is_depth ? bound.k : bound.m;
    const std::vector<std::int64_t> offsets =
        even ? even_offsets(total, sizes.groups) : skewed_offsets(total, sizes.groups);
    for (std::size_t g = 0; g < shapes.size(); ++g) {
      (is_depth ? shapes[g].k : shapes[g].m) = offsets[g + 1] - offsets[g];
    }
  } else if (sizes.source == SizeSource::each) {
    for (GemmShape& shape : shapes) {
      if (bound.m == kLargestSide) shape.m = kAssumedSide;
      if (bound.n == kLargestSide) shape.n = kAssumedSide;
      if (bound.k == kLargestSide) shape.k = kAssumedSide;
    }
  }
  return shapes;
}

// Operands of which the host knows neither sizes nor places are never copied.
std::optional<std::string> why_not_where_it_lies(const KernelEntry& kernel, const Problem& problem,
                                                 const Machine& machine) {
  if (auto reason = why_not(kernel, problem, machine)) return reason;
  return why_not_in_place(kernel, problem);
}

// Groups of rows are a layer whatever their sizes: all rows may be in one group, or spread over
// all.
std::optional<LayerChoice> choose_if_rows(const Problem& problem, const DeviceProducts& products,
                                          const Machine& machine, const PlanOptions& options) {
  const SizeSource source = products.groups.sizes.source;
  const bool has_rows = source == SizeSource::row_segments || source == SizeSource::row_counts;
  if (!has_rows) return choose_if_layer(problem, machine, options);
  if (!leaves_open(options) || problem.groups.empty()) return std::nullopt;
  return choose_for_layer(problem, machine, source == SizeSource::row_segments);
}

// Any sizes may come, so that no worker is spared.
Plan with_all_workers(Plan plan, const PlanOptions& asked) {
  if (!asked.workers) {
    plan.schedule.workers = plan.machine.workers / (plan.tile.cluster_m * plan.tile.cluster_n);
    plan.decomposition = decompose(plan);
  }
  return plan;
}

Plan plan_for(const DeviceProducts& products, const Machine& machine, const PlanOptions& asked) {
  Problem problem = products.problem;
  problem.groups = likely_shapes(products.groups.sizes, asked.batch_invariant);
  if (!problem.groups.empty()) {
    // What is divided may go to one group alone: beyond some kernels' counting that decides.
    const GroupSizes& sizes = products.groups.sizes;
    if (sizes.bound_m > kMostTmaSide) problem.groups.front().m = sizes.bound_m;
    if (sizes.bound_k > kMostTmaSide) problem.groups.front().k = sizes.bound_k;
  }
  PlanOptions options = asked;
  options.allow_copies = false;
  const std::optional<LayerChoice> layer = choose_if_rows(problem, products, machine, options);
  Plan plan = make_plan(problem, machine, options, layer);
  const bool is_free = !options.schedule && !options.splits && !options.batch_invariant &&
                       !(layer && layer->schedule);
  if (!is_free || plan.schedule.kind != ScheduleKind::split_k) {
    return with_all_workers(std::move(plan), asked);
  }

  // Pieces of tiles need memory for the most tiles that sizes may make; the others need none for
  // whole tiles, and little for any number of shared ones.
  PlanOptions without_pieces = options;
  without_pieces.schedule = ScheduleKind::data_parallel;
  plan = make_plan(problem, machine, without_pieces, layer);
  for (const ScheduleKind kind : {ScheduleKind::hybrid, ScheduleKind::stream_k}) {
    without_pieces.schedule = kind;
    Plan other = make_plan(problem, machine, without_pieces, layer);
    if (other.cost.seconds < kWorthwhile * plan.cost.seconds) plan = std::move(other);
  }
  return with_all_workers(std::move(plan), asked);
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

// ---- Plans that calls keep ----

struct ViewsKey {
  int device = kHost;
  SizeSource source = SizeSource::uniform;
  std::int32_t groups = 0;
  GemmShape bound;
  GemmTypes types;
  OperandLayout a, b, c;
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;

  friend bool operator==(const ViewsKey&, const ViewsKey&) = default;
};

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

Plan make_device_plan(const RaggedProducts& products, double alpha, double beta,
                      const Epilogue& epilogue, const Machine& machine,
                      const PlanOptions& options) {
  return plan_for(device_products(products, alpha, beta, epilogue), machine, options);
}

std::shared_ptr<const Plan> find_or_make_device_plan(const DeviceProducts& products, int ordinal) {
  struct Kept {
    ViewsKey key;
    std::shared_ptr<const Plan> plan;
  };
  thread_local std::array<Kept, 16> kept;
  thread_local std::size_t next = 0;
  const Problem& p = products.problem;
  const GroupSizes& sizes = products.groups.sizes;
  const ViewsKey key{
      ordinal, sizes.source, sizes.groups, {sizes.bound_m, sizes.bound_n, sizes.bound_k},
      p.types, p.a,          p.b,          p.c,
      p.alpha, p.beta,       p.epilogue};
  for (const Kept& one : kept) {
    if (one.plan != nullptr && one.key == key) return one.plan;
  }
  Kept& place = kept[next++ % kept.size()];
  place = {key, std::make_shared<const Plan>(plan_for(products, machine_of_calls(ordinal), {}))};
  return place.plan;
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
