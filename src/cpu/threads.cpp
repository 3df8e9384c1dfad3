#include "cpu/threads.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/thread_sanitizer.hpp"

namespace tessera::cpu {
namespace {

// GNU OpenMP's pool does not survive fork: a child that enters a parallel region waits forever for
// threads that only the parent has. So a child starts plain threads for each call instead.
std::atomic<bool> in_forked_child{false};
[[maybe_unused]] const int kRegistered =
    pthread_atfork(nullptr, nullptr, [] { in_forked_child.store(true); });

void call_on_plain_threads(int threads, ThreadFunction function, void* context) {
  std::vector<std::thread> others;
  try {
    others.reserve(static_cast<std::size_t>(threads - 1));
    for (int i = 1; i < threads; ++i) others.emplace_back(function, context);
  } catch (const std::exception&) {
    // No more threads to be had: the ones there are take all the work.
  }
  function(context);
  for (std::thread& other : others) other.join();
}

TESSERA_NOT_WATCHED void call_on_openmp_threads(int threads, ThreadFunction function,
                                                void* context) {
  char forked = 0;
  char joined = 0;
  happens_before(&forked);
#pragma omp parallel num_threads(threads)
  {
    happens_after(&forked);
    function(context);
    happens_before(&joined);
  }
  happens_after(&joined);
}

int affinity_count() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// CPUs' worth of time that the cgroup grants; infinity without a limit.
double cgroup_quota() {
  const double unlimited = std::numeric_limits<double>::infinity();
  double quota = 0;
  double period = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file) {  // version 2: "quota period" or "max …"
    return file >> quota >> period && period > 0 ? quota / period : unlimited;
  }
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  const bool known = quota_file >> quota && period_file >> period && quota > 0 && period > 0;
  return known ? quota / period : unlimited;
}

}  // namespace

int usable_cpus() {
  static const int count = [] {
    const int mask = affinity_count();
    const double quota = std::ceil(cgroup_quota());
    return quota < mask ? std::max(1, static_cast<int>(quota)) : mask;
  }();
  return count;
}

int default_threads() {
  return omp_in_parallel() != 0 ? 1 : usable_cpus();
}

int thread_number() {
  return omp_get_thread_num();
}

int team_size() {
  return omp_get_num_threads();
}

void call_on_threads(int threads, ThreadFunction function, void* context) {
  if (in_forked_child.load(std::memory_order_relaxed)) {
    call_on_plain_threads(threads, function, context);
    return;
  }
  call_on_openmp_threads(threads, function, context);
}

}  // namespace tessera::cpu
