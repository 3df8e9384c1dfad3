#include "bench/protocol.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <memory>
#include <thread>

#include <sys/resource.h>

#include "bench/clock.hpp"

namespace tessera::bench {
namespace {

// A sample shorter than this feels the clock and the timer interrupt.
constexpr double kSampleSeconds = 2e-3;
// Calls longer than this are warm by themselves.
constexpr double kLongCall = 50e-3;
constexpr int kMinRounds = 7;
constexpr int kMinRoundsLong = 3;
constexpr int kMaxRounds = 101;
// Thread pools spin after a call before they sleep, and take a core from whoever comes next until
// then. GNU OpenMP's and OpenBLAS's, which is asked for less (peers/openblas.cpp), are done by
// then; and a core that has nothing to do for long is given to other guests of the host, who stay
// for a while: Zen 5, two threads, 2026-11, the spread of 16×4096×4096, 512³, 256³ and 128³ in f32,
// per cent, after 5 ms 5, 2, 2, 2, after 120 ms 27, 21, 11, 10.
constexpr auto kSettle = std::chrono::milliseconds(5);
// A pool that slept wakes where the scheduler puts it, now and then on the core of the thread that
// waits for it, which it shares until a timer tick, 4 ms at 250 a second, moves it away. Calls are
// not timed before it has had two.
constexpr double kWakeSeconds = 10e-3;
// A sample during which another process took a core is taken again, so often at most, where it is
// short enough that an undisturbed one is likely.
constexpr int kRetakes = 4;
constexpr double kRetakeBelow = 20e-3;
// More than any cache.
constexpr std::size_t kFlushBytes = std::size_t{256} << 20;

double seconds_of(const std::function<void()>& call, int calls) {
  return bench::seconds_of([&] {
    for (int i = 0; i < calls; ++i) call();
  });
}

// How often another process has taken a core from this one.
long preemptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// Calls that are not timed, for so long, and one at least.
void warm(const std::function<void()>& call, double seconds) {
  double spent = 0;
  do spent += seconds_of(call, 1);
  while (spent < seconds);
}

struct Sample {
  double seconds = 0;  // of all calls
  bool disturbed = false;
};

Sample take_sample(const std::function<void()>& call, int calls) {
  const long before = preemptions();
  const double seconds = seconds_of(call, calls);
  return {seconds, preemptions() != before};
}

class CacheFlusher {
 public:
  void flush() {
    if (buffer_.empty()) buffer_.resize(kFlushBytes);
    ++value_;
    for (std::size_t i = 0; i < buffer_.size(); i += 64) buffer_[i] = value_;
  }

 private:
  std::vector<unsigned char> buffer_;
  unsigned char value_ = 0;
};

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void summarise(Timing& timing) {
  std::vector<double> sorted = timing.samples;
  std::sort(sorted.begin(), sorted.end());
  timing.best = sorted.front();
  timing.median = quantile(sorted, 0.5);
  timing.lower_quartile = quantile(sorted, 0.25);
  timing.upper_quartile = quantile(sorted, 0.75);
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : quantile(values, 0.5);
}

std::vector<Timing> measure(const std::vector<Contender>& contenders,
                            const ProtocolOptions& options) {
  std::vector<Timing> timings(contenders.size());
  std::vector<double> estimate(contenders.size());
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    // The first call may load, generate code and touch memory; the fastest of some others tells the
    // time.
    contenders[c].call();
    estimate[c] = seconds_of(contenders[c].call, 1);
    for (int i = 0; i < 3 && estimate[c] < kLongCall; ++i) {
      estimate[c] = std::min(estimate[c], seconds_of(contenders[c].call, 1));
    }
    estimate[c] = std::max(estimate[c], 1e-9);
    timings[c].calls_per_sample =
        options.cold
            ? 1
            : static_cast<int>(std::clamp(std::ceil(kSampleSeconds / estimate[c]), 1.0, 1e6));
  }

  CacheFlusher flusher;
  double spent = 0;
  const double slowest = *std::max_element(estimate.begin(), estimate.end());
  const int least = slowest > 10 * kLongCall ? kMinRoundsLong : kMinRounds;
  const double budget = options.seconds * static_cast<double>(contenders.size());
  for (int round = 0; round < least || (spent < budget && round < kMaxRounds); ++round) {
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
      if (options.between_rounds) options.between_rounds();
      const std::size_t c = round % 2 == 0 ? turn : contenders.size() - 1 - turn;
      const bool slept = options.threads > 1 && contenders.size() > 1;
      if (slept) std::this_thread::sleep_for(kSettle);
      if (slept && !options.cold) warm(contenders[c].call, kWakeSeconds);
      Sample sample;
      for (int attempt = 0; attempt <= kRetakes; ++attempt) {
        if (options.cold) {
          flusher.flush();
        } else if (estimate[c] < kLongCall) {
          contenders[c].call();
        }
        sample = take_sample(contenders[c].call, timings[c].calls_per_sample);
        spent += sample.seconds;
        if (!sample.disturbed || sample.seconds > kRetakeBelow) break;
      }
      timings[c].samples.push_back(sample.seconds / timings[c].calls_per_sample);
      timings[c].disturbed += sample.disturbed ? 1 : 0;
    }
  }
  for (Timing& timing : timings) summarise(timing);
  return timings;
}

double paired_ratio(const Timing& first, const Timing& second) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(first.samples.size(), second.samples.size());
  for (std::size_t i = 0; i < rounds; ++i) ratios.push_back(second.samples[i] / first.samples[i]);
  return median(std::move(ratios));
}

}  // namespace tessera::bench
