// Blocks of f32 packed for tile registers (pack_f32_parts.hpp) that parts do not hold: the product
// of a strip of A and a panel of B by vectors, as it is, so that subnormals are kept, and
// infinities and what overflows are what they are everywhere.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/kernel.hpp"
#include "cpu/pack_f32_parts.hpp"
#include "cpu/split_f32.hpp"
#include "cpu/tile_registers.hpp"
#include "cpu/tile_sums.hpp"

namespace tessera::cpu {
namespace {

// A line of pairs of each part to the lines of elements that store_pairs() had.
inline void join_pairs(const unsigned char* from, float* first, float* second) {
  PartsOfF32 of_first;
  PartsOfF32 of_second;
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
#pragma GCC unroll 3
  for (int part = 0; part < kPartsOfF32; ++part) {
    const __m512i pairs = _mm512_loadu_si512(from + part * kChunkBytesA);
    of_first.parts[part] = _mm512_slli_epi32(pairs, 16);
    of_second.parts[part] = _mm512_and_si512(pairs, upper);
  }
  _mm512_storeu_ps(first, whole_of(of_first));
  _mm512_storeu_ps(second, whole_of(of_second));
}

// A chunk's elements, row by row of A along k, or of k: in `joined` unless they are in the panel.
inline const float* elements_of_a(const unsigned char* chunk, bool is_whole, int rows,
                                  F32Block& joined) {
  if (is_whole) return reinterpret_cast<const float*>(chunk);
  for (int row = 0; row < rows; ++row) {
    join_pairs(chunk + row * kRowBytes, joined[row], joined[row] + kLineOfF32);
  }
  return joined[0];
}
inline const float* elements_of_b(const unsigned char* chunk, bool is_whole, F32Block& joined) {
  if (is_whole) return reinterpret_cast<const float*>(chunk);
  for (int pair = 0; pair < kLineOfF32; ++pair) {
    for (int half = 0; half < 2; ++half) {
      join_pairs(chunk + pair * kPitchB + half * kRowBytes, joined[pair] + half * kLineOfF32,
                 joined[pair + kLineOfF32] + half * kLineOfF32);
    }
  }
  return joined[0];
}

// sums += strip · panel, of so many rows and kBlock columns.
inline void add_whole_products(const BlockOperand& a, const BlockOperand& b, std::int64_t chunks,
                               int rows_of_strip, float* sums) {
  constexpr int kRowsTogether = 8;
  const bool a_is_whole = PanelsOfF32::range_behind(a, 0).is_whole != 0;
  const bool b_is_whole = PanelsOfF32::range_behind(b, 0).is_whole != 0;
  alignas(64) F32Block joined_a = {};
  alignas(64) F32Block joined_b;
  const unsigned char* chunk_a = panel_of(a, 0);
  const unsigned char* chunk_b = panel_of(b, 0);
  for (; chunks > 0; --chunks, chunk_a += kChunkBytesOfF32, chunk_b += kChunkBytesOfF32) {
    const float* const rows = elements_of_a(chunk_a, a_is_whole, rows_of_strip, joined_a);
    const float* const columns = elements_of_b(chunk_b, b_is_whole, joined_b);
    for (int row = 0; row < rows_of_strip; row += kRowsTogether) {
      __m512 sum[kRowsTogether][2];
      float* const to = sums + row * kBlock;
#pragma GCC unroll 8
      for (int r = 0; r < kRowsTogether; ++r) {
        sum[r][0] = _mm512_loadu_ps(to + r * kBlock);
        sum[r][1] = _mm512_loadu_ps(to + r * kBlock + kLineOfF32);
      }
      for (int k = 0; k < kDepthOfF32; ++k) {
        const __m512 left = _mm512_loadu_ps(columns + k * kBlock);
        const __m512 right = _mm512_loadu_ps(columns + k * kBlock + kLineOfF32);
#pragma GCC unroll 8
        for (int r = 0; r < kRowsTogether; ++r) {
          const __m512 element = _mm512_set1_ps(rows[(row + r) * kBlock + k]);
          sum[r][0] = _mm512_fmadd_ps(element, left, sum[r][0]);
          sum[r][1] = _mm512_fmadd_ps(element, right, sum[r][1]);
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRowsTogether; ++r) {
        _mm512_storeu_ps(to + r * kBlock, sum[r][0]);
        _mm512_storeu_ps(to + r * kBlock + kLineOfF32, sum[r][1]);
      }
    }
  }
}

// Whether parts hold all strips of A and panels of B, and their products.
inline bool parts_hold(const BlockTask& task) {
  PanelRange a;
  for (std::int64_t row = 0; row < task.rows; row += kBlock) {
    a.widen(PanelsOfF32::range_behind(task.a, row / kBlock));
  }
  PanelRange b;
  for (std::int64_t col = 0; col < task.cols; col += kBlock) {
    b.widen(PanelsOfF32::range_behind(task.b, col / kBlock));
  }
  return may_multiply_parts(a, b);
}

// A single strip and panel.
inline void multiply_by_vectors(const BlockTask& task) {
  alignas(64) float sums[kBlock * kBlock] = {};
  const Part part{task.sum_stride, static_cast<int>(task.rows), static_cast<int>(task.cols)};
  add_whole_products(task.a, task.b, PanelsOfF32::padded(task.depth) / kDepthOfF32, part.rows,
                     sums);
  auto* const sum = static_cast<float*>(task.sum);
  if (sum != nullptr) scale_into(task, sums, kBlock, sum, part);
  if (task.finish == nullptr) return;
  finish_sums<float>(*task.finish, sum != nullptr ? sum : sums,
                     sum != nullptr ? task.sum_stride : kBlock, part.rows, part.cols);
}

// Strip by strip of A and panel by panel of B, those by vectors that parts do not hold.
inline void multiply_one_by_one(const BlockTask& task, void (*multiply_parts)(const BlockTask&)) {
  for (std::int64_t col = 0; col < task.cols; col += kBlock) {
    for (std::int64_t row = 0; row < task.rows; row += kBlock) {
      Finish finish;
      BlockTask block = sub_task<float>(task, row, col, some_of(task.rows - row, kBlock),
                                        some_of(task.cols - col, kBlock), finish);
      block.a.data = panel_of(task.a, row / kBlock);
      block.b.data = panel_of(task.b, col / kBlock);
      parts_hold(block) ? multiply_parts(block) : multiply_by_vectors(block);
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
