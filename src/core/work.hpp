// How much work a product is for a CPU, by its sizes alone.
#pragma once

#include <algorithm>

#include "tessera/problem.hpp"

namespace tessera {

// Multiply-adds of f32 in whose time an element is read from beyond L2, or one of C is written.
// Emerald Rapids, one thread, 2026-11: 478×134×2 takes 8.7 to 11.9 µs, as long as 7 for each of C.
inline constexpr double kWorkOfElement = 4;

// With less, about 6 µs, no second thread is started. Predictions would: few rows on one worker are
// taken to be up to three times as long as they are. Granite Rapids, two threads, 2026-11, the time
// on one over the time so: f32 7×52×667 0.68, 2×296×280 0.77.
inline constexpr double kWorkWorthThreads = 250000;

inline double multiply_adds(const GemmShape& shape) {
  return static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

// In multiply-adds: theirs, or as many as writing C takes if that is longer.
inline double work_of(const GemmShape& shape) {
  const double elements = static_cast<double>(shape.m) * static_cast<double>(shape.n);
  return elements * std::max(static_cast<double>(shape.k), kWorkOfElement);
}

}  // namespace tessera
