// Plans for sizes that only a device knows: made for likely ones, kept for the next call.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/catalogue.hpp"
#include "plan/cost.hpp"
#include "plan/decompose.hpp"
#include "plan/layer.hpp"
#include "plan_cache.hpp"
#include "ragged_device.hpp"
#include "ragged_sizes.hpp"

namespace tessera {
namespace {

// What a product of an array without a bound is assumed to be, at most, for the plan.
constexpr std::int64_t kAssumedSide = 1024;

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

}  // namespace tessera
