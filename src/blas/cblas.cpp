// The C doors: cblas_sgemm, cblas_dgemm, cblas_sbgemm (bf16 · bf16 → f32) and cblas_sgemm_batch.
// A row-major product is computed as the column-major product of the transposes.
#include <cstddef>
#include <new>
#include <vector>

#include "blas/product.hpp"
#include "blas/report.hpp"
#include "tessera/export.hpp"

// The values that every cblas.h gives these. As plain integers, because they may hold anything.
using CBLAS_ORDER = int;
using CBLAS_TRANSPOSE = int;

namespace tessera::blas {
namespace {

constexpr CBLAS_ORDER kRowMajor = 101;
constexpr CBLAS_ORDER kColumnMajor = 102;
constexpr CBLAS_TRANSPOSE kKeep = 111;
constexpr CBLAS_TRANSPOSE kTranspose = 112;
constexpr CBLAS_TRANSPOSE kConjugateTranspose = 113;

bool is_transpose(CBLAS_TRANSPOSE trans) {
  return trans == kTranspose || trans == kConjugateTranspose;
}
bool is_known(CBLAS_TRANSPOSE trans) {
  return trans == kKeep || is_transpose(trans);
}

// The caller's product, still without its transposition flags: a row-major one is the column-major
// product of the transposes.
template <class In, class Out>
Product product_of(CBLAS_ORDER order, int m, int n, int k, Out alpha, const In* a, int lda,
                   const In* b, int ldb, Out beta, Out* c, int ldc) {
  constexpr GemmTypes kTypes{element_type_of<In>, element_type_of<In>, element_type_of<Out>};
  alpha = alpha_in_effect(alpha, k);
  if (order == kRowMajor) {
    return {false, false, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc, kTypes};
  }
  return {false, false, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, kTypes};
}

// Whether the arguments are right; otherwise the first wrong one has been reported. Sets the
// transposition flags of what product_of made of the others.
bool complete(const char* routine, CBLAS_ORDER order, CBLAS_TRANSPOSE transa,
              CBLAS_TRANSPOSE transb, Product& product) {
  const bool row_major = order == kRowMajor;
  if (!row_major && order != kColumnMajor) {
    report_to_cblas_xerbla(routine, 1, false, "Illegal layout setting, %d\n", order);
    return false;
  }
  if (!is_known(transa)) {
    report_to_cblas_xerbla(routine, 2, row_major, "Illegal TransA setting, %d\n", transa);
    return false;
  }
  if (!is_known(transb)) {
    report_to_cblas_xerbla(routine, 3, row_major, "Illegal TransB setting, %d\n", transb);
    return false;
  }
  product.transpose_a = is_transpose(row_major ? transb : transa);
  product.transpose_b = is_transpose(row_major ? transa : transb);
  const int wrong = first_wrong_argument(product);
  if (wrong != 0) {
    report_to_cblas_xerbla(routine, wrong + 1, row_major, "", 0);
    return false;
  }
  return true;
}

template <class In, class Out>
void gemm_door(const char* routine, CBLAS_ORDER order, CBLAS_TRANSPOSE transa,
               CBLAS_TRANSPOSE transb, int m, int n, int k, Out alpha, const In* a, int lda,
               const In* b, int ldb, Out beta, Out* c, int ldc) {
  Product product = product_of(order, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (complete(routine, order, transa, transb, product)) multiply(product);
}

// Computes all products of all groups, neighbours with the same alpha and beta in one schedule.
template <class ProductAt>
void multiply_in_runs(int group_count, const int* group_size, const ProductAt& product_at) {
  std::size_t total = 0;
  for (int g = 0; g < group_count; ++g) total += static_cast<std::size_t>(group_size[g]);
  std::vector<Product> run;
  bool one_by_one = false;
  try {
    run.reserve(total);
  } catch (const std::bad_alloc&) {
    one_by_one = true;
  }
  std::size_t index = 0;
  for (int g = 0; g < group_count; ++g) {
    for (int i = 0; i < group_size[g]; ++i, ++index) {
      const Product product = product_at(g, index);
      if (one_by_one) {
        multiply(product);
        continue;
      }
      if (!run.empty() &&
          (run.front().alpha != product.alpha || run.front().beta != product.beta)) {
        multiply(run);
        run.clear();
      }
      run.push_back(product);
    }
  }
  if (!run.empty()) multiply(run);
}

}  // namespace
}  // namespace tessera::blas

extern "C" {

TESSERA_API void cblas_sgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb,
                             int m, int n, int k, float alpha, const float* a, int lda,
                             const float* b, int ldb, float beta, float* c, int ldc) {
  tessera::blas::gemm_door("cblas_sgemm", order, transa, transb, m, n, k, alpha, a, lda, b, ldb,
                           beta, c, ldc);
}

TESSERA_API void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb,
                             int m, int n, int k, double alpha, const double* a, int lda,
                             const double* b, int ldb, double beta, double* c, int ldc) {
  tessera::blas::gemm_door("cblas_dgemm", order, transa, transb, m, n, k, alpha, a, lda, b, ldb,
                           beta, c, ldc);
}

TESSERA_API void cblas_sbgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb,
                              int m, int n, int k, float alpha, const tessera::bf16* a, int lda,
                              const tessera::bf16* b, int ldb, float beta, float* c, int ldc) {
  tessera::blas::gemm_door("cblas_sbgemm", order, transa, transb, m, n, k, alpha, a, lda, b, ldb,
                           beta, c, ldc);
}

// Group g is group_size[g] products that share the arguments at index g; the pointers of all
// products stand one after another.
TESSERA_API void cblas_sgemm_batch(CBLAS_ORDER order, const CBLAS_TRANSPOSE* transa,
                                   const CBLAS_TRANSPOSE* transb, const int* m, const int* n,
                                   const int* k, const float* alpha, const float** a,
                                   const int* lda, const float** b, const int* ldb,
                                   const float* beta, float** c, const int* ldc, int group_count,
                                   const int* group_size) {
  using namespace tessera::blas;
  const char* const routine = "cblas_sgemm_batch";
  if (group_count < 0) {
    report_to_cblas_xerbla(routine, 15, false, "Illegal group_count, %d\n", group_count);
    return;
  }
  // Every group is checked before the first is computed.
  for (int g = 0; g < group_count; ++g) {
    if (group_size[g] < 0) {
      report_to_cblas_xerbla(routine, 16, false, "Illegal group_size, %d\n", group_size[g]);
      return;
    }
    Product product = product_of<float, float>(order, m[g], n[g], k[g], alpha[g], nullptr, lda[g],
                                               nullptr, ldb[g], beta[g], nullptr, ldc[g]);
    if (!complete(routine, order, transa[g], transb[g], product)) return;
  }
  const auto product_at = [&](int g, std::size_t index) {
    Product product = product_of(order, m[g], n[g], k[g], alpha[g], a[index], lda[g], b[index],
                                 ldb[g], beta[g], c[index], ldc[g]);
    complete(routine, order, transa[g], transb[g], product);
    return product;
  };
  multiply_in_runs(group_count, group_size, product_at);
}

}  // extern "C"
