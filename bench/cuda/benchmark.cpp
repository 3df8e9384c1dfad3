#include "bench/cuda/benchmark.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "bench/cuda/cublaslt.hpp"
#include "bench/cuda/operands.hpp"
#include "core/catalogue.hpp"
#include "cuda/check.hpp"
#include "cuda/device_machine.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

// A sweep leaves out what the model takes for so many times slower than its choice, times again
// what is so near the fastest once, and again the nearest.
constexpr double kFarSlower = 2.5;
constexpr double kNear = 1.3;
constexpr double kNearest = 1.03;
constexpr std::size_t kFinalists = 4;  // each of another kernel

double median_of(std::vector<double> values) {
  return summarize(std::move(values)).median;
}

template <class Call>
double host_seconds(Call call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What a sweep tries besides the planner's choice, for each kernel.
std::vector<PlanOptions> sweep_options(const Problem& problem, const Machine& machine) {
  std::vector<PlanOptions> all;
  for (const KernelEntry& kernel : catalogue()) {
    if (why_not(kernel, problem, machine)) continue;
    PlanOptions options;
    options.kernel = std::string(kernel.name);
    for (const ScheduleKind kind :
         {ScheduleKind::data_parallel, ScheduleKind::stream_k, ScheduleKind::hybrid}) {
      options.schedule = kind;
      all.push_back(options);
    }
    options.schedule = ScheduleKind::split_k;
    for (const int splits : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
      options.splits = splits;
      all.push_back(options);
    }
  }
  return all;
}

}  // namespace

struct CudaBenchmark::State {
  explicit State(const CudaBenchmarkOptions& chosen)
      : options(chosen), machine(cuda::cuda_machine()), stopwatch(flush_bytes(chosen.cold)) {
    if (options.peer) peer.emplace(options.peer_library);
    cuda::check(cudaGetDevice(&device), "asking for the current device");
  }

  std::vector<Operands> operands(const Case& what, OperandArena& output) {
    std::vector<Operands> groups =
        memory.operands(what, options.types, {options.a_column_major, options.b_column_major},
                        output, stopwatch.stream());
    if (options.epilogue.bias != BiasAxis::none) memory.add_bias(groups, stopwatch.stream());
    return groups;
  }

  // Our product, and cuBLASLt's choices for it, alternately.
  void race_peer(CudaCaseResult& result, const Contestant& ours, const Operands& group) {
    std::vector<Operands> theirs = operands(result.what, peer_output);
    const auto product =
        peer->prepare(theirs[0], options.peer_choices, options.beta, options.epilogue);
    if (product->choices() == 0) return;
    const auto choice = [&](int index) {
      return Contestant{"cublaslt " + std::to_string(index),
                        [&product, index](cudaStream_t stream) { product->run(index, stream); }};
    };

    int best = 0;
    if (product->choices() > 1) {
      std::vector<Contestant> heats;
      for (int index = 0; index < product->choices(); ++index) heats.push_back(choice(index));
      const std::vector<Sample> times = stopwatch.race(heats, 5);
      best = static_cast<int>(std::ranges::min_element(times, {}, &Sample::median) - times.begin());
    }
    std::vector<Contestant> final = {ours, choice(0)};
    if (best != 0) final.push_back(choice(best));
    const std::vector<Sample> times = stopwatch.race(final, options.repeats);
    result.ours = times[0];
    result.peer_first = times[1];
    result.peer_best = best != 0 && times[2].median < times[1].median ? times[2] : times[1];
    result.peer_best_choice = best != 0 && times[2].median < times[1].median ? best : 0;
    // With beta, each run goes on from the one before.
    if (options.beta != 0) return;
    result.difference =
        largest_difference(group.c.data, theirs[0].c.data, group.c.rows * group.c.cols,
                           group.c.type, stopwatch.stream());
  }

  // Every plan that a kernel and a schedule make, but for those that the model takes for far slower
  // than the chosen one. Each runs once; who comes near the fastest runs again, and the best of
  // those once more against the choice. A kernel that follows another finds none of its code on the
  // SMs, up to 4 us on a small product, so that each one's runs are consecutive.
  void sweep(CudaCaseResult& result, const Contestant& ours, const std::vector<Operands>& groups) {
    const std::vector<Plan> plans = plans_to_sweep(result.plan);
    if (plans.empty()) return;
    std::vector<Contestant> contestants;
    std::vector<Sample> times;
    for (const Plan& plan : plans) {
      contestants.push_back({plan.kernel, [&plan, &groups](cudaStream_t stream) {
                               run(plan, groups, {.stream = stream});
                             }});
      times.push_back(stopwatch.race({contestants.back()}, 1)[0]);
    }
    const auto near = [&](double margin) {
      const double best = std::ranges::min_element(times, {}, &Sample::median)->median;
      std::vector<std::size_t> who;
      for (std::size_t i = 0; i < plans.size(); ++i) {
        if (times[i].median <= margin * best) who.push_back(i);
      }
      return who;
    };
    for (const std::size_t i : near(kNear)) {
      times[i] = stopwatch.race({contestants[i]}, options.sweep_repeats)[0];
    }
    std::vector<Contestant> final = {ours};
    std::vector<std::size_t> finalists;
    std::vector<std::size_t> nearest = near(kNearest);
    std::ranges::sort(nearest, {}, [&](std::size_t i) { return times[i].median; });
    for (const std::size_t i : nearest) {
      const auto has_kernel = [&](std::size_t other) {
        return plans[other].kernel == plans[i].kernel;
      };
      if (finalists.size() == kFinalists || std::ranges::any_of(finalists, has_kernel)) continue;
      finalists.push_back(i);
      final.push_back(contestants[i]);
    }
    const std::vector<Sample> closer = stopwatch.race(final, options.repeats);
    result.ours_in_sweep = closer.front();
    for (std::size_t i = 0; i < finalists.size(); ++i) times[finalists[i]] = closer[i + 1];
    // Who was not in the final does not win by a lucky run.
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const bool is_final = std::ranges::find(finalists, i) != finalists.end();
      result.sweep.push_back(
          {plans[i].kernel, plans[i].schedule, plans[i].cost.seconds, times[i], is_final});
    }
  }

  std::vector<Plan> plans_to_sweep(const Plan& chosen) const {
    std::vector<Plan> plans;
    for (const PlanOptions& forced : sweep_options(chosen.problem, machine)) {
      try {
        Plan plan = make_plan(chosen.problem, machine, forced);
        if (plan.cost.seconds > kFarSlower * chosen.cost.seconds) continue;
        workspace_bytes(plan);
        plans.push_back(std::move(plan));
      } catch (const Error&) {
        // A schedule that this kernel or the workspace cannot take: not a candidate.
        continue;
      }
    }
    return plans;
  }

  CudaBenchmarkOptions options;
  Machine machine;
  int device = 0;
  Stopwatch stopwatch;
  std::optional<CublasLt> peer;
  CaseMemory memory;
  OperandArena our_output, peer_output;
};

CudaBenchmark::CudaBenchmark(const CudaBenchmarkOptions& options)
    : state_(std::make_unique<State>(options)) {}
CudaBenchmark::~CudaBenchmark() = default;

const Machine& CudaBenchmark::machine() const {
  return state_->machine;
}

std::string CudaBenchmark::peer_name() const {
  if (!state_->peer) return "";
  return "cuBLASLt " + state_->peer->version() + " (" + state_->peer->path() + ")";
}

CudaCaseResult CudaBenchmark::measure(const Case& what) {
  State& state = *state_;
  CudaCaseResult result;
  result.what = what;
  const std::vector<Operands> groups = state.operands(what, state.our_output);
  const Problem problem = describe(groups, 1, state.options.beta, state.options.epilogue);
  result.plan = make_plan(problem, state.machine, state.options.plan);
  std::vector<double> planning;
  for (int i = 0; i < 5; ++i) {
    planning.push_back(
        host_seconds([&] { make_plan(problem, state.machine, state.options.plan); }));
  }
  result.planning_seconds = median_of(planning);

  const Contestant ours{"tessera",
                        [&](cudaStream_t stream) { run(result.plan, groups, {.stream = stream}); }};
  if (state.peer && groups.size() == 1) state.race_peer(result, ours, groups[0]);
  if (!result.peer_first) {
    result.ours = state.stopwatch.race({ours}, state.options.repeats)[0];
  }
  result.clocks = read_clocks();

  const cudaStream_t stream = state.stopwatch.stream();
  const auto until_return = [&](auto call) {
    std::vector<double> seconds;
    for (int i = 0; i < 20; ++i) seconds.push_back(host_seconds(call));
    cuda::check(cudaStreamSynchronize(stream), "timing the host");
    return median_of(seconds);
  };
  result.run_seconds = until_return([&] { ours.run(stream); });
  result.gemm_seconds = until_return([&] {
    grouped_gemm(1, groups, state.options.beta, state.options.epilogue,
                 {.device = state.device, .stream = stream});
  });
  if (state.options.sweep) state.sweep(result, ours, groups);
  return result;
}

const SweptPlan* best_of_sweep(const CudaCaseResult& result) {
  const SweptPlan* best = nullptr;
  for (const SweptPlan& plan : result.sweep) {
    if (!plan.is_final) continue;
    if (best == nullptr || plan.measured.median < best->measured.median) best = &plan;
  }
  return best;
}

double regret_of(const CudaCaseResult& result) {
  const SweptPlan* const best = best_of_sweep(result);
  if (best == nullptr) return 0;
  return std::max(0.0, result.ours_in_sweep.median / best->measured.median - 1);
}

CudaSummary summarize(const std::vector<CudaCaseResult>& results) {
  CudaSummary summary;
  double log_first = 0;
  double log_best = 0;
  int compared = 0;
  std::vector<double> errors;
  std::vector<double> planning;
  std::vector<double> returns;
  std::vector<double> gemms;
  std::vector<double> regrets;
  for (const CudaCaseResult& result : results) {
    ++summary.cases;
    const double ours = result.ours.median;
    errors.push_back(std::fabs(result.plan.cost.seconds / ours - 1));
    planning.push_back(result.planning_seconds);
    returns.push_back(result.run_seconds);
    gemms.push_back(result.gemm_seconds);
    if (result.peer_first) {
      const double ratio = result.peer_first->median / ours;
      log_first += std::log(ratio);
      log_best += std::log(result.peer_best->median / ours);
      if (compared == 0 || ratio < summary.worst) {
        summary.worst = ratio;
        summary.worst_case = result.what.name;
      }
      ++compared;
    }
    if (!result.sweep.empty()) {
      regrets.push_back(regret_of(result));
    }
  }
  if (compared > 0) {
    summary.over_first = std::exp(log_first / compared);
    summary.over_best = std::exp(log_best / compared);
  }
  if (!regrets.empty()) {
    summary.regret =
        std::accumulate(regrets.begin(), regrets.end(), 0.0) / static_cast<double>(regrets.size());
    summary.worst_regret = *std::ranges::max_element(regrets);
    summary.median_regret = median_of(regrets);
  }
  summary.cost_error = median_of(errors);
  summary.planning_seconds = median_of(planning);
  summary.run_seconds = median_of(returns);
  summary.gemm_seconds = median_of(gemms);
  return summary;
}

}  // namespace tessera::bench
