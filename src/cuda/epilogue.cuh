// The arithmetic of the epilogue, one value at a time: activation(alpha·sum + beta·C + bias), and
// the conversions to and from the types of C and the bias. Both kernels decide for themselves how
// values travel between registers and memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/kernel_arguments.hpp"

namespace tessera::cuda {

// The type the epilogue computes in: wide enough that i32 products wrap only when stored.
template <class Accumulator>
struct EpilogueTypeOf {
  using type = Accumulator;
};
template <>
struct EpilogueTypeOf<std::int32_t> {
  using type = std::int64_t;
};
template <class Accumulator>
using EpilogueType = typename EpilogueTypeOf<Accumulator>::type;

template <class T>
__device__ inline T load_element(const void* data, std::int64_t index, ElementType type) {
  switch (type) {
    case ElementType::f64:
      return static_cast<T>(static_cast<const double*>(data)[index]);
    case ElementType::f32:
      return static_cast<T>(static_cast<const float*>(data)[index]);
    case ElementType::f16:
      return static_cast<T>(__half2float(static_cast<const __half*>(data)[index]));
    case ElementType::bf16:
      return static_cast<T>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]));
    case ElementType::i32:
      return static_cast<T>(static_cast<const std::int32_t*>(data)[index]);
    case ElementType::i8:
    case ElementType::u8:
      break;
  }
  return T(0);
}

template <class T>
__device__ inline void store_element(void* data, std::int64_t index, ElementType type, T value) {
  switch (type) {
    case ElementType::f64:
      static_cast<double*>(data)[index] = static_cast<double>(value);
      return;
    case ElementType::f32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      return;
    case ElementType::f16:
      static_cast<__half*>(data)[index] = __float2half_rn(static_cast<float>(value));
      return;
    case ElementType::bf16:
      static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(static_cast<float>(value));
      return;
    case ElementType::i32:
      static_cast<std::int32_t*>(data)[index] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
      return;
    case ElementType::i8:
    case ElementType::u8:
      return;
  }
}

// 1 / (1 + 2^x); in f32 by the special function unit: a few units in the last place off, and |x|
// times as many where the result is next to 0.
__device__ inline float falling_logistic(float x) {
  float power;
  float inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.F + power));
  return inverse;
}
__device__ inline double falling_logistic(double x) {
  return 1 / (1 + exp2(x));
}

// The same functions as core/activation.hpp.
template <class T>
__device__ inline T activate(Activation activation, T x) {
  if (activation == Activation::none) return x;
  if (activation == Activation::relu) return x < T(0) ? T(0) : x;
  if constexpr (static_cast<T>(0.5) != T(0)) {
    constexpr double kLog2E = 1.4426950408889634073599246810018921;
    constexpr double kOfGelu = -2 * kLog2E * 0.7978845608028653558798921198687637;
    switch (activation) {
      case Activation::gelu_tanh:
        // 1 + tanh(y) is 2 / (1 + e^(-2·y)).
        return x * falling_logistic(x * (T(kOfGelu) + T(kOfGelu * 0.044715) * x * x));
      case Activation::gelu_erf:
        return T(0.5) * x * (T(1) + erf(T(0.7071067811865475244008443621048490) * x));
      case Activation::silu:
        return x * falling_logistic(T(-kLog2E) * x);
      default:
        break;
    }
  }
  return x;
}

// The scalars of the epilogue in its arithmetic type, and what has to be read.
template <class T>
struct EpilogueScalars {
  T alpha;
  T beta;
  bool reads_c;

  __device__ explicit EpilogueScalars(const EpilogueArguments& arguments)
      : alpha(static_cast<T>(arguments.alpha)),
        beta(static_cast<T>(arguments.beta)),
        reads_c(arguments.beta != 0) {}
};

// The bias of element (row, col) of C; where the product has none -0, which changes no sum, not
// even the sign of a zero.
template <class T>
__device__ inline T bias_at(const EpilogueArguments& epilogue, const GroupOperands& group,
                            std::int64_t row, std::int64_t col) {
  if (epilogue.bias == BiasAxis::none) return T(-0.0);
  const std::int64_t index = epilogue.bias == BiasAxis::row ? row : col;
  return load_element<T>(group.bias, index * group.bias_stride, epilogue.bias_type);
}

}  // namespace tessera::cuda
