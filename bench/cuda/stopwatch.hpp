// Times GPU work of several contestants alternately: A B C, C B A, A B C, … each after a cache
// flush, between two events of one stream. The host runs ahead during the flush, so launch costs
// stay out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/cuda/device.hpp"

namespace tessera::bench {

struct Contestant {
  std::string name;
  std::function<void(cudaStream_t)> run;  // queues the work
};

// Of one contestant's repetitions, in seconds.
struct Sample {
  double median = 0;
  double lowest = 0;
  double highest = 0;
  double spread = 0;  // (third − first quartile) / median
};

Sample summarize(std::vector<double> seconds);

// What a Stopwatch reads to leave the cache cold: five times the L2 cache of an H200.
inline std::size_t flush_bytes(bool cold) {
  return cold ? std::size_t{256} << 20 : 0;
}

class Stopwatch {
 public:
  // `flush_bytes` of device memory are read before each timed run; 0 leaves the cache warm.
  explicit Stopwatch(std::size_t flush_bytes);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  cudaStream_t stream() const { return stream_; }

  // One sample per contestant, after one untimed run each.
  std::vector<Sample> race(const std::vector<Contestant>& contestants, int repeats);

 private:
  DeviceMemory flush_;
  cudaStream_t stream_ = nullptr;
  std::vector<cudaEvent_t> events_;
};

}  // namespace tessera::bench
