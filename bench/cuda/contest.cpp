#include "bench/cuda/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/cuda/cublaslt.hpp"
#include "bench/cuda/limits.hpp"
#include "bench/cuda/operands.hpp"
#include "core/catalogue.hpp"
#include "cuda/check.hpp"
#include "cuda/device_machine.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

// How far two right results of normal operands may lie apart, as a share of the largest element:
// a rounding of C, and sums in another order.
double most_difference(const GemmTypes& types, std::int64_t k) {
  const auto depth = std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1)));
  if (types.c == ElementType::i32) return 0;
  const double sums = depth * (types.c == ElementType::f64 ? 0x1p-52 : 0x1p-23);
  const double rounding = types.c == ElementType::bf16  ? 0x1p-7
                          : types.c == ElementType::f16 ? 0x1p-10
                                                        : 0;
  return 4 * sums + rounding;
}

}  // namespace

struct CudaContest::State {
  explicit State(const CudaContestOptions& chosen)
      : options(chosen), machine(cuda::cuda_machine()), stopwatch(flush_bytes(chosen.cold)) {
    if (options.peer) peer.emplace(options.peer_library);
    limits = measure_device_limits(stopwatch, machine, options.types, peer ? &*peer : nullptr);
  }

  std::vector<Operands> operands(const Case& what, OperandArena& output) {
    return memory.operands(what, options.types, {}, output, stopwatch.stream());
  }

  // The largest difference from the reference over all products; "" if it is small enough.
  std::string compare(const std::vector<Operands>& ours, const std::vector<Operands>& reference) {
    for (std::size_t g = 0; g < ours.size(); ++g) {
      const MatrixView& c = ours[g].c;
      if (c.rows * c.cols == 0) continue;
      const double difference = largest_difference(c.data, reference[g].c.data, c.rows * c.cols,
                                                   c.type, stopwatch.stream());
      const double most = most_difference(options.types, ours[g].a.cols);
      if (difference <= most) continue;
      return fmt::format(
          "product {} differs from the reference by {:.3g} of the largest element; {:.3g} is "
          "allowed",
          g, difference, most);
    }
    return "";
  }

  CudaContestOptions options;
  Machine machine;
  Stopwatch stopwatch;
  std::optional<CublasLt> peer;
  ProcessorLimits limits;
  CaseMemory memory;
  OperandArena our_output, reference_output;
};

CudaContest::CudaContest(const CudaContestOptions& options)
    : state_(std::make_unique<State>(options)) {}
CudaContest::~CudaContest() = default;

const Machine& CudaContest::machine() const {
  return state_->machine;
}
const ProcessorLimits& CudaContest::limits() const {
  return state_->limits;
}

Problem CudaContest::problem(const Case& what) const {
  Problem problem;
  problem.types = state_->options.types;
  problem.groups = what.groups;
  return problem;
}

std::vector<CudaContender> CudaContest::measure(const Case& what,
                                                const std::vector<CudaContestant>& ours) {
  State& state = *state_;
  const cudaStream_t stream = state.stopwatch.stream();
  const std::vector<Operands> products = state.operands(what, state.our_output);
  const std::vector<Operands> reference = state.operands(what, state.reference_output);
  std::vector<Contestant> contestants;
  std::vector<CudaContender> results;

  std::unique_ptr<CublasLt::Product> theirs;
  if (state.peer && what.groups.size() == 1) theirs = state.peer->prepare(reference[0], 1);
  const bool has_peer = theirs != nullptr && theirs->choices() > 0;
  if (has_peer) {
    theirs->run(0, stream);
  } else {
    PlanOptions general;
    general.schedule = ScheduleKind::data_parallel;
    const Problem problem = describe(reference, 1, 0, {});
    for (const KernelEntry& kernel : catalogue()) {
      if (!kernel.name.starts_with("sm80_general") || why_not(kernel, problem, state.machine))
        continue;
      general.kernel = std::string(kernel.name);
      break;
    }
    run(make_plan(problem, state.machine, general), reference, {.stream = stream});
  }
  for (const CudaContestant& one : ours) {
    run(one.plan, products, {.stream = stream});
    CudaContender result{one.name, one.detail, false, one.plan.cost.seconds, {}, {}};
    result.wrong = state.compare(products, reference);
    results.push_back(std::move(result));
    contestants.push_back(
        {one.name, [&one, &products](cudaStream_t s) { run(one.plan, products, {.stream = s}); }});
  }
  if (has_peer) {
    contestants.push_back({"cublaslt", [&](cudaStream_t s) { theirs->run(0, s); }});
    results.push_back({"cublaslt", "its first choice", true, 0, {}, {}});
  }
  const std::vector<Sample> times = state.stopwatch.race(contestants, state.options.repeats);
  for (std::size_t i = 0; i < times.size(); ++i) results[i].measured = times[i];
  return results;
}

}  // namespace tessera::bench
