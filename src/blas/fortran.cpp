// The Fortran doors: sgemm_ and dgemm_. Every argument comes by reference; the lengths of the two
// strings, which a Fortran compiler passes behind the others, are not needed.
#include "blas/product.hpp"
#include "blas/report.hpp"
#include "tessera/export.hpp"

namespace tessera::blas {
namespace {

enum class Operation { keep, transpose, unknown };

Operation operation_of(char letter) {
  switch (letter) {
    case 'N':
    case 'n':
      return Operation::keep;
    case 'T':
    case 't':
    case 'C':
    case 'c':
      return Operation::transpose;
    default:
      return Operation::unknown;
  }
}

template <class T>
void gemm_door(const char* routine, const char* transa, const char* transb, const int* m,
               const int* n, const int* k, const T* alpha, const T* a, const int* lda, const T* b,
               const int* ldb, const T* beta, T* c, const int* ldc) {
  const Operation op_a = operation_of(*transa);
  const Operation op_b = operation_of(*transb);
  constexpr ElementType type = element_type_of<T>;
  const Product product{op_a == Operation::transpose,
                        op_b == Operation::transpose,
                        *m,
                        *n,
                        *k,
                        alpha_in_effect(*alpha, *k),
                        a,
                        *lda,
                        b,
                        *ldb,
                        *beta,
                        c,
                        *ldc,
                        {type, type, type}};
  const int wrong = op_a == Operation::unknown   ? 1
                    : op_b == Operation::unknown ? 2
                                                 : first_wrong_argument(product);
  if (wrong != 0) {
    report_to_xerbla(routine, wrong);
    return;
  }
  multiply(product);
}

}  // namespace
}  // namespace tessera::blas

extern "C" {

TESSERA_API void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                        const int* k, const float* alpha, const float* a, const int* lda,
                        const float* b, const int* ldb, const float* beta, float* c,
                        const int* ldc) {
  tessera::blas::gemm_door("SGEMM ", transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

TESSERA_API void dgemm_(const char* transa, const char* transb, const int* m, const int* n,
                        const int* k, const double* alpha, const double* a, const int* lda,
                        const double* b, const int* ldb, const double* beta, double* c,
                        const int* ldc) {
  tessera::blas::gemm_door("DGEMM ", transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // extern "C"
