#include "plan/invariant.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "schedule/partition.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

// Tiles are chosen for products of few, some and many rows alike.
constexpr std::array<std::int64_t, 3> kRows = {16, 256, 4096};
constexpr std::int64_t kSide = 4096;

// k is cut into pieces of at least this depth: adding the partial tiles then costs a few percent at
// most, however many rows there are.
constexpr std::int64_t kLeastDepth = 4096;

// A CPU's tile may be turned round with the product (plan/orientation.hpp), which m can decide:
// what counts is how wide it is asked for.
std::int64_t columns_of_tile(const PlanRequest& request, const TileCandidate& candidate) {
  const std::optional<TileConfig>& asked = request.options.tile;
  if (request.machine.kind != MachineKind::cpu) return candidate.tile.block_n;
  return asked && asked->block_n > 0 ? asked->block_n
                                     : invariant_cpu_tile(*candidate.kernel).block_n;
}

// As many pieces as let one row of tiles use all of the machine's workers. (A candidate's own
// number of workers will not do: a small product gets fewer, and how small it is depends on m.)
int splits_for(const GemmShape& shape, const PlanRequest& request, const TileCandidate& candidate) {
  const TileConfig& tile = candidate.tile;
  const std::int64_t workers = request.machine.workers / (tile.cluster_m * tile.cluster_n);
  const std::int64_t columns =
      std::max<std::int64_t>(1, ceil_div(shape.n, columns_of_tile(request, candidate)));
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min<std::int64_t>(workers / columns, shape.k / kLeastDepth)));
}

// The product of the predicted times: a factor lost on few rows weighs as much as one on many.
double time_on_all(Problem problem, const Machine& machine, const TileCandidate& candidate) {
  double product = 1;
  for (const std::int64_t rows : kRows) {
    problem.groups = {{rows, kSide, kSide}};
    const std::vector<ShapeRun> runs = shape_runs(problem);
    const TileProfile profile =
        profile_tiles(runs, problem, machine, candidate.tile, candidate.kernel, candidate.workers);
    Schedule schedule;
    schedule.workers = candidate.workers;
    const Traffic traffic = traffic_of(profile, problem, machine, {}, candidate.workers);
    product *= predict(profile, machine, schedule, traffic).seconds;
  }
  return product;
}

}  // namespace

void keep_invariant_kernel(const PlanRequest& request, std::vector<const KernelEntry*>& kernels,
                           TileChoices& choices) {
  if (kernels.size() <= 1) return;
  // How many workers a product gets, and how its operands lie, may depend on m.
  const Problem problem = dense_problem({}, request.problem.types);
  const Machine machine = with_workers(request.machine, 1);
  const KernelEntry* best = *std::ranges::min_element(kernels, {}, [&](const KernelEntry* kernel) {
    return time_on_all(problem, machine, {kernel, invariant_cpu_tile(*kernel), 1});
  });
  for (const KernelEntry* kernel : kernels) {
    if (kernel == best) continue;
    choices.rejected.push_back({std::string(kernel->name), kernel->tile,
                                "batch_invariant fixes the kernel by the types alone"});
  }
  kernels = {best};
}

void keep_invariant_tile(const PlanRequest& request, TileChoices& choices) {
  if (choices.accepted.size() <= 1) return;
  const auto price = [&](const TileCandidate& candidate) {
    return time_on_all(request.problem, request.machine, candidate);
  };
  const TileCandidate best = *std::ranges::min_element(choices.accepted, {}, price);
  for (const TileCandidate& candidate : choices.accepted) {
    if (candidate.kernel == best.kernel && candidate.tile == best.tile) continue;
    choices.rejected.push_back({kernel_name(candidate), candidate.tile,
                                "batch_invariant fixes the tile by the types alone"});
  }
  std::erase_if(choices.accepted, [&](const TileCandidate& candidate) {
    return candidate.kernel != best.kernel || candidate.tile != best.tile;
  });
}

Schedule invariant_schedule(const PlanRequest& request, const TileCandidate& candidate) {
  Schedule schedule;
  schedule.workers = candidate.workers;
  schedule.splits = 1;
  if (request.options.splits) {
    schedule.splits = *request.options.splits;
  } else if (request.options.schedule != ScheduleKind::data_parallel && !request.runs.empty()) {
    schedule.splits = splits_for(request.runs.front().shape, request, candidate);
    for (const ShapeRun& run : request.runs) {
      const int splits = splits_for(run.shape, request, candidate);
      if (splits == schedule.splits) continue;
      throw Error(ErrorCode::unsupported, "batch_invariant",
                  "find n and k in all groups that ask for equally many splits",
                  std::to_string(schedule.splits) + " and " + std::to_string(splits),
                  "plan such groups separately, or fix the number of splits");
    }
  }
  if (schedule.splits > 1) schedule.kind = ScheduleKind::split_k;
  return schedule;
}

}  // namespace tessera
