// Enumerates what could compute a problem: kernels of the catalogue with their tiles, and for each
// tile the schedules worth costing. Everything that is left out is recorded with its reason.
//
// tiles_gpu.cpp, tiles_cpu.cpp and cpu_variants.cpp hold the knobs that choose tile shapes;
// candidates.cpp the ones that choose kernels, schedules and tile orders.
#pragma once

#include <string>
#include <vector>

#include "core/catalogue.hpp"
#include "plan/cost.hpp"
#include "plan/shape_runs.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// What the knobs read.
struct PlanRequest {
  const Problem& problem;
  const Machine& machine;
  const PlanOptions& options;
  std::vector<ShapeRun> runs;
  const KernelEntry* for_layer = nullptr;  // of a layer of experts (layer.hpp)

  int most_workers() const { return options.workers.value_or(machine.workers); }
  bool is_one_product() const { return runs.size() == 1 && runs.front().count == 1; }
};

struct TileCandidate {
  const KernelEntry* kernel = nullptr;  // null: planned for, but not compiled
  TileConfig tile;
  int workers = 1;
};

struct Rejection {
  std::string kernel;
  TileConfig tile;
  std::string reason;
};

struct TileChoices {
  std::vector<TileCandidate> accepted;
  std::vector<Rejection> rejected;
};

// The name in a plan whose tile no kernel is compiled for.
inline constexpr std::string_view kAnalyticKernel = "analytic (not compiled)";

std::string kernel_name(const TileCandidate& candidate);

// Kernels that can compute the problem on the machine, each with the tiles it may use.
TileChoices enumerate_tiles(const PlanRequest& request);

// The knobs of enumerate_tiles for each kind of machine.
void enumerate_gpu_tiles(const PlanRequest& request, TileChoices& choices);
void enumerate_cpu_tiles(const PlanRequest& request, TileChoices& choices);

// The tile that `batch_invariant` prescribes: the blocks depend on the types and the kernel alone.
TileConfig invariant_cpu_tile(const KernelEntry& kernel);

// Schedules worth costing for a tile shape; the simplest first.
std::vector<Schedule> enumerate_schedules(const PlanRequest& request, const TileProfile& profile,
                                          int workers);

// The order in which a wave's tiles share most: the caller's, or the one with the least to load.
TileOrderChoice choose_order(const PlanRequest& request, const TileProfile& profile,
                             const TileConfig& tile, int workers);

}  // namespace tessera
