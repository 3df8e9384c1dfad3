// Elements of any type as doubles, on the device. The tests' own, so that they do not judge the
// library by the library's conversions.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "tessera/element_type.hpp"

namespace tessera::test {

__device__ inline double load_scalar(const void* data, std::int64_t index, ElementType type) {
  switch (type) {
    case ElementType::f64:
      return static_cast<const double*>(data)[index];
    case ElementType::f32:
      return static_cast<const float*>(data)[index];
    case ElementType::f16:
      return __half2float(static_cast<const __half*>(data)[index]);
    case ElementType::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
    case ElementType::i8:
      return static_cast<const std::int8_t*>(data)[index];
    case ElementType::u8:
      return static_cast<const std::uint8_t*>(data)[index];
    case ElementType::i32:
      return static_cast<const std::int32_t*>(data)[index];
  }
  return 0;
}

__device__ inline void store_scalar(void* data, std::int64_t index, ElementType type,
                                    double value) {
  switch (type) {
    case ElementType::f64:
      static_cast<double*>(data)[index] = value;
      return;
    case ElementType::f32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      return;
    case ElementType::f16:
      static_cast<__half*>(data)[index] = __double2half(value);
      return;
    case ElementType::bf16:
      static_cast<__nv_bfloat16*>(data)[index] = __double2bfloat16(value);
      return;
    case ElementType::i8:
      static_cast<std::int8_t*>(data)[index] = static_cast<std::int8_t>(value);
      return;
    case ElementType::u8:
      static_cast<std::uint8_t*>(data)[index] = static_cast<std::uint8_t>(value);
      return;
    case ElementType::i32:
      static_cast<std::int32_t*>(data)[index] = static_cast<std::int32_t>(value);
      return;
  }
}

// A value as it reads after being stored once as `type`.
__device__ inline double rounded_to(ElementType type, double value) {
  double storage = 0;
  store_scalar(&storage, 0, type, value);
  return load_scalar(&storage, 0, type);
}

}  // namespace tessera::test
