// Sums that tile registers (AMX) leave packed beside C on their way to it: parts of a block that is
// smaller than the registers, scaled, or past the caches.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "core/turned_axis.hpp"
#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"
#include "cpu/ops_avx512.hpp"
#include "cpu/rearrange_avx512.hpp"
#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

// A block of C that is smaller than the tile registers, to packed sums or from them. In elements.
struct Part {
  std::int64_t stride = 0;
  int rows = 0;
  int cols = 0;

  __mmask16 mask(int half) const { return TransposeRows::first_of(cols - half * kTileCols); }
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

// Some rows and columns of a block from (row, col) on, its operands still the whole block's;
// `finish` is what follows these sums, if anything does.
template <class Acc>
BlockTask sub_task(const BlockTask& task, std::int64_t row, std::int64_t col, std::int64_t rows,
                   std::int64_t cols, Finish& finish) {
  BlockTask sub = task;
  sub.rows = rows;
  sub.cols = cols;
  if (task.sum != nullptr) sub.sum = static_cast<Acc*>(task.sum) + row * task.sum_stride + col;
  if (task.finish != nullptr) {
    finish = sub_block(*task.finish, row, col);
    sub.finish = &finish;
  }
  return sub;
}

// As seen where C's rows and columns have changed places.
Finish turned_round(Finish finish) {
  const std::int64_t row_stride = finish.row_stride;
  finish.row_stride = finish.col_stride;
  finish.col_stride = row_stride;
  finish.bias_axis = turned(finish.bias_axis, true);
  return finish;
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

// Up to 16 rows and kBlock columns of sums as rows of `to`, kTileRows long. Behind the last
// column up to 15 more are read, as buffers of sums have.
template <class Acc>
void turn_sums(const Acc* sum, std::int64_t stride, int rows, int cols, Acc* to) {
  constexpr int kTogether = TransposeRows::kRows<std::uint32_t>;
  const int whole = rows / kTogether * kTogether;
  for (int col = 0; col < cols; col += kTileCols) {
    for (int row = 0; row < whole; row += kTogether) {
      const Acc* from = sum + row * stride + col;
      TransposeRows::rows_to_columns(reinterpret_cast<const std::uint32_t*>(from), stride * 4,
                                     reinterpret_cast<std::uint32_t*>(to + col * kTileRows + row),
                                     kTileRows, 0);
    }
  }
  for (int row = whole; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) to[col * kTileRows + row] = sum[row * stride + col];
  }
}

// Rows of kTileRows at most, which are converted and no more. As where sums are not turned, -0
// becomes 0 where they are converted.
template <class Acc>
void write_rows(const Finish& finish, const Acc* value, int rows, int cols) {
  auto* c = static_cast<unsigned char*>(finish.c);
  const std::int64_t pitch = finish.row_stride * size_of(finish.c_type);
  const __mmask16 mask = TransposeRows::first_of(cols);
  for (int row = 0; row < rows; ++row, c += pitch, value += kTileRows) {
    if (size_of(finish.c_type) == 4) {
      _mm512_mask_storeu_epi32(c, mask, _mm512_maskz_loadu_epi32(mask, value));
    } else {
      Acc plain[kTileRows];
      for (int i = 0; i < cols; ++i) plain[i] = multiply_add(Acc(1), value[i], Acc(0));
      write_as<Acc>(finish.c_type, c, 1, cols, plain);
    }
  }
}

// KernelCode::finish. Rows of sums that are C's columns, those of a product that is turned round,
// are turned back, 16 at a time, so that parts of C's rows are written, not elements that lie
// apart. Granite Rapids, one thread, 2026-11, the time by elements over the time so: bf16
// 16×2048×256 6, 64×2048×256 7, 64×4096×4096 1.37, i8 16×2048×256 12, 64×4096×4096 1.8.
template <class Acc>
void finish_sums(const Finish& finish, const void* sums, std::int64_t stride, std::int64_t rows,
                 std::int64_t cols) {
  // A single column's sums may lie in C itself, and need no turning.
  const bool are_columns = finish.row_stride == 1 && finish.col_stride != 1 && cols > 1;
  if (!are_columns) return finish_block<Acc>(finish, sums, stride, rows, cols);
  const bool just_converts = finish.alpha == 1 && finish.beta == 0 &&
                             finish.bias_axis == BiasAxis::none &&
                             finish.activation == Activation::none;
  const auto* sum = static_cast<const Acc*>(sums);
  alignas(64) Acc turned_sums[kBlock * kTileRows];
  for (std::int64_t row = 0; row < rows; row += kTileRows) {
    const int count = some_of(rows - row, kTileRows);
    for (std::int64_t col = 0; col < cols; col += kBlock) {
      const int width = some_of(cols - col, kBlock);
      turn_sums(sum + row * stride + col, stride, count, width, turned_sums);
      const Finish part = turned_round(sub_block(finish, row, col));
      if (just_converts) {
        write_rows(part, turned_sums, width, count);
      } else {
        finish_block<Acc>(part, turned_sums, kTileRows, width, count);
      }
    }
  }
}

inline bool are_whole_lines(const void* first, std::int64_t pitch) {
  return (reinterpret_cast<std::uintptr_t>(first) | static_cast<std::uintptr_t>(pitch)) %
             kRowBytes ==
         0;
}

}  // namespace
}  // namespace tessera::cpu
