#include "cli/traced_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/clock.hpp"
#include "cli/cuda_device.hpp"
#include "cli/interrupt.hpp"
#include "cli/matrix.hpp"
#include "cli/packed_operands.hpp"
#include "cli/progress.hpp"
#include "cli/random.hpp"
#include "cli/workload.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

struct Buffers {
  Matrix a, b, c;
};

std::vector<Buffers> random_buffers(const Problem& problem, std::uint64_t seed) {
  std::vector<Buffers> all;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const GemmShape& shape = problem.groups[g];
    const auto major = [](const OperandLayout& layout) {
      return layout.major == Major::column ? Major::column : Major::row;
    };
    Buffers one{Matrix(shape.m, shape.k, problem.types.a, major(problem.a)),
                Matrix(shape.k, shape.n, problem.types.b, major(problem.b)),
                Matrix(shape.m, shape.n, problem.types.c, major(problem.c))};
    fill_random(one.a, seed + 3 * g);
    fill_random(one.b, seed + 3 * g + 1);
    fill_random(one.c, seed + 3 * g + 2);
    all.push_back(std::move(one));
  }
  return all;
}

double timed_run(const Plan& plan, const std::vector<Operands>& operands,
                 const RunOptions& options) {
  return bench::seconds_of([&] { run(plan, operands, options); });
}

}  // namespace

TracedRun run_traced(const Plan& plan, int threads, int repeats, std::uint64_t seed) {
  if (plan.problem.epilogue.bias != BiasAxis::none) {
    throw Error(ErrorCode::unsupported, "bias", "be absent where a run is traced",
                std::string(name_of(plan.problem.epilogue.bias)), "leave it out");
  }
  if (plan.machine.kind == MachineKind::gpu) {
    Workload workload = random_workload(plan.problem, seed);
    return trace_on_cuda(plan, workload, repeats);
  }
  std::vector<Buffers> buffers = random_buffers(plan.problem, seed);
  std::vector<Operands> operands;
  for (Buffers& one : buffers) operands.push_back({one.a.view(), one.b.view(), one.c.view(), {}});

  std::vector<PackedMatrix> packed;
  if (plan.problem.b.major == Major::packed) packed = pack_each(plan, operands);

  // Each is run without and with a trace, after a first run that warms up.
  Progress progress("running", 2.0 * repeats + 1, "runs");
  RunOptions options{.threads = threads};
  timed_run(plan, operands, options);
  TracedRun result;
  for (int i = 0; i < repeats; ++i) {
    throw_if_interrupted();
    progress.at(2.0 * i + 1);
    options.trace = nullptr;
    const double plain = timed_run(plan, operands, options);
    if (i == 0 || plain < result.seconds) result.seconds = plain;
    Trace trace;
    options.trace = &trace;
    timed_run(plan, operands, options);
    if (i == 0 || trace.seconds < result.trace.seconds) result.trace = std::move(trace);
  }
  result.traced_seconds = result.trace.seconds;
  return result;
}

}  // namespace tessera::cli
