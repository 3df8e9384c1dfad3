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

// Fourteen accumulators: enough for a latency of six cycles at two instructions a cycle. The loop
// is written in assembly so that no compiler removes it and no compiler flag is needed.
#define TESSERA_ONE(instruction, register, i) \
  instruction " %%" register "15, %%" register "14, %%" register #i "\n\t"
#define TESSERA_FOURTEEN(instruction, r) \
  TESSERA_ONE(instruction, r, 0)         \
  TESSERA_ONE(instruction, r, 1)         \
  TESSERA_ONE(instruction, r, 2)         \
  TESSERA_ONE(instruction, r, 3)         \
  TESSERA_ONE(instruction, r, 4)         \
  TESSERA_ONE(instruction, r, 5)         \
  TESSERA_ONE(instruction, r, 6)         \
  TESSERA_ONE(instruction, r, 7)         \
  TESSERA_ONE(instruction, r, 8)         \
  TESSERA_ONE(instruction, r, 9)         \
  TESSERA_ONE(instruction, r, 10)        \
  TESSERA_ONE(instruction, r, 11) TESSERA_ONE(instruction, r, 12) TESSERA_ONE(instruction, r, 13)
#define TESSERA_CLEAR(i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n\t"
#define TESSERA_CLEAR_ALL \
  TESSERA_CLEAR(0)        \
  TESSERA_CLEAR(1)        \
  TESSERA_CLEAR(2)        \
  TESSERA_CLEAR(3)        \
  TESSERA_CLEAR(4)        \
  TESSERA_CLEAR(5)        \
  TESSERA_CLEAR(6)        \
  TESSERA_CLEAR(7)        \
  TESSERA_CLEAR(8)        \
  TESSERA_CLEAR(9)        \
  TESSERA_CLEAR(10)       \
  TESSERA_CLEAR(11) TESSERA_CLEAR(12) TESSERA_CLEAR(13) TESSERA_CLEAR(14) TESSERA_CLEAR(15)

constexpr int kPerLoop = 14;

#define TESSERA_PEAK_LOOP(name, instruction, register_kind)                                          \
  void name(std::int64_t loops) {                                                                    \
    asm volatile(TESSERA_CLEAR_ALL                                                                 \
                 "1:\n\t" TESSERA_FOURTEEN(instruction, register_kind)                             \
                 "dec %0\n\t"                                                                      \
                 "jnz 1b\n\t"                                                                      \
                 "vzeroupper"                                                                      \
                 : "+r"(loops)                                                                     \
                 :                                                                                 \
                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",   \
                   "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"); \
  }

TESSERA_PEAK_LOOP(fma_f32_avx512, "vfmadd231ps", "zmm")
TESSERA_PEAK_LOOP(fma_f64_avx512, "vfmadd231pd", "zmm")
TESSERA_PEAK_LOOP(dot_bf16_avx512, "vdpbf16ps", "zmm")
TESSERA_PEAK_LOOP(dot_i8_avx512, "vpdpbusd", "zmm")
TESSERA_PEAK_LOOP(fma_f32_avx2, "vfmadd231ps", "ymm")
TESSERA_PEAK_LOOP(fma_f64_avx2, "vfmadd231pd", "ymm")
TESSERA_PEAK_LOOP(multiply_i8_avx2, "vpmaddwd", "ymm")

#undef TESSERA_PEAK_LOOP
#undef TESSERA_CLEAR_ALL
#undef TESSERA_CLEAR
#undef TESSERA_FOURTEEN
#undef TESSERA_ONE

struct PeakLoop {
  const char* instruction;
  bool available;
  void (*run)(std::int64_t loops);
  int flops;  // of one instruction
};

// The best loop for a type, first available row of its kind.
PeakLoop loop_for(ElementType type) {
  __builtin_cpu_init();
  const bool fma = __builtin_cpu_supports("fma");
  const bool avx2 = __builtin_cpu_supports("avx2");
  const bool avx512 = __builtin_cpu_supports("avx512f");
  const PeakLoop f32_wide{"vfmadd231ps zmm", avx512, fma_f32_avx512, 32};
  const PeakLoop f32{"vfmadd231ps ymm", fma, fma_f32_avx2, 16};
  std::vector<PeakLoop> loops;
  switch (type) {
    case ElementType::f64:
      loops = {{"vfmadd231pd zmm", avx512, fma_f64_avx512, 16},
               {"vfmadd231pd ymm", fma, fma_f64_avx2, 8}};
      break;
    case ElementType::bf16:
      loops = {{"vdpbf16ps zmm", __builtin_cpu_supports("avx512bf16") != 0, dot_bf16_avx512, 64},
               f32_wide,
               f32};
      break;
    case ElementType::i8:
    case ElementType::u8:
      loops = {{"vpdpbusd zmm", __builtin_cpu_supports("avx512vnni") != 0, dot_i8_avx512, 128},
               {"vpmaddwd ymm", avx2, multiply_i8_avx2, 32}};
      break;
    default:
      loops = {f32_wide, f32};
  }
  for (const PeakLoop& loop : loops) {
    if (loop.available) return loop;
  }
  return {"", false, nullptr, 0};
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

PeakMeasurement measure_peak(ElementType type, int threads) {
  const PeakLoop loop = loop_for(type);
  if (!loop.available) return {};
  constexpr int kRepeats = 5;
  constexpr double kSeconds = 2e-3;
  std::int64_t loops = 1 << 14;
  const Clock::time_point probe = Clock::now();
  loop.run(loops);
  loops = std::max<std::int64_t>(1000, static_cast<std::int64_t>(static_cast<double>(loops) *
                                                                 kSeconds / seconds_since(probe)));

  double best = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    double rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : rate)
    {
      loop.run(loops / 8);
#pragma omp barrier
      const Clock::time_point start = Clock::now();
      loop.run(loops);
      rate += static_cast<double>(loops) * kPerLoop * loop.flops / seconds_since(start);
    }
    best = std::max(best, rate);
  }
  return {best, loop.instruction};
}

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
