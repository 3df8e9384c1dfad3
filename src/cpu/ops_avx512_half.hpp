// Vectors of 256 bits beside those of ops_avx512.hpp, for the last columns of small products
// (small_kernel.hpp). Internal linkage; see pack.hpp.
#pragma once

#include "cpu/ops_avx512.hpp"
#include "cpu/small_kernel.hpp"

namespace tessera::cpu {
namespace {

struct HalfF32 {
  using Acc = float;
  using Vec = __m256;
  static constexpr int kLanes = 8;

  static __mmask8 mask(int columns) { return static_cast<__mmask8>((1u << columns) - 1); }
  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec set(Acc value) { return _mm256_set1_ps(value); }
  static Vec load(const Acc* from, __mmask8 mask) { return _mm256_maskz_loadu_ps(mask, from); }
  static Vec load_b(const float* from, __mmask8 mask) { return load(from, mask); }
  static Vec broadcast(const float* from) { return _mm256_set1_ps(*from); }
  static Vec narrow(Vec row) { return row; }
  static Vec narrow(__m512 row) { return _mm512_castps512_ps256(row); }
  static void store(Acc* to, Vec value) { _mm256_storeu_ps(to, value); }
  static void store(Acc* to, Vec value, __mmask8 mask) { _mm256_mask_storeu_ps(to, mask, value); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  static Vec multiply_add(Vec sum, Vec a, Vec b) { return _mm256_fmadd_ps(a, b, sum); }
  static Vec scale_add(Vec value, Vec factor, Vec c) { return _mm256_fmadd_ps(factor, c, value); }
};

struct HalfF64 {
  using Acc = double;
  using Vec = __m256d;
  static constexpr int kLanes = 4;

  static __mmask8 mask(int columns) { return static_cast<__mmask8>((1u << columns) - 1); }
  static Vec zero() { return _mm256_setzero_pd(); }
  static Vec set(Acc value) { return _mm256_set1_pd(value); }
  static Vec load(const Acc* from, __mmask8 mask) { return _mm256_maskz_loadu_pd(mask, from); }
  static Vec load_b(const double* from, __mmask8 mask) { return load(from, mask); }
  static Vec broadcast(const double* from) { return _mm256_set1_pd(*from); }
  static Vec narrow(Vec row) { return row; }
  static Vec narrow(__m512d row) { return _mm512_castpd512_pd256(row); }
  static void store(Acc* to, Vec value) { _mm256_storeu_pd(to, value); }
  static void store(Acc* to, Vec value, __mmask8 mask) { _mm256_mask_storeu_pd(to, mask, value); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mul_pd(a, b); }
  static Vec multiply_add(Vec sum, Vec a, Vec b) { return _mm256_fmadd_pd(a, b, sum); }
  static Vec scale_add(Vec value, Vec factor, Vec c) { return _mm256_fmadd_pd(factor, c, value); }
};

template <>
struct HalfOf<OpsF32> {
  using Type = HalfF32;
};
template <>
struct HalfOf<OpsF64> {
  using Type = HalfF64;
};

}  // namespace
}  // namespace tessera::cpu
