// Judges products on the device: every element (or a sample) against a float64 sum, within the
// componentwise bound of core/reference.hpp. One launch judges all products of a call.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/problem.hpp"

namespace tessera::test {

struct JudgeRequest {
  Operands operands;               // after the call; device memory
  const void* c_before = nullptr;  // C's elements from before the call, with C's strides
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;
  std::int64_t contributors = 1;  // the most pieces that any tile's sum was made from
  bool exact = false;  // the sums are exact: only the rounding to C's type may differ from them
  // 0: all elements. Else so many: the corners, then a quarter in the outermost rows and columns,
  // the others anywhere. Alike for all products of a call.
  std::int64_t samples = 0;
};

// Empty, or how many elements are wrong, and the first of them with what was expected.
std::string judge(std::span<const JudgeRequest> requests);

}  // namespace tessera::test
