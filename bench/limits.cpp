#include "bench/limits.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Loads all of [begin, end) and uses none of it.
void read_all(const std::byte* begin, const std::byte* end) {
  asm volatile(
      "1:\n\t"
      "movups (%0), %%xmm0\n\t"
      "movups 16(%0), %%xmm1\n\t"
      "movups 32(%0), %%xmm2\n\t"
      "movups 48(%0), %%xmm3\n\t"
      "movups 64(%0), %%xmm4\n\t"
      "movups 80(%0), %%xmm5\n\t"
      "movups 96(%0), %%xmm6\n\t"
      "movups 112(%0), %%xmm7\n\t"
      "add $128, %0\n\t"
      "cmp %1, %0\n\t"
      "jb 1b"
      : "+r"(begin)
      : "r"(end)
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

}  // namespace

double measure_read_bandwidth(int threads) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  constexpr int kPasses = 4;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  const std::unique_ptr<std::byte, Free> buffer(
      static_cast<std::byte*>(std::aligned_alloc(kPage, kBytes)));
  if (buffer == nullptr) {
    throw Error(ErrorCode::out_of_memory, "memory",
                "hold the 512 MB that bandwidth is measured over", "too little",
                "free some memory");
  }
  double best = 0;
  // The first pass writes: every page must be there before it is read.
  for (int pass = 0; pass <= kPasses; ++pass) {
    const Clock::time_point start = Clock::now();
#pragma omp parallel num_threads(threads)
    {
      const auto count = static_cast<std::size_t>(omp_get_num_threads());
      const auto number = static_cast<std::size_t>(omp_get_thread_num());
      const std::size_t part = kBytes / kPage / count * kPage;
      std::byte* const begin = buffer.get() + number * part;
      if (pass == 0) {
        std::fill(begin, begin + part, std::byte{1});
      } else {
        read_all(begin, begin + part);
      }
    }
    const std::size_t counted = kBytes / kPage / static_cast<std::size_t>(threads) * kPage *
                                static_cast<std::size_t>(threads);
    if (pass > 0) best = std::max(best, static_cast<double>(counted) / seconds_since(start));
  }
  return best;
}

double measure_ping_pong() {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) return 0;
  constexpr int kSamples = 21;
  constexpr int kRounds = 1000;
  struct alignas(64) Line {
    std::atomic<int> turn{0};
  } line;
  // Even turns are the first thread's, odd ones the second's.
  const auto play = [&line](int rounds, int turn) {
    for (const int end = turn + 2 * rounds; turn < end; turn += 2) {
      while (line.turn.load(std::memory_order_acquire) != turn) {
      }
      line.turn.store(turn + 1, std::memory_order_release);
    }
  };
  std::thread second([&] {
    pin_to(cpus[1]);
    play(kSamples * kRounds, 1);
  });
  std::vector<double> samples;
  std::thread first([&] {
    pin_to(cpus[0]);
    for (int sample = 0; sample < kSamples; ++sample) {
      const Clock::time_point start = Clock::now();
      play(kRounds, 2 * kRounds * sample);
      samples.push_back(seconds_since(start) / kRounds);
    }
  });
  first.join();
  second.join();
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return samples[kSamples / 2];
}

}  // namespace tessera::bench
