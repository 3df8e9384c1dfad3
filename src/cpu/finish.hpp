// How sums become C, for every type of C: scaling, beta, bias, activation, conversion. Rows go
// through a small buffer in the accumulator's type, whose loops have constant bounds and no
// branches, so that the compiler vectorises them for each instruction set; strided and 16-bit C
// differ only in how the buffer is read from and written to memory.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/activate.hpp"
#include "cpu/convert.hpp"
#include "cpu/kernel.hpp"

namespace tessera::cpu {
namespace {

constexpr int kFinishWidth = 64;

template <class Acc, class Element>
void read_elements(const void* from, std::int64_t stride, int count, Acc* to) {
  const auto* elements = static_cast<const Element*>(from);
  if (stride == 1) {
    for (int i = 0; i < count; ++i) to[i] = Convert<Element>::widen(elements[i]);
  } else {
    for (int i = 0; i < count; ++i) to[i] = Convert<Element>::widen(elements[i * stride]);
  }
}

template <class Acc, class Element>
void write_elements(void* to, std::int64_t stride, int count, const Acc* from) {
  auto* elements = static_cast<Element*>(to);
  if (stride == 1) {
    for (int i = 0; i < count; ++i) elements[i] = Convert<Element>::narrow(from[i]);
  } else {
    for (int i = 0; i < count; ++i) elements[i * stride] = Convert<Element>::narrow(from[i]);
  }
}

// `type` is Acc's own or, where Acc is float, a 16-bit one.
template <class Acc>
void read_as(ElementType type, const void* from, std::int64_t stride, int count, Acc* to) {
  if constexpr (std::is_same_v<Acc, float>) {
    if (type == ElementType::f16) return read_elements<Acc, f16>(from, stride, count, to);
    if (type == ElementType::bf16) return read_elements<Acc, bf16>(from, stride, count, to);
  }
  read_elements<Acc, Acc>(from, stride, count, to);
}

template <class Acc>
void write_as(ElementType type, void* to, std::int64_t stride, int count, const Acc* from) {
  if constexpr (std::is_same_v<Acc, float>) {
    if (type == ElementType::f16) return write_elements<Acc, f16>(to, stride, count, from);
    if (type == ElementType::bf16) return write_elements<Acc, bf16>(to, stride, count, from);
  }
  write_elements<Acc, Acc>(to, stride, count, from);
}

// A whole number, possibly large, modulo 2^32 for integers.
template <class Acc>
Acc scalar_of(double value) {
  return static_cast<Acc>(value);
}
template <>
inline std::int32_t scalar_of<std::int32_t>(double value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
}

template <class Acc>
Acc multiply_add(Acc a, Acc b, Acc c) {
  return a * b + c;
}
template <>
inline std::int32_t multiply_add(std::int32_t a, std::int32_t b, std::int32_t c) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) +
                                   static_cast<std::uint32_t>(c));
}

// KernelCode::finish.
template <class Acc>
void finish_block(const Finish& finish, const void* sum, std::int64_t sum_stride, std::int64_t rows,
                  std::int64_t cols) {
  const Acc alpha = scalar_of<Acc>(finish.alpha);
  const Acc beta = scalar_of<Acc>(finish.beta);
  const std::int64_t c_size = size_of(finish.c_type);
  const std::int64_t bias_size = size_of(finish.bias_type);
  Acc value[kFinishWidth] = {};
  Acc before[kFinishWidth] = {};
  Acc bias[kFinishWidth] = {};

  for (std::int64_t col = 0; col < cols; col += kFinishWidth) {
    const int count = cols - col < kFinishWidth ? static_cast<int>(cols - col) : kFinishWidth;
    if (finish.bias_axis == BiasAxis::column) {
      read_as(finish.bias_type,
              static_cast<const unsigned char*>(finish.bias) + col * finish.bias_stride * bias_size,
              finish.bias_stride, count, bias);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const Acc* from = static_cast<const Acc*>(sum) + row * sum_stride + col;
      void* c = static_cast<unsigned char*>(finish.c) +
                (row * finish.row_stride + col * finish.col_stride) * c_size;
      for (int i = 0; i < count; ++i) value[i] = multiply_add(alpha, from[i], Acc(0));
      if (finish.beta != 0) {
        read_as(finish.c_type, c, finish.col_stride, count, before);
        for (int i = 0; i < count; ++i) value[i] = multiply_add(beta, before[i], value[i]);
      }
      if (finish.bias_axis == BiasAxis::row) {
        read_as(
            finish.bias_type,
            static_cast<const unsigned char*>(finish.bias) + row * finish.bias_stride * bias_size,
            0, 1, bias);
        for (int i = 1; i < kFinishWidth; ++i) bias[i] = bias[0];
      }
      if (finish.bias_axis != BiasAxis::none) {
        for (int i = 0; i < count; ++i) value[i] = multiply_add(Acc(1), value[i], bias[i]);
      }
      activate<kFinishWidth>(finish.activation, value, count);
      write_as(finish.c_type, c, finish.col_stride, count, value);
    }
  }
}

// KernelCode::add.
template <class Acc>
void add_sums(void* sum, const void* other, std::int64_t count) {
  auto* to = static_cast<Acc*>(sum);
  const auto* from = static_cast<const Acc*>(other);
  for (std::int64_t i = 0; i < count; ++i) to[i] = multiply_add(Acc(1), to[i], from[i]);
}

}  // namespace
}  // namespace tessera::cpu
