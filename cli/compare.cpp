#include "cli/compare.hpp"

#include "bench/protocol.hpp"
#include "cli/interrupt.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

// Of timed work for each schedule.
constexpr double kSeconds = 0.5;

void time_in_turns(const ExecutionOptions& options, Workload& workload,
                   std::vector<ComparedSchedule>& compared) {
  const std::vector<Operands> operands = workload.operands();
  RunOptions run_options;
  run_options.threads = options.threads;
  std::vector<bench::Contender> contenders;
  for (const ComparedSchedule& one : compared) {
    contenders.push_back({one.name, [&] { run(one.plan, operands, run_options); }});
  }
  // The schedules share one thread pool; nobody has to wait for another's threads to sleep.
  bench::ProtocolOptions protocol;
  protocol.seconds = kSeconds;
  protocol.between_rounds = throw_if_interrupted;
  const std::vector<bench::Timing> timings = bench::measure(contenders, protocol);
  for (std::size_t i = 0; i < compared.size(); ++i) compared[i].seconds = timings[i].median;
}

}  // namespace

std::vector<ComparedSchedule> compare_schedules(
    const ExecutionOptions& options, Workload& workload, bool check,
    const std::function<Plan(const std::string& schedule)>& plan_for) {
  std::vector<ComparedSchedule> compared;
  ExecutionOptions once = options;
  once.repeat = 1;
  for (const char* const name : {"data_parallel", "split_k", "stream_k", "hybrid"}) {
    ComparedSchedule& one = compared.emplace_back();
    one.name = name;
    one.plan = plan_for(name);
    check_runs_here(one.plan);
    const bool on_gpu = one.plan.machine.kind == MachineKind::gpu;
    one.seconds = execute(on_gpu ? options : once, one.plan, workload).seconds;
    one.check = check ? verify_all(options, one.plan, workload) : Verification{true, "", 0, ""};
  }
  if (compared.front().plan.machine.kind == MachineKind::cpu) {
    call_interruptibly([&] { time_in_turns(options, workload, compared); }, [] {});
  }
  for (ComparedSchedule& one : compared) one.speed = speed_of(options, one.plan, one.seconds);
  return compared;
}

}  // namespace tessera::cli
