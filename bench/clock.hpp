// Wall-clock time of what the host does.
#pragma once

#include <chrono>

namespace tessera::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class Work>
double seconds_of(Work work) {
  const Clock::time_point start = Clock::now();
  work();
  return seconds_since(start);
}

}  // namespace tessera::bench
