// Portable vectors for the microkernel: short arrays and plain loops, which any compiler turns into
// whatever the processor has; see ops_avx512.hpp for what an Ops type has. A mask is a column
// count.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <cstdint>

#include "cpu/convert.hpp"
#include "cpu/finish.hpp"
#include "cpu/pack.hpp"

namespace tessera::cpu {
namespace {

// kRows rows of kChunk units, `row_bytes` apart, become kChunk rows of kRows units, `stride` apart.
struct TransposeRows {
  template <class Word>
  static constexpr int kRows = 4;
  template <class Word>
  static constexpr int kChunk = 8;

  template <class Word>
  static void rows_to_columns(const Word* rows, std::int64_t row_bytes, Word* to,
                              std::int64_t stride, std::uint32_t) {
    for (int r = 0; r < kRows<Word>; ++r) {
      const char* row = reinterpret_cast<const char*>(rows) + r * row_bytes;
      for (int g = 0; g < kChunk<Word>; ++g) {
        __builtin_memcpy(to + g * stride + r, row + g * sizeof(Word), sizeof(Word));
      }
    }
  }
};

template <class Accumulator>
struct Accumulate {
  using Transpose = TransposeRows;
  using Acc = Accumulator;
  using Mask = int;
  static constexpr int kLanes = 4;
  static constexpr bool kOffsetA = false;
  struct Vec {
    Acc lane[kLanes];
  };

  template <class F>
  static Vec each(F f) {
    Vec result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = f(i);
    return result;
  }
  static Mask mask(int columns) { return columns; }
  static Acc scalar(double value) { return scalar_of<Acc>(value); }
  static void prefetch(const void*) {}
  static Vec zero() { return Vec{}; }
  static Vec set(Acc value) {
    return each([&](int) { return value; });
  }
  static Vec load(const Acc* from) {
    return each([&](int i) { return from[i]; });
  }
  static Vec load(const Acc* from, Mask mask) {
    return each([&](int i) { return i < mask ? from[i] : Acc(0); });
  }
  static void store(Acc* to, Vec value) { store(to, value, kLanes); }
  static void store(Acc* to, Vec value, Mask mask) {
    for (int i = 0; i < mask; ++i) to[i] = value.lane[i];
  }
  static Vec multiply(Vec a, Vec b) {
    return each([&](int i) { return cpu::multiply_add(a.lane[i], b.lane[i], Acc(0)); });
  }
  static Vec scale_add(Vec value, Vec factor, Vec c) {
    return each([&](int i) { return cpu::multiply_add(factor.lane[i], c.lane[i], value.lane[i]); });
  }
};

template <class Accumulator, class Element>
struct OpsScalar : Accumulate<Accumulator> {
  using typename Accumulate<Accumulator>::Vec;
  using typename Accumulate<Accumulator>::Mask;
  using A = Element;
  using B = Element;
  using BVec = Vec;
  static constexpr int kGroup = 1;

  static BVec load_b(const B* from) {
    return Accumulate<Accumulator>::each([&](int i) { return static_cast<Accumulator>(from[i]); });
  }
  static BVec load_b(const B* from, Mask mask) {
    return Accumulate<Accumulator>::each(
        [&](int i) { return i < mask ? static_cast<Accumulator>(from[i]) : Accumulator(0); });
  }
  static Vec broadcast(const A* from) {
    return Accumulate<Accumulator>::set(static_cast<Accumulator>(*from));
  }
  static Vec multiply_add(Vec sum, Vec a, BVec b) {
    return Accumulate<Accumulator>::scale_add(sum, a, b);
  }
};

using OpsF32 = OpsScalar<float, float>;
using OpsF64 = OpsScalar<double, double>;
using OpsI32 = OpsScalar<std::int32_t, std::int32_t>;

}  // namespace
}  // namespace tessera::cpu
