// Sums that tile registers (AMX) leave packed beside C on their way to it: parts of a block that is
// smaller than the registers, scaled, or past the caches.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"
#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

// A block of C that is smaller than the tile registers, to packed sums or from them. In elements.
struct Part {
  std::int64_t stride = 0;
  int rows = 0;
  int cols = 0;

  __mmask16 mask(int half) const {
    const int left = some_of(cols - half * kTileCols, kTileCols);
    return static_cast<__mmask16>((1U << static_cast<unsigned>(left)) - 1);
  }
};

template <class Acc>
void copy_in(const Acc* sum, const Part& part, Acc* value) {
  for (int row = 0; row < part.rows; ++row, sum += part.stride, value += kBlock) {
    for (int half = 0; half < 2; ++half) {
      const __m512i line = _mm512_maskz_loadu_epi32(part.mask(half), sum + half * kTileCols);
      _mm512_storeu_si512(value + half * kTileCols, line);
    }
  }
}

template <class Acc>
void copy_out(const Acc* value, Acc* sum, const Part& part) {
  for (int row = 0; row < part.rows; ++row, sum += part.stride, value += kBlock) {
    for (int half = 0; half < 2; ++half) {
      const __m512i line = _mm512_loadu_si512(value + half * kTileCols);
      _mm512_mask_storeu_epi32(sum + half * kTileCols, part.mask(half), line);
    }
  }
}

// sum ← alpha·value + beta·sum, of values so far from row to row.
template <class Acc>
void scale_into(const BlockTask& task, const Acc* value, int value_stride, Acc* sum,
                const Part& part) {
  const Acc alpha = scalar_of<Acc>(task.alpha);
  const Acc beta = scalar_of<Acc>(task.beta);
  for (int row = 0; row < part.rows; ++row, value += value_stride, sum += part.stride) {
    for (int col = 0; col < part.cols; ++col) {
      const Acc scaled = multiply_add(alpha, value[col], Acc(0));
      sum[col] = task.beta != 0 ? multiply_add(beta, sum[col], scaled) : scaled;
    }
  }
}

// Whole lines of C, which do not pass through the caches.
template <class Acc>
void stream_out(const Acc* value, Acc* sum, const Part& part) {
  for (int row = 0; row < part.rows; ++row, sum += part.stride, value += kBlock) {
    for (int half = 0; half < 2; ++half) {
      const __m512i line = _mm512_loadu_si512(value + half * kTileCols);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(sum + half * kTileCols), line);
    }
  }
}

bool are_whole_lines(const void* first, std::int64_t pitch) {
  return (reinterpret_cast<std::uintptr_t>(first) | static_cast<std::uintptr_t>(pitch)) %
             kRowBytes ==
         0;
}

}  // namespace
}  // namespace tessera::cpu
