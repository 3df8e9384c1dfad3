// How much work a product is for a CPU, for deciding how many threads it is worth.
#pragma once

#include <algorithm>

#include "core/much_room.hpp"
#include "tessera/element_type.hpp"
#include "tessera/machine.hpp"
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

// Bytes of an operand that come from L2 in the time of a multiply-add, of cores with 2 MB of it;
// others', and AMD's, were not measured and go by multiply-adds alone. Granite Rapids, two
// threads, 2026-11-30, the time on one over the time on two: f32 132×1×1485 1.24, 1×400×500 1.19,
// 190×1×1300 1.45, 200×1×800 0.92, f64 1×400×300 1.22; of fewer bytes 250×1×600 1.18, 5000×1×30
// 1.48, and of rows that one thread reads at 140 GB/s 48×1×3200 0.89, 32×1×4000 0.72, for whose
// sake it is not 2. Forty of 90 to 260 thousand elements, in three layouts, f32 1.12 to 1.20, f64
// 1.44 to 1.61.
inline constexpr double kBytesOfWork = 2.5;

// In multiply-adds: theirs, or as many as writing C, or reading the larger operand, takes if that
// is longer.
inline double work_of(const GemmShape& shape, const GemmTypes& types, const Machine& machine) {
  if (shape.m == 0 || shape.n == 0) return 0;
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double work = m * n * std::max(k, kWorkOfElement);
  if (!has_much_room(machine)) return work;
  return std::max(work, k * std::max(m * size_of(types.a), n * size_of(types.b)) / kBytesOfWork);
}

}  // namespace tessera
