// How times are taken, so that differences mean something: every contender is warmed, they take
// turns in changing order, each sample is long enough for the clock, and medians and quartiles are
// kept.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tessera::bench {

struct Contender {
  std::string name;
  std::function<void()> call;
};

struct ProtocolOptions {
  double seconds = 0.5;  // of timed work for each contender; a minimum of rounds comes first
  bool cold = false;     // caches are flushed before each call
  int threads = 1;
  std::function<void()> between_rounds;  // may throw, to stop
};

struct Timing {
  double median = 0;  // seconds of one call
  double best = 0;
  double lower_quartile = 0;
  double upper_quartile = 0;
  int calls_per_sample = 1;
  int disturbed = 0;            // samples during which another process took a core
  std::vector<double> samples;  // in the order of rounds, so that contenders can be paired
};

// One timing per contender, in the same order.
std::vector<Timing> measure(const std::vector<Contender>& contenders,
                            const ProtocolOptions& options);

// The median over rounds of how many times as fast `first` was as `second`.
double paired_ratio(const Timing& first, const Timing& second);

double median(std::vector<double> values);

}  // namespace tessera::bench
