// Judges a computed product in float64. Small ones element by element against the naive reference;
// large ones by Freivalds' check: for random vectors x of +1 and −1, C·x must be what A·(B·x) says,
// within what rounding may do to a row, together with a sample of single elements.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/problem.hpp"

namespace tessera::cli {

enum class VerifyEffort {
  full,
  sample,  // 256 elements at most, for benchmarks
};

struct VerifyOptions {
  VerifyEffort effort = VerifyEffort::full;
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;
  // The most pieces that any tile's sum was made from (core/reference.hpp).
  std::int64_t contributors = 1;
  std::uint64_t seed = 0;
  // Above this many multiply-adds, Freivalds.
  double max_reference_work = 6.4e7;
};

struct Verification {
  bool passed = false;
  std::string method;   // "all 61440 elements" or "20 vectors (Freivalds) and 256 elements"
  double worst = 0;     // the largest error, as a share of what is allowed
  std::string failure;  // where and by how much; empty if it passed
};

// `operands.c` holds the result; `c_before` what C was before, read
// only where beta ≠ 0.
Verification verify(const Operands& operands, const ConstMatrixView& c_before,
                    const VerifyOptions& options);

}  // namespace tessera::cli
