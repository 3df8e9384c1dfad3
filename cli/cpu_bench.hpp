// One benchmark on the CPU: every schedule asked for and every peer on every shape, type and thread
// count, and what the processor could do at most. `tessera bench` prints and stores what this
// returns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/limits.hpp"
#include "bench/peer.hpp"
#include "bench/protocol.hpp"
#include "cli/matrix.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera::cli {

// One way for Tessera to run a product.
struct Variant {
  std::string name;  // "tessera", "tessera stream_k"
  PlanOptions options;
  bool one_call = false;  // through gemm(), which plans each time
};

struct CpuBenchOptions {
  std::vector<bench::Case> cases;
  std::vector<GemmTypes> types;
  std::vector<int> threads;
  std::vector<Variant> variants;
  StoredLayouts layouts;
  std::vector<bench::Peer*> peers;
  Machine machine;
  double seconds = 0.5;
  bool cold = false;
  double bandwidth = 0;  // bytes per second that the threads read; 0: measured
  // Leaves out a variant whose plan an earlier one has already.
  bool each_plan_once = false;
};

struct ContenderResult {
  std::string name;
  std::string detail;  // the plan, or the peer's routine
  bool is_peer = false;
  double predicted_seconds = 0;  // 0 where there is no plan
  bench::Timing timing;
  double flops_per_second = 0;
  std::string wrong;  // what is wrong with its result; empty if nothing
};

// A variant that was not measured, because `as` has its plan.
struct SamePlan {
  std::string name;
  std::string as;
};

struct CaseResult {
  bench::Case measured;
  GemmTypes types;
  int threads = 1;
  bench::PeakMeasurement peak;           // just before and after, the larger
  double bandwidth = 0;                  // bytes per second, of as many threads
  double crowding = 1;                   // of the cores' nearest caches, before
  double ping_pong = 0;                  // seconds, before; two threads and more
  double bound_seconds = 0;              // no call can be faster
  std::string bound_by;                  // "arithmetic" or "memory"
  std::vector<ContenderResult> results;  // variants first, then peers
  std::vector<std::string> skipped;      // contenders that cannot, with the reason
  std::vector<SamePlan> same_plans;
  int best_peer = -1;  // index in results
  double ratio = 0;    // of the first variant to the best peer; above 1 is faster

  double share() const {
    return results[0].timing.median > 0 ? bound_seconds / results[0].timing.median : 0;
  }
};

// Calls `done` after each case. Throws Error(interrupted) on Ctrl-C.
std::vector<CaseResult> run_cpu_bench(const CpuBenchOptions& options,
                                      const std::function<void(const CaseResult&)>& done);

}  // namespace tessera::cli
