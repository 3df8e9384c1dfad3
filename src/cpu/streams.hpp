// A large B in place for few rows of C: four rows of B side by side, as long streams, against up to
// four rows of A. Narrow register tiles this shallow are over before register_tile.hpp has set one
// up; here a loop over columns is all there is, and what C's other rows need of B is still near.
// A single row of C comes this way with every instruction set.
// AVX2 on Zen 3, f32, n = k = 4096, 2026-11, GFLOP/s with this, with register tiles eight steps
// deep, and with B packed: m = 2 18, 12, 8; 4 28, 15, 16; 8 34, 22, 32; 12 42, 22, 50.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/kernel.hpp"

namespace tessera::cpu {
namespace {

// Of k: rows of B. With eight m = 2 makes 15.5 and m = 4 27, with two 15 and 27.
constexpr int kStreamSteps = 4;
constexpr int kStreamVectors = 2;
constexpr int kStreamRows = 4;  // of C, at a time

// Of B's rows, that stay in the nearest cache until the last rows of C have used them.
constexpr std::int64_t kStreamBytes = 2048;

template <class Ops>
struct StreamTask {
  const typename Ops::A* a;  // kStreamSteps of the first row, then of the next
  const typename Ops::B* b;
  std::int64_t b_row;    // strides in elements
  std::int64_t b_ahead;  // from what is multiplied to what is fetched
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
};

// `count` register tiles side by side.
template <class Ops, int Rows, bool Fetches>
void stream_tiles(const StreamTask<Ops>& task, std::int64_t count) {
  using Vec = typename Ops::Vec;
  constexpr int kLanes = Ops::kLanes;
  constexpr int kWidth = kStreamVectors * kLanes;
  const auto* b = task.b;
  const std::int64_t b_row = task.b_row;
  // Kept from being three more addresses that move along.
  std::int64_t b_row3 = 3 * b_row;
  asm("" : "+r"(b_row3));
  const std::int64_t b_ahead = task.b_ahead;
  auto* sum_begin = task.sum;
  const Vec alpha = Ops::set(task.alpha);
  const Vec beta = Ops::set(task.beta);

#pragma GCC unroll 1
  for (; count > 0; --count, b += kWidth, sum_begin += kWidth) {
    Vec sum[Rows][kStreamVectors];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kStreamVectors; ++v) sum[r][v] = Ops::zero();
    }
#pragma GCC unroll 4
    for (int step = 0; step < kStreamSteps; ++step) {
      const auto* row = b + (step == 3 ? b_row3 : step * b_row);
      if constexpr (Fetches) __builtin_prefetch(row + b_ahead, 0, 2);
      typename Ops::BVec columns[kStreamVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kStreamVectors; ++v) columns[v] = Ops::load_b(row + v * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        const auto a = Ops::broadcast(task.a + r * kStreamSteps + step);
#pragma GCC unroll 2
        for (int v = 0; v < kStreamVectors; ++v) {
          sum[r][v] = Ops::multiply_add(sum[r][v], a, columns[v]);
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kStreamVectors; ++v) {
        auto* to = sum_begin + r * task.sum_stride + v * kLanes;
        Vec value = Ops::multiply(alpha, sum[r][v]);
        if (task.beta != 0) value = Ops::scale_add(value, beta, Ops::load(to));
        Ops::store(to, value);
      }
    }
  }
}

template <class Ops, bool Fetches>
void stream_rows(const StreamTask<Ops>& task, std::int64_t rows, std::int64_t count) {
  switch (rows) {
    case 1:
      return stream_tiles<Ops, 1, Fetches>(task, count);
    case 2:
      return stream_tiles<Ops, 2, Fetches>(task, count);
    case 3:
      return stream_tiles<Ops, 3, Fetches>(task, count);
    default:
      return stream_tiles<Ops, 4, Fetches>(task, count);
  }
}

// kStreamSteps of k of `rows` rows of A, in place or packed in panels of MR.
template <class Ops, int MR>
void gather_rows(const BlockOperand& a, std::int64_t first, std::int64_t rows,
                 typename Ops::A* to) {
  for (std::int64_t r = first; r < first + rows; ++r) {
    const auto* bytes = static_cast<const unsigned char*>(a.data);
    if (!a.in_place) bytes += r / MR * a.panel_bytes;
    const auto* from = reinterpret_cast<const typename Ops::A*>(bytes) +
                       (a.in_place ? r * a.along_stride : r % MR);
    const std::int64_t stride = a.in_place ? a.depth_stride : MR;
    for (int step = 0; step < kStreamSteps; ++step) *to++ = from[step * stride];
  }
}

// Whether the block is one for multiply_streams.
inline bool is_streamed(const BlockTask& task, std::int64_t most_rows) {
  return task.b.in_place && task.depth == kStreamSteps && task.rows <= most_rows &&
         task.sum != nullptr;
}

// Multiplies the columns that fill register tiles, and returns their number.
template <class Ops, int MR>
std::int64_t multiply_streams(const BlockTask& task) {
  constexpr std::int64_t kWidth = kStreamVectors * Ops::kLanes;
  constexpr std::int64_t kPiece =
      kStreamBytes / static_cast<std::int64_t>(sizeof(typename Ops::B)) / kWidth * kWidth;
  const std::int64_t cols = task.cols / kWidth * kWidth;
  const std::int64_t groups = (task.rows + kStreamRows - 1) / kStreamRows;
  StreamTask<Ops> stream;
  stream.b_row = task.b.depth_stride;
  stream.sum_stride = task.sum_stride;
  stream.alpha = Ops::scalar(task.alpha);
  stream.beta = Ops::scalar(task.beta);
  typename Ops::A a[kStreamRows * kStreamSteps];
  stream.a = a;
  for (std::int64_t col = 0; col < cols; col += kPiece) {
    const std::int64_t count = std::min(kPiece, cols - col) / kWidth;
    stream.b = static_cast<const typename Ops::B*>(task.b.data) + col;
    // The next piece, or the first of the next rows.
    stream.b_ahead = col + kPiece < cols ? kPiece : kStreamSteps * stream.b_row - col;
    for (std::int64_t group = 0, row = 0; group < groups; ++group) {
      // Nearly equal numbers of rows.
      const std::int64_t rows = (task.rows - row) / (groups - group);
      gather_rows<Ops, MR>(task.a, row, rows, a);
      stream.sum = static_cast<typename Ops::Acc*>(task.sum) + row * task.sum_stride + col;
      // One row leaves the processor's own prefetching alone: m = 1 makes 12.6 GFLOP/s, with lines
      // fetched ahead 10.4, but m = 4 then 26 instead of 29 (Zen 3).
      if (group == 0 && task.rows > 1) {
        stream_rows<Ops, true>(stream, rows, count);
      } else {
        stream_rows<Ops, false>(stream, rows, count);
      }
      row += rows;
    }
  }
  return cols;
}

}  // namespace
}  // namespace tessera::cpu
