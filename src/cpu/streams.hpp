// A large B in place for few rows of C: rows of B side by side, as long streams, against a few rows
// of A. Register tiles this shallow are over before register_tile.hpp has set one up; here a loop
// over columns is all there is, and what C's other rows need of B is still near. On AMD's
// processors so come those that wide_tiles.hpp does not suit.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/in_place_rule.hpp"
#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"
#include "cpu/register_tile.hpp"

namespace tessera::cpu {
namespace {

// Rows of A up to which B comes as few streams, AMD's. One thread, 2026-11, milliseconds.
//
// Zen 4, with register tiles (m = 1: with four streams of two vectors, none fetched ahead) and with
// eight streams: n = k = 4096, f32 m = 1 3.48, 2.50; 2 3.74, 3.43; 3 3.97, 3.36; 4 3.65, 3.12; 6
// 3.51, 3.11, at best 2.78, 2.88; 8 4.2, 5.1; f64 2 8.2, 6.3; 3 7.4, 6.4; 4 7.7, 7.2; 6 8.7, 8.6;
// n = 5001, k = 3001, f32 2 3.36, 2.68; 3 3.68, 2.41; 4 3.30, 2.72; 6 2.94, 2.97; n = 4160, k =
// 4096, f32 2 3.83, 3.97; 4 3.58, 3.65; 6 2.79, 3.61.
//
// Where registers are short, AVX2 on Zen 3, f32, GFLOP/s with four streams, with register tiles
// eight steps deep, and with B packed: m = 2 18, 12, 8; 4 28, 15, 16; 8 34, 22, 32; 12 42, 22, 50.
// AVX2 on Zen 4, n = k = 4096, with those four streams and with eight: f32 m = 1 4.19, 2.83; 2
// 3.01, 2.79; 4 3.18, 2.78; 8 6.60, 5.45; f64 1 7.81, 6.00; 2 6.47, 5.72; 4 6.44, 6.07;
// 8 12.4, 11.9.
template <int MR, int NV>
constexpr std::int64_t kMostOfFewStreams = kShortSteps<MR, NV> ? std::int64_t{1} << 40 : 4;

// And as many, Intel's. Emerald Rapids, one thread, n = k = 4096, f32, 2026-11, milliseconds with
// register tiles (m = 1: with four streams) and with 8 and 16 streams: m = 1 2.54, 2.45, 2.42; 2
// 2.74, 2.48, 2.43; 4 3.10, 2.81, 2.75; 6 3.19, 3.19, 3.06; 8 3.40, 3.56, 3.46 (with n = 5001, k =
// 3001 3.40, 3.33, 3.09); 12 3.51, 5.29, 4.60; on AVX2 with 4, 8 and 16 m = 1 2.53, 2.42, 2.37; 4
// 3.87, 3.14, 2.92.
template <int MR, int NV>
constexpr std::int64_t kMostOfManyStreams =
    kShortSteps<MR, NV> ? std::int64_t{1} << 40 : kRowsOfManyStreams;

// Of columns, at a time. Zen 4, n = k = 4096, f32, one thread, 2026-11, milliseconds with eight
// streams of one vector and of two: m = 1 2.15, 2.3; m = 2 and 4 2.4 and 2.5, with two slower than
// register tiles; AVX2, where each row of A needs a load for one more k: m = 4 3.8, 2.8;
// 8 7.4, 5.4.
template <int MR, int NV, int Streams>
constexpr int kStreamVectors = Streams == kManyStreams || kShortSteps<MR, NV> ? 2 : 1;

// Of A, at a time.
template <int MR, int NV, int Streams>
constexpr int kStreamRows = static_cast<int>(std::min<std::int64_t>(
    kShortSteps<MR, NV> ? 4 : kRowsOfManyStreams,
    Streams == kManyStreams ? kMostOfManyStreams<MR, NV> : kMostOfFewStreams<MR, NV>));

// Of B's rows, that stay in the nearest cache until the last rows of A have used them.
constexpr std::int64_t kStreamBytes = 2048;

// Elements of A that stay in registers, of which there are 32 with the widest vectors and 16 with
// others. The fewer instructions a line of B takes, the farther ahead the processor looks: Zen 5,
// f32, one thread, 2026-11, GB/s of B with elements loaded for each vector, rows of B in pieces,
// and beta looked up each time, and now: 1×4096×4096 34 and 46, 1×1000×1000 69 and 96,
// 1×512×512 115 and 123, 2×512×512 101 and 118, 4×1000×1000 47 and 60; a plain read makes 55, 119
// and 158.
template <class Ops>
constexpr int kHeldElements = sizeof(typename Ops::Vec) == 64 ? 16 : 8;

template <class Ops>
struct StreamTask {
  const typename Ops::A* a;  // so many elements of the first row, then of the next
  const typename Ops::B* b;
  std::int64_t b_row;    // strides in elements
  std::int64_t b_ahead;  // from what is multiplied to what is fetched
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
  typename Ops::Mask mask;  // of a vector at the edge
};

enum class Streaming { plain, fetching, edge };

// Whether lines of B that comes from memory are fetched ahead. Not of many streams: Emerald Rapids,
// sixteen, m = 4: 2.75 ms, and 2.89 with lines fetched. Nor with AVX2, but for what is widened
// first. Zen 3, one thread, 2026-11, the time with lines fetched over the time without, n = k =
// 4096 and n = 3000, k = 3001: f32 m = 1 1.19, 1.22; 2 1.20, 1.10; 4 1.27, 0.88; 6 1.23, 0.99;
// 8 1.04, 1.00; f64 1 1.30, 1.27; 2 1.33, 1.07; 4 1.29, 1.08; 8 1.11, 1.07; n = 5001, k = 3003: f16
// 1 0.78, 4 0.91; bf16 0.79, 0.91.
template <class Ops, int MR, int NV, int Streams>
constexpr bool kFetchesAhead = Streams == kFewStreams &&
                               (!kShortSteps<MR, NV> ||
                                sizeof(typename Ops::B) < sizeof(typename Ops::A));

// `count` register tiles side by side.
template <class Ops, int Streams, int Vectors, int Rows, Streaming How>
void stream_tiles(const StreamTask<Ops>& task, std::int64_t count) {
  using Vec = typename Ops::Vec;
  constexpr int kLanes = Ops::kLanes;
  constexpr int kWidth = Vectors * kLanes;
  constexpr bool kEdge = How == Streaming::edge;
  const auto* b = task.b;
  const std::int64_t b_row = task.b_row;
  // Kept from being three more addresses that move along.
  std::int64_t b_row3 = 3 * b_row;
  asm("" : "+r"(b_row3));
  const std::int64_t b_ahead = task.b_ahead;
  auto* sum_begin = task.sum;
  const Vec alpha = Ops::set(task.alpha);
  const Vec beta = Ops::set(task.beta);
  const bool adds = task.beta != 0;
  const auto mask = task.mask;
  constexpr bool kHoldsA =
      Rows * Streams <= kHeldElements<Ops> && (Rows == 1 || How != Streaming::fetching);
  [[maybe_unused]] decltype(Ops::broadcast(task.a)) held[kHoldsA ? Rows * Streams : 1];
  if constexpr (kHoldsA) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows * Streams; ++i) held[i] = Ops::broadcast(task.a + i);
  }
  const auto element_of_a = [&](int at) __attribute__((always_inline)) {
    if constexpr (kHoldsA) return held[at];
    return Ops::broadcast(task.a + at);
  };

#pragma GCC unroll 1
  for (; count > 0; --count, b += kWidth, sum_begin += kWidth) {
    Vec sum[Rows][Vectors];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] = Ops::zero();
    }
    const auto* four = b;
#pragma GCC unroll 16
    for (int step = 0; step < Streams; ++step) {
      if (step > 0 && step % 4 == 0) four += 4 * b_row;
      const auto* row = four + (step % 4 == 3 ? b_row3 : step % 4 * b_row);
      if constexpr (How == Streaming::fetching) __builtin_prefetch(row + b_ahead, 0, 2);
      if constexpr (Rows == 1 && !kEdge) {
        const auto a = element_of_a(step);
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) {
          sum[0][v] = multiply_add_alone<Ops>(sum[0][v], a, row + v * kLanes);
        }
        continue;
      }
      typename Ops::BVec columns[Vectors];
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) {
        columns[v] = kEdge ? Ops::load_b(row + v * kLanes, mask) : Ops::load_b(row + v * kLanes);
      }
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const auto a = element_of_a(r * Streams + step);
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) {
          sum[r][v] = Ops::multiply_add(sum[r][v], a, columns[v]);
        }
      }
    }
    if constexpr (kEdge) {
      store_sums<Ops>(sum, task.alpha, task.beta, mask, sum_begin, task.sum_stride);
      continue;
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) {
        auto* to = sum_begin + r * task.sum_stride + v * kLanes;
        Vec value = Ops::multiply(alpha, sum[r][v]);
        if (adds) value = Ops::scale_add(value, beta, Ops::load(to));
        Ops::store(to, value);
      }
    }
  }
}

// By rows − 1.
template <class Ops, int Streams, int Vectors, Streaming How, std::size_t... R>
constexpr auto stream_table(std::index_sequence<R...>) {
  return std::array{&stream_tiles<Ops, Streams, Vectors, static_cast<int>(R) + 1, How>...};
}

// As many k of `rows` rows of A as there are streams, in place or packed in panels of MR.
template <class Ops, int MR, int Streams>
void gather_rows(const BlockOperand& a, std::int64_t k, std::int64_t first, std::int64_t rows,
                 typename Ops::A* to) {
  for (std::int64_t r = first; r < first + rows; ++r) {
    const auto* bytes = static_cast<const unsigned char*>(a.data);
    if (!a.in_place) bytes += r / MR * a.panel_bytes;
    const auto* from = reinterpret_cast<const typename Ops::A*>(bytes) +
                       (a.in_place ? r * a.along_stride : r % MR);
    const std::int64_t stride = a.in_place ? a.depth_stride : MR;
    from += k * stride;
    for (int step = 0; step < Streams; ++step) *to++ = from[step * stride];
  }
}

// One group of k, as many as there are streams.
template <class Ops, int MR, int NV, int Streams>
void multiply_group(const BlockTask& task, std::int64_t k, StreamTask<Ops> stream) {
  constexpr int kVectors = kStreamVectors<MR, NV, Streams>;
  constexpr std::int64_t kWidth = kVectors * Ops::kLanes;
  constexpr std::int64_t kPiece =
      kStreamBytes / static_cast<std::int64_t>(sizeof(typename Ops::B)) / kWidth * kWidth;
  constexpr int kRows = kStreamRows<MR, NV, Streams>;
  constexpr auto kNearOrFar =
      kFetchesAhead<Ops, MR, NV, Streams> ? Streaming::fetching : Streaming::plain;
  constexpr auto kRowCounts = std::make_index_sequence<kRows>();
  constexpr auto kPlain = stream_table<Ops, Streams, kVectors, Streaming::plain>(kRowCounts);
  constexpr auto kFetching = stream_table<Ops, Streams, kVectors, kNearOrFar>(kRowCounts);
  constexpr auto kEdge = stream_table<Ops, Streams, 1, Streaming::edge>(kRowCounts);
  const std::int64_t whole_cols = task.cols / kWidth * kWidth;
  const std::int64_t groups = (task.rows + kRows - 1) / kRows;
  const std::int64_t next_rows = Streams * stream.b_row;
  // One group of rows does not come back for B.
  const bool in_pieces = groups > 1 || (task.b_is_far && task.rows > 1);
  typename Ops::A a[kRows * Streams];
  stream.a = a;
  for (std::int64_t col = 0; col < task.cols;) {
    const bool is_edge = col >= whole_cols;
    const std::int64_t last = is_edge ? task.cols : whole_cols;
    const std::int64_t piece = is_edge ? Ops::kLanes : in_pieces ? kPiece : last;
    const std::int64_t cols = std::min(piece, last - col);
    if (is_edge) stream.mask = Ops::mask(static_cast<int>(cols));
    stream.b = static_cast<const typename Ops::B*>(task.b.data) + k * stream.b_row + col;
    // A single row is so soon over that the same columns of the next rows are fetched: f32 2.88 ms
    // with none, 2.3 with those; several rows do better with the next piece: m = 2 2.40 and 2.7
    // with the next rows, m = 4 2.53 and 2.9 (Zen 4, n = k = 4096).
    const bool is_last = col + cols >= whole_cols;
    stream.b_ahead = task.rows == 1 ? next_rows : is_last ? next_rows - col : kPiece;
    for (std::int64_t group = 0, row = 0; group < groups; ++group) {
      // Nearly equal numbers of rows.
      const std::int64_t rows = (task.rows - row) / (groups - group);
      gather_rows<Ops, MR, Streams>(task.a, k, row, rows, a);
      stream.sum = static_cast<typename Ops::Acc*>(task.sum) + row * task.sum_stride + col;
      const auto& table = is_edge ? kEdge : group == 0 && task.b_is_far ? kFetching : kPlain;
      table[static_cast<std::size_t>(rows - 1)](stream, is_edge ? 1 : cols / kWidth);
      row += rows;
    }
    col += cols;
  }
}

template <class Ops, int MR, int NV, int Streams>
void multiply_streams_of(const BlockTask& task) {
  StreamTask<Ops> stream;
  stream.b_row = task.b.depth_stride;
  stream.sum_stride = task.sum_stride;
  stream.alpha = Ops::scalar(task.alpha);
  stream.beta = Ops::scalar(task.beta);
  stream.mask = Ops::mask(Ops::kLanes);
  for (std::int64_t k = 0; k < task.depth; k += Streams) {
    multiply_group<Ops, MR, NV, Streams>(task, k, stream);
    stream.beta = 1;
  }
}

// KernelCode::multiply where B comes as streams.
template <class Ops, int MR, int NV>
void multiply_streams(const BlockTask& task) {
  if (task.streams == kFewStreams) {
    multiply_streams_of<Ops, MR, NV, kFewStreams>(task);
  } else {
    multiply_streams_of<Ops, MR, NV, kManyStreams>(task);
  }
  if (task.finish != nullptr) {
    finish_block<typename Ops::Acc>(*task.finish, task.sum, task.sum_stride, task.rows, task.cols);
  }
}

}  // namespace
}  // namespace tessera::cpu
