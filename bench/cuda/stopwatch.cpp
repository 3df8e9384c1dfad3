#include "bench/cuda/stopwatch.hpp"

#include <algorithm>

#include "cuda/check.hpp"

namespace tessera::bench {

Sample summarize(std::vector<double> seconds) {
  Sample sample;
  if (seconds.empty()) return sample;
  std::ranges::sort(seconds);
  const std::size_t count = seconds.size();
  sample.lowest = seconds.front();
  sample.highest = seconds.back();
  sample.median =
      count % 2 == 1 ? seconds[count / 2] : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
  sample.spread = (seconds[count * 3 / 4] - seconds[count / 4]) / sample.median;
  return sample;
}

Stopwatch::Stopwatch(std::size_t flush_bytes) : flush_(flush_bytes) {
  cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}

Stopwatch::~Stopwatch() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
  cudaStreamDestroy(stream_);
}

std::vector<Sample> Stopwatch::race(const std::vector<Contestant>& contestants, int repeats) {
  const std::size_t count = contestants.size();
  const std::size_t needed = 2 * count * static_cast<std::size_t>(repeats);
  while (events_.size() < needed) {
    cudaEvent_t event = nullptr;
    cuda::check(cudaEventCreate(&event), "creating an event");
    events_.push_back(event);
  }
  for (const Contestant& contestant : contestants) contestant.run(stream_);
  cuda::check(cudaStreamSynchronize(stream_), "the warm-up run");

  std::size_t next = 0;
  std::vector<std::size_t> who;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t c = repeat % 2 == 0 ? i : count - 1 - i;
      if (flush_.size() > 0) flush_cache(flush_, stream_);
      cuda::check(cudaEventRecord(events_[next], stream_), "recording an event");
      contestants[c].run(stream_);
      cuda::check(cudaEventRecord(events_[next + 1], stream_), "recording an event");
      next += 2;
      who.push_back(c);
    }
  }
  cuda::check(cudaStreamSynchronize(stream_), "the timed runs");

  std::vector<std::vector<double>> seconds(count);
  for (std::size_t i = 0; i < who.size(); ++i) {
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, events_[2 * i], events_[2 * i + 1]),
                "reading an event");
    seconds[who[i]].push_back(static_cast<double>(milliseconds) * 1e-3);
  }
  std::vector<Sample> samples;
  for (std::vector<double>& own : seconds) samples.push_back(summarize(std::move(own)));
  return samples;
}

}  // namespace tessera::bench
