// Runs a plan: workers of its schedule are dealt to threads, and each takes its WorkItems in order;
// of whole tiles alone threads take one after another (run_tiles.hpp). Next hop: tile_run.cpp and
// the microkernel it calls (microkernel.hpp).
//
// A worker is a number, not a thread. Threads take the next number from a counter until there is
// none left, and then help to add up tiles that others share (split_tiles.hpp); no item waits for
// another, so any number of threads, also one, runs any
// number of workers, and the bits depend on the schedule alone.
#include "cpu/run.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "core/catalogue.hpp"
#include "core/validate.hpp"
#include "core/work.hpp"
#include "cpu/claims.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/direct.hpp"
#include "cpu/packed_layout.hpp"
#include "cpu/recorder.hpp"
#include "cpu/run_tiles.hpp"
#include "cpu/threads.hpp"
#include "cpu/tile_run.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition.hpp"

namespace tessera::cpu {
namespace {

// A product that is not computed (alpha = 0) has nothing to split.
Schedule effective_schedule(const Plan& plan) {
  Schedule schedule = plan.schedule;
  if (plan.problem.alpha == 0) schedule.kind = ScheduleKind::data_parallel;
  return schedule;
}

const KernelCode& look_up_code(const Plan& plan) {
  const KernelEntry* entry = find_kernel(plan.kernel);
  const KernelCode* code = find_code(plan.kernel);
  if (entry == nullptr || code == nullptr) {
    throw Error(ErrorCode::unsupported, "plan.kernel", "name a CPU kernel of this build",
                "\"" + plan.kernel + "\"", "plan again with this library");
  }
  if (!architecture_runs(host_architecture(), entry->architecture)) {
    throw Error(ErrorCode::unsupported, "plan.kernel",
                "run on this processor, which has " + std::string(host_architecture()),
                plan.kernel + ", which needs " + std::string(entry->architecture),
                "plan for host_machine()");
  }
  if (entry->a != plan.problem.types.a || entry->b != plan.problem.types.b) {
    throw Error(ErrorCode::invalid_argument, "plan.kernel",
                "multiply " + std::string(name_of(plan.problem.types.a)) + " by " +
                    std::string(name_of(plan.problem.types.b)),
                plan.kernel, "plan again for these types");
  }
  return *code;
}

void check_threads(int wanted) {
  if (is_thread_count(wanted)) return;
  throw Error(ErrorCode::invalid_argument, "threads",
              "be from 0 to " + std::to_string(kMostThreads), std::to_string(wanted),
              "pass 0 for the machine's default");
}

int threads_for(const Plan& plan, int wanted) {
  if (!may_use_threads(plan)) return 1;
  // Always the same number, also where there are fewer workers: libgomp ends a team's threads when
  // the next team is smaller and starts them anew for a larger one, which takes 200 µs with 16
  // threads.
  return wanted > 0 ? wanted : default_threads();
}

// C ← C.
bool changes_nothing(const Problem& problem) {
  return problem.alpha == 0 && problem.beta == 1 && problem.epilogue == Epilogue{};
}

[[noreturn]] void fail_out_of_memory(std::size_t bytes) {
  throw Error(ErrorCode::out_of_memory, "memory",
              "have room for " + std::to_string(bytes) + " bytes", "a failed allocation",
              "use smaller tiles or fewer workers");
}

void attach_workspace(Launch& launch, const RunOptions& options) {
  const WorkspaceLayout& layout = launch.layout;
  if (layout.bytes == 0) return;
  void* memory = options.workspace;
  if (memory == nullptr) {
    memory = thread_workspace().reserve(layout.bytes);
    if (memory == nullptr) fail_out_of_memory(layout.bytes);
  } else if (options.workspace_size < layout.bytes) {
    throw Error(ErrorCode::invalid_argument, "workspace_size",
                "be at least workspace_bytes(plan), " + std::to_string(layout.bytes),
                std::to_string(options.workspace_size), "pass a larger workspace, or none");
  }
  launch.slots = static_cast<unsigned char*>(memory);
}

// How often a thread that has nothing to do looks for a tile to add up, and for how long: some 2
// ms, for the slowest worker may be long from opening it. It looks more often than for parts of
// tiles (run_tiles.cpp), since to add up a tile takes only some µs.
constexpr int kMostLooks = 4096;
constexpr int kPausesBetween = 8;

// Adds up tiles that others open, until all workers are done.
void help(TileRunner& runner, SplitTiles& splits, int threads, ItemClock& clock, Recorder& recorder,
          std::int32_t track) {
  const int looks = most_looks(threads, kMostLooks);
  std::int64_t next = 0;
  for (int look = 0; look < looks; ++look) {
    // Before it is looked for one.
    const bool are_all_done = splits.are_all_done();
    for (OpenSplit* open = splits.opened(next); open != nullptr; open = splits.opened(++next)) {
      look = 0;
      if (!open->has_strips()) continue;
      clock.begin(recorder.place_part(open->worker(), open->item(), track), recorder.origin());
      runner.help(*open);
      clock.end();
    }
    if (are_all_done) return;
    for (int i = 0; i < kPausesBetween; ++i) __builtin_ia32_pause();
  }
}

// Workers' items, each worker's by one thread.
void run_workers(const Launch& launch, const HostIterationSpace& space, const Partition& partition,
                 int threads, const PanelSizes& sizes, Recorder& recorder) {
  const auto work = [&](Claims& workers, void* memory) {
    ItemClock clock;
    TileRunner runner(launch, sizes, memory, clock);
    const std::int32_t thread = recorder.join();
    std::int32_t worker = workers.first();
    for (; worker != Claims::kNone; worker = workers.next(worker)) {
      std::int64_t number = 0;
      for (const WorkItem& item : items_of(space, partition, worker)) {
        clock.begin(recorder.place(worker, number++, thread), recorder.origin());
        runner.run(item, worker);
        clock.end();
      }
      if (launch.splits != nullptr) launch.splits->leave();
    }
    if (launch.splits != nullptr && threads > 1) {
      help(runner, *launch.splits, threads, clock, recorder, thread);
    }
  };
  share_out(partition.workers, threads, sizes.total(), work, launch.splits != nullptr);
}

}  // namespace

// Plans of small products come by often, and looking a name up in two lists takes as long as the
// smallest.
const KernelCode& code_of(const Plan& plan) {
  struct Last {
    std::string kernel;
    GemmTypes types;
    const KernelCode* code = nullptr;
  };
  thread_local Last last;
  if (last.code == nullptr || last.kernel != plan.kernel || last.types != plan.problem.types) {
    last = {plan.kernel, plan.problem.types, &look_up_code(plan)};
  }
  return *last.code;
}

bool may_use_threads(const Plan& plan) {
  if (plan.schedule.workers == 1) return false;
  double work = 0;
  for (const GemmShape& shape : plan.problem.groups) {
    work += work_of(shape, plan.problem.types, plan.machine);
  }
  return work >= kWorkWorthThreads;
}

std::size_t workspace_bytes(const Plan& plan) {
  const HostIterationSpace space(plan.problem.groups, plan.tile);
  const Partition partition = make_partition(effective_schedule(plan), space);
  return workspace_layout(plan, partition, space.space().tiles).bytes;
}

void run_plan(const Plan& plan, std::span<const Operands> groups, const RunOptions& options) {
  const KernelCode& code = code_of(plan);
  check_threads(options.threads);
  for (const Operands& operands : groups) check_packed(plan, code, operands);
  const int threads = threads_for(plan, options.threads);
  if (options.trace == nullptr && options.workspace == nullptr &&
      run_directly(plan, code, groups, threads)) {
    return;
  }
  const HostIterationSpace space(plan.problem.groups, plan.tile);
  const Partition partition = make_partition(effective_schedule(plan), space);
  Recorder recorder(options.trace, space, partition);
  if (space.space().tiles == 0 || changes_nothing(plan.problem)) return;

  Launch launch{plan, code, groups, workspace_layout(plan, partition, space.space().tiles)};
  const bool takes_tiles = are_tiles_taken(plan, space);
  if (takes_tiles && is_worth_sharing(plan, code, threads)) launch.sharers = threads;
  attach_workspace(launch, options);
  std::optional<SplitTiles> splits;
  if (launch.layout.slots > 0) {
    const WorkspaceLayout& layout = launch.layout;
    splits.emplace(layout.split_tiles_in(launch.slots), layout.counters, layout.tiles,
                   partition.workers);
    launch.splits = &*splits;
  }
  const PanelSizes sizes = panel_sizes(launch);
  if (sizes.total() > 0 && thread_panels().reserve(sizes.total()) == nullptr) {
    fail_out_of_memory(sizes.total());
  }

  if (takes_tiles) {
    run_tiles(launch, space, partition, threads, sizes, recorder);
  } else {
    run_workers(launch, space, partition, threads, sizes, recorder);
  }
  recorder.finish();
}

}  // namespace tessera::cpu
