// Parts of a block of f64 that residues (residues_of_f64.hpp) do not hold well enough: multiplied
// by vectors' microkernel, from the elements where they are, which are packed for it here.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <cstdint>

#include "cpu/kernel.hpp"
#include "cpu/pack_f64_residues.hpp"
#include "cpu/tile_registers.hpp"
#include "cpu/tile_sums.hpp"

namespace tessera::cpu {
namespace {

// So many of k at a time that panels of 256 rows and columns, filled up to whole register tiles,
// and their sums where the caller has no place for these, find room where remainders do.
constexpr int kDepthOfWhole = 224;
constexpr int kDepthBesideSums = 96;
constexpr int kMostTileOfWhole = 16;

inline const KernelCode& code_for_whole(const KernelCode& code) {
  if (code.mr > kMostTileOfWhole || code.nr > kMostTileOfWhole) __builtin_trap();
  return code;
}

// Some rows and columns of a block of C, and of A and B.
struct WholePart {
  F64Source a;
  F64Source b;
  std::int64_t row = 0;
  std::int64_t col = 0;
};

inline std::int64_t panels_of(std::int64_t along, int size) {
  return (along + size - 1) / size;
}

inline PackSource some_of_k(const F64Source& source, std::int64_t first, int most) {
  return {source.at(0, first), source.along, some_of(source.depth - first, most),
          source.along_stride, source.depth_stride};
}

// `room` for the panels of so many of k and the sums.
inline void multiply_whole(const KernelCode& code, const BlockTask& task, const WholePart& part,
                           unsigned char* room) {
  Finish finish;
  BlockTask whole = sub_task<double>(task, part.row, part.col, part.a.along, part.b.along, finish);
  const Finish* const finish_or_none = whole.finish;
  whole.passing_panel = nullptr;
  const int most = task.sum != nullptr ? kDepthOfWhole : kDepthBesideSums;
  unsigned char* const panels_a = room;
  unsigned char* const panels_b =
      panels_a + panels_of(whole.rows, code.mr) * code.panel_bytes_a(most);
  unsigned char* const sums = panels_b + panels_of(whole.cols, code.nr) * code.panel_bytes_b(most);
  if (task.sum == nullptr) {
    whole.sum = sums;
    whole.sum_stride = whole.cols;
  }
  for (std::int64_t first = 0; first < task.depth; first += most) {
    const PackSource a = some_of_k(part.a, first, most);
    const PackSource b = some_of_k(part.b, first, most);
    code.pack_a(a, panels_a);
    code.pack_b(b, panels_b);
    whole.depth = a.depth;
    whole.a = {panels_a, false, 0, 0, code.panel_bytes_a(a.depth)};
    whole.b = {panels_b, false, 0, 0, code.panel_bytes_b(a.depth)};
    whole.finish = first + most >= task.depth ? finish_or_none : nullptr;
    LookAhead ahead;
    whole.ahead = &ahead;
    code.multiply(whole);
    whole.beta = 1;
  }
}

}  // namespace
}  // namespace tessera::cpu
