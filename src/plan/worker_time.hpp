// The times of one worker on one tile shape: what an iteration takes, and what finishing a tile
// takes, on a CPU (worker_time_cpu.cpp) and on a GPU (worker_time_gpu.cpp). cost.hpp makes whole
// schedules of them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/catalogue.hpp"
#include "plan/shape_runs.hpp"
#include "plan/traffic.hpp"
#include "tessera/machine.hpp"
#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

struct WorkerTime {
  double arithmetic = 0;  // one MAC iteration: multiplying ...
  double packing = 0;     // ... packing operands, or reading them in place at a disadvantage ...
  double other = 0;       // ... and what comes on top of either
  double loading = 0;     // its blocks from the cache, with nobody else there (GPU)
  double shared_loading = 0;  // likewise, with all workers loading
  double finish = 0;          // writing one tile of C ...
  double shared_storing = 0;  // ... and its way to memory, with all workers storing (GPU)

  // How much faster it multiplies, and loads, alone than with all workers.
  double idle_gain = 0;

  // Whether few rows of C read B where it lies, or pack it by pieces, on a CPU.
  bool reads_for_few_rows = false;

  double alone(double seconds, double busy_share) const {
    return seconds / (1 + idle_gain * (1 - busy_share));
  }
  double multiplying(double busy_share) const { return alone(arithmetic, busy_share); }
  // One MAC iteration while this share of all workers is busy. Loads run beside the arithmetic.
  double iteration(double busy_share) const {
    return std::max({multiplying(busy_share) + packing, alone(loading, busy_share),
                     shared_loading * busy_share}) +
           other;
  }
};

// What the catalogue says of a kernel; of none, what is usual.
KernelSpeed speed_of(const KernelEntry* kernel);

// One worker's share of the shared cache's bandwidth.
double worker_cache_rate(const Machine& machine);

// What all operands and results take, each once, and what results do.
double footprint_bytes(const std::vector<ShapeRun>& runs, const Problem& problem);
double result_bytes(const std::vector<ShapeRun>& runs, const Problem& problem);

// What all products multiply, on all of a machine's workers at their peak rate.
double peak_seconds(const std::vector<ShapeRun>& runs, const Problem& problem,
                    const Machine& machine);

// `kernel` may be null: a tile that no kernel is compiled for. `all_seconds` is the whole problem's
// peak_seconds: short products run at higher clocks.
WorkerTime time_on_gpu(const GemmShape& shape, const Problem& problem, const Machine& machine,
                       TileConfig tile, const KernelEntry* kernel, double all_seconds);

// Of one of `workers`. `all_bytes` is the whole problem's footprint: operands that fit L2 are
// packed from there.
WorkerTime time_on_cpu(const GemmShape& shape, const TileGrid& grid, const Problem& problem,
                       const Machine& machine, const TileConfig& tile, const KernelEntry* kernel,
                       int workers, double all_bytes);

}  // namespace tessera
