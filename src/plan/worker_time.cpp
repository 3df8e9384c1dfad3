#include "plan/worker_time.hpp"

#include "core/work.hpp"

namespace tessera {

KernelSpeed speed_of(const KernelEntry* kernel) {
  return kernel != nullptr ? kernel->speed : KernelSpeed{};
}

double worker_cache_rate(const Machine& machine) {
  return machine.cache_bytes_per_second / machine.workers;
}

double result_bytes(const std::vector<ShapeRun>& runs, const Problem& problem) {
  double bytes = 0;
  for (const ShapeRun& run : runs) {
    bytes += static_cast<double>(run.count) * static_cast<double>(run.shape.m) *
             static_cast<double>(run.shape.n) * size_of(problem.types.c);
  }
  return bytes;
}

double footprint_bytes(const std::vector<ShapeRun>& runs, const Problem& problem) {
  double bytes = result_bytes(runs, problem);
  for (const ShapeRun& run : runs) {
    const auto m = static_cast<double>(run.shape.m);
    const auto n = static_cast<double>(run.shape.n);
    const auto k = static_cast<double>(run.shape.k);
    bytes += static_cast<double>(run.count) *
             (m * k * size_of(problem.types.a) + k * n * size_of(problem.types.b));
  }
  return bytes;
}

double peak_seconds(const std::vector<ShapeRun>& runs, const Problem& problem,
                    const Machine& machine) {
  double flops = 0;
  for (const ShapeRun& run : runs) {
    flops += 2.0 * static_cast<double>(run.count) * multiply_adds(run.shape);
  }
  return flops / (machine.peak(problem.types.a) * machine.workers);
}

}  // namespace tessera
