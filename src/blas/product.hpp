// A product in BLAS terms (column-major, with transposition flags), and what computes it. The doors
// in fortran.cpp and cblas.cpp check their arguments and end here; from here on it is
// tessera::gemm.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/problem.hpp"

namespace tessera::blas {

// op(A) is m×k, op(B) is k×n, C is m×n, all column-major; op transposes where the flag says so.
struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double alpha = 1;
  const void* a = nullptr;
  std::int64_t lda = 1;
  const void* b = nullptr;
  std::int64_t ldb = 1;
  double beta = 0;
  void* c = nullptr;
  std::int64_t ldc = 1;
  GemmTypes types;
};

// An empty sum is 0, also times an alpha that is not finite: C ← beta · C.
template <class T>
T alpha_in_effect(T alpha, int k) {
  return k == 0 ? T(0) : alpha;
}

// The position, as sgemm counts its arguments from 1, of the first that breaks a rule of the BLAS
// standard; 0 where all are right. Transposition flags (1 and 2) have been checked.
int first_wrong_argument(const Product& product);

// C ← alpha · op(A) · op(B) + beta · C. BLAS has no way to report a failure, so where tessera
// refuses (no memory, matrices that overlap or are not aligned), plain loops compute the result.
void multiply(const Product& product) noexcept;

// Products that share their types, alpha and beta.
void multiply(std::span<const Product> products) noexcept;

}  // namespace tessera::blas
