// Copies an operand as floats, each element once, and lying as it does: what small products of f16
// and bf16 are multiplied from (direct.cpp), as those of f32 are from where they lie.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <cstdint>

#include "cpu/convert.hpp"
#include "cpu/kernel.hpp"

namespace tessera::cpu {
namespace {

// `length` elements. A last vector that is not whole is the last elements again; a line of less
// than a vector ends in zeros, for which there is room (CopyOfLines, copied_stride).
// Inlined, for lines are short: Emerald Rapids, 2026-11-29, called f16 20×43×817 takes 1.15 times
// as long, 24×24×24 1.1.
template <class Source, class Transpose>
[[gnu::always_inline]] inline void widen_line(const Source* from, std::int64_t length,
                                              std::uint32_t* to) {
  constexpr int kUnits = Transpose::template kChunk<std::uint32_t>;
  if (length < kUnits) {
    Transpose::template widen_row<Source, kUnits>(from, static_cast<int>(length), to);
    return;
  }
  std::int64_t at = 0;
  for (; at + kUnits <= length; at += kUnits) Transpose::widen(from + at, to + at);
  if (at < length) Transpose::widen(from + length - kUnits, to + length - kUnits);
}

// KernelCode::widen_lines.
template <class Source, class Transpose>
void widen_lines(const PackSource& source, std::int64_t stride, void* to) {
  Lines lines = lines_of(source);
  const auto* from = static_cast<const Source*>(source.data);
  auto* out = static_cast<std::uint32_t*>(to);
  if (lines.step == 1 && lines.next == lines.length && stride == lines.length) {
    lines.length *= lines.count;
    lines.count = 1;
  }
  for (; lines.count > 0; --lines.count, from += lines.next, out += stride) {
    if (lines.step == 1) {
      widen_line<Source, Transpose>(from, lines.length, out);
    } else {
      for (std::int64_t i = 0; i < lines.length; ++i) {
        out[i] = bits_of(Convert<Source>::widen(from[i * lines.step]));
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
