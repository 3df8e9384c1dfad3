#include "bench/limits.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "bench/clock.hpp"
#include "cpu/nearest_cache.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

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

constexpr std::size_t kLine = 64;
constexpr std::size_t kLinesAtOnce = 4;

// Brings [begin, begin + bytes) in as `Streams` equal parts side by side, a few lines of each in
// turn, and uses none of it. One load a line: it moves all of it, and more lines are on their way
// at a time than with a load for every vector.
template <std::size_t Streams>
void read_all(const std::byte* begin, std::size_t bytes) {
  const std::size_t part = bytes / Streams;
  for (std::size_t at = 0; at < part; at += kLinesAtOnce * kLine) {
#pragma GCC unroll 16
    for (std::size_t stream = 0; stream < Streams; ++stream) {
#pragma GCC unroll 4
      for (std::size_t line = 0; line < kLinesAtOnce; ++line) {
        static_cast<void>(*reinterpret_cast<const volatile std::byte*>(begin + stream * part + at +
                                                                       line * kLine));
      }
    }
  }
}

using Reader = void (*)(const std::byte* begin, std::size_t bytes);
constexpr Reader kReaders[] = {read_all<1>, read_all<4>, read_all<8>, read_all<16>};
constexpr std::size_t kMostStreams = 16;

// The median of a few samples, seconds a load in a ring of lines of one set.
double seconds_in_ring(std::byte* memory, int lines) {
  constexpr int kSamples = 101;
  constexpr int kLoads = 4000;
  for (int i = 0; i < lines; ++i) {
    void* const next = memory + static_cast<std::size_t>((i + 1) % lines) * cpu::kNearestSetBytes;
    std::memcpy(memory + static_cast<std::size_t>(i) * cpu::kNearestSetBytes, &next, sizeof next);
  }
  std::vector<double> samples;
  void* volatile at = memory;
  for (int sample = 0; sample < kSamples; ++sample) {
    void* line = at;
    const Clock::time_point start = Clock::now();
    for (int load = 0; load < kLoads; ++load) line = *static_cast<void* volatile*>(line);
    at = line;
    samples.push_back(seconds_since(start) / kLoads);
  }
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return samples[kSamples / 2];
}

}  // namespace

double measure_read_bandwidth(int threads) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  constexpr int kPasses = 2;
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
  const std::size_t most_threads = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t part = kBytes / (kPage * kMostStreams * most_threads) * kPage * kMostStreams;
  // Every page must be there before it is read. No reader: the part is written.
  const auto pass = [&](Reader reader) {
    std::atomic<std::size_t> parts{0};
    const Clock::time_point start = Clock::now();
#pragma omp parallel num_threads(threads)
    {
      std::byte* const begin = buffer.get() + static_cast<std::size_t>(omp_get_thread_num()) * part;
      if (reader == nullptr) {
        std::fill(begin, begin + part, std::byte{1});
      } else {
        reader(begin, part);
      }
      parts.fetch_add(1, std::memory_order_relaxed);
    }
    return static_cast<double>(parts.load() * part) / seconds_since(start);
  };
  pass(nullptr);
  double best = 0;
  for (int repeat = 0; repeat < kPasses; ++repeat) {
    for (const Reader reader : kReaders) best = std::max(best, pass(reader));
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

double measure_crowding() {
  double most = 1;
  // Half a set has a line.
  const int ways = std::max(2, cpu::nearest_cache_ways());
  std::thread prober([&] {
    std::vector<std::byte> memory(static_cast<std::size_t>(ways + 1) * cpu::kNearestSetBytes);
    const auto misplaced = reinterpret_cast<std::uintptr_t>(memory.data()) % kLine;
    std::byte* const begin = memory.data() + (misplaced > 0 ? kLine - misplaced : 0);
    for (const int cpu : allowed_cpus()) {
      pin_to(cpu);
      const double half = seconds_in_ring(begin, ways / 2);
      most = std::max(most, seconds_in_ring(begin, ways) / half);
    }
  });
  prober.join();
  return most;
}

}  // namespace tessera::bench
