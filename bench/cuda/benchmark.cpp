#include "bench/cuda/benchmark.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "bench/clock.hpp"
#include "bench/cuda/cublaslt.hpp"
#include "bench/cuda/operands.hpp"
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

// The options that make a candidate of the planner a plan.
PlanOptions options_for(const std::string& kernel, const Schedule& schedule) {
  PlanOptions options;
  options.kernel = kernel;
  options.schedule = schedule.kind;
  if (schedule.kind == ScheduleKind::split_k) options.splits = schedule.splits;
  options.two_tile = schedule.two_tile;
  options.order = TileOrderChoice{schedule.order, schedule.group_m};
  return options;
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

  // Every candidate of the planner, but for those that the model takes for far slower than the
  // chosen one. Each runs once; who comes near the fastest runs again, and the best of those as
  // often as the choice. All run as in the race, alone in turns with the peer's kernel: what an SM
  // still has of a kernel's code saves up to 4 us of a small product, and large ones are 8 % slower
  // where kernels that draw more power have run just before.
  void sweep(CudaCaseResult& result, const Contestant& ours, const std::vector<Operands>& groups) {
    const std::vector<Plan> plans = plans_to_sweep(result.plan);
    if (plans.empty()) return;
    const auto contestant = [&groups](const Plan& plan) {
      return Contestant{plan.kernel, [&plan, &groups](cudaStream_t stream) {
                          run(plan, groups, {.stream = stream});
                        }};
    };
    std::vector<Operands> theirs = operands(result.what, peer_output);
    std::unique_ptr<CublasLt::Product> product;
    if (peer && groups.size() == 1)
      product = peer->prepare(theirs[0], 1, options.beta, options.epilogue);
    const auto race = [&](const Contestant& one, int repeats) {
      std::vector<Contestant> both = {one};
      if (product && product->choices() > 0) {
        both.push_back({"peer", [&product](cudaStream_t stream) { product->run(0, stream); }});
      }
      return stopwatch.race(both, repeats).front();
    };
    std::vector<Sample> times(plans.size());
    const auto time = [&](const std::vector<std::size_t>& who, int repeats) {
      for (const std::size_t i : who) times[i] = race(contestant(plans[i]), repeats);
    };
    std::vector<std::size_t> all(plans.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    time(all, 1);
    const auto near = [&](double margin) {
      const double best = std::ranges::min_element(times, {}, &Sample::median)->median;
      std::vector<std::size_t> who;
      for (std::size_t i = 0; i < plans.size(); ++i) {
        if (times[i].median <= margin * best) who.push_back(i);
      }
      std::ranges::sort(who, {}, [&](std::size_t i) { return times[i].median; });
      return who;
    };
    time(near(kNear), options.sweep_repeats);
    std::vector<std::size_t> finalists;
    for (const std::size_t i : near(kNearest)) {
      const auto has_kernel = [&](std::size_t other) {
        return plans[other].kernel == plans[i].kernel;
      };
      if (finalists.size() == kFinalists || std::ranges::any_of(finalists, has_kernel)) continue;
      finalists.push_back(i);
    }
    time(finalists, options.repeats);
    result.ours_in_sweep = race(ours, options.repeats);
    // Who was not in the final does not win by a lucky run.
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const bool is_final = std::ranges::find(finalists, i) != finalists.end();
      result.sweep.push_back(
          {plans[i].kernel, plans[i].schedule, plans[i].cost.seconds, times[i], is_final});
    }
  }

  // Nothing where the kernel or the workspace cannot take the options.
  std::optional<Plan> plan_with(const Problem& problem, const PlanOptions& forced) const {
    try {
      Plan plan = make_plan(problem, machine, forced);
      workspace_bytes(plan);
      return plan;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  std::vector<Plan> plans_to_sweep(const Plan& chosen) const {
    PlanOptions all = options.plan;
    all.keep_others = true;
    const Plan first = make_plan(chosen.problem, machine, all);
    std::vector<Plan> plans = {chosen};
    for (const Candidate& other : first.others) {
      if (!other.cost || other.cost->seconds > kFarSlower * chosen.cost.seconds) continue;
      if (auto plan = plan_with(chosen.problem, options_for(other.kernel, other.schedule))) {
        plans.push_back(std::move(*plan));
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
  const std::filesystem::path library = state_->peer->path();
  return "cuBLASLt " + state_->peer->version() + " (" + library.filename().string() + ")";
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
    planning.push_back(seconds_of([&] { make_plan(problem, state.machine, state.options.plan); }));
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
    for (int i = 0; i < 20; ++i) seconds.push_back(seconds_of(call));
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
