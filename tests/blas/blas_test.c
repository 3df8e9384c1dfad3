/* The BLAS doors, as a C program that has its own xerbla_ and cblas_xerbla: results in every
 * layout, error exits, batches, bf16, and products that tessera itself refuses. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRowMajor = 101, kColMajor = 102, kNoTrans = 111, kTrans = 112, kConjTrans = 113 };

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                 float*, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int,
                 double, double*, int);
void cblas_sbgemm(int, int, int, int, int, int, float, const uint16_t*, int, const uint16_t*, int,
                  float, float*, int);
void cblas_sgemm_batch(int, const int*, const int*, const int*, const int*, const int*,
                       const float*, const float**, const int*, const float**, const int*,
                       const float*, float**, const int*, int, const int*);

static int failures = 0;
static int reported = 0;
static char reporter[32] = "";

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

void xerbla_(const char* routine, const int* argument, size_t length) {
  reported = *argument;
  snprintf(reporter, sizeof reporter, "%.*s", (int)length, routine);
}

void cblas_xerbla(int argument, const char* routine, const char* form, ...) {
  (void)form;
  reported = argument;
  snprintf(reporter, sizeof reporter, "%s", routine);
}

/* An empty sum is 0, whatever it is multiplied by. */
static void test_an_empty_sum_forgets_alpha(void) {
  static const float kAlphas[] = {NAN, INFINITY};
  const int size = 2, none = 0;
  const float x[4] = {1, 1, 1, 1}, beta = 0.5f;
  int i;
  for (i = 0; i < 2; ++i) {
    float c[4] = {2, 4, 6, 8}, d[4] = {2, 4, 6, 8};
    sgemm_("N", "N", &size, &size, &none, &kAlphas[i], x, &size, x, &size, &beta, c, &size);
    cblas_sgemm(kRowMajor, kNoTrans, kNoTrans, 2, 2, 0, kAlphas[i], x, 2, x, 2, 0, d, 2);
    EXPECT(c[0] == 1 && c[1] == 2 && c[2] == 3 && c[3] == 4);
    EXPECT(d[0] == 0 && d[3] == 0);
  }
}

enum { kM = 17, kN = 9, kK = 13, kLeading = 20, kSize = kLeading * kLeading };

/* Whole numbers, so that every product is exact. */
static void fill(float* x, int seed) {
  int i;
  for (i = 0; i < kSize; ++i) x[i] = (float)((i * 7 + seed) % 11 - 5);
}

static float at(const float* x, int order, int row, int col) {
  return order == kRowMajor ? x[row * kLeading + col] : x[row + col * kLeading];
}

static void test_layouts(void) {
  static const int kOrders[] = {kRowMajor, kColMajor};
  static const int kOps[] = {kNoTrans, kTrans, kConjTrans};
  static float a[kSize], b[kSize], c[kSize], before[kSize];
  static const float kBetas[] = {0, 1, -0.5F};
  int o, p, q, r, i, j, l;
  for (o = 0; o < 2; ++o)
    for (p = 0; p < 3; ++p)
      for (q = 0; q < 3; ++q)
        for (r = 0; r < 3; ++r) {
          int wrong = 0;
          fill(a, 1);
          fill(b, 2);
          fill(c, 3);
          memcpy(before, c, sizeof c);
          if (kBetas[r] == 0) c[0] = NAN;
          cblas_sgemm(kOrders[o], kOps[p], kOps[q], kM, kN, kK, 2, a, kLeading, b, kLeading,
                      kBetas[r], c, kLeading);
          for (i = 0; i < kLeading; ++i)
            for (j = 0; j < kLeading; ++j) {
              float want = at(before, kOrders[o], i, j);
              if (i < kM && j < kN) {
                float sum = 0;
                for (l = 0; l < kK; ++l)
                  sum += (p == 0 ? at(a, kOrders[o], i, l) : at(a, kOrders[o], l, i)) *
                         (q == 0 ? at(b, kOrders[o], l, j) : at(b, kOrders[o], j, l));
                want = 2 * sum + (kBetas[r] == 0 ? 0 : kBetas[r] * want);
              }
              wrong += at(c, kOrders[o], i, j) != want;
            }
          EXPECT(wrong == 0);
        }
}

static void test_doubles(void) {
  const double a[] = {1, 2, 3, 4};
  const double b[] = {5, 6, 7, 8};
  double c[] = {1, 1, 1, 1};
  cblas_dgemm(kRowMajor, kNoTrans, kTrans, 2, 2, 2, 1, a, 2, b, 2, -1, c, 2);
  EXPECT(c[0] == 16 && c[1] == 22 && c[2] == 38 && c[3] == 52);
}

static uint16_t bf16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static void test_bf16(void) {
  const uint16_t a[] = {bf16_of(1), bf16_of(2), bf16_of(3), bf16_of(4)};
  const uint16_t b[] = {bf16_of(5), bf16_of(6), bf16_of(7), bf16_of(8)};
  float c[] = {1, 1, 1, 1};
  cblas_sbgemm(kRowMajor, kNoTrans, kTrans, 2, 2, 2, 1, a, 2, b, 2, -1, c, 2);
  EXPECT(c[0] == 16 && c[1] == 22 && c[2] == 38 && c[3] == 52);
}

static void test_batches(void) {
  /* Group 0: two products of 1×1×2 with beta 0; group 1: one of 2×1×1 with alpha −1 and beta 1. */
  const float a0[] = {1, 2}, a1[] = {3, 4}, a2[] = {5, 6};
  const float b0[] = {1, 1}, b1[] = {2, 1}, b2[] = {10};
  float c0[] = {NAN}, c1[] = {NAN}, c2[] = {100, 200};
  const float* as[] = {a0, a1, a2};
  const float* bs[] = {b0, b1, b2};
  float* cs[] = {c0, c1, c2};
  const int ops[] = {kNoTrans, kNoTrans};
  const int m[] = {1, 2}, n[] = {1, 1}, k[] = {2, 1};
  const int lda[] = {2, 1}, ldb[] = {1, 1}, ldc[] = {1, 1}, sizes[] = {2, 1};
  const float alpha[] = {1, -1}, beta[] = {0, 1};
  const int wrong_lda[] = {1, 1};
  cblas_sgemm_batch(kRowMajor, ops, ops, m, n, k, alpha, as, lda, bs, ldb, beta, cs, ldc, 2, sizes);
  EXPECT(c0[0] == 3 && c1[0] == 10 && c2[0] == 50 && c2[1] == 140);

  reported = 0;
  cblas_sgemm_batch(kRowMajor, ops, ops, m, n, k, alpha, as, wrong_lda, bs, ldb, beta, cs, ldc, 2,
                    sizes);
  EXPECT(reported == 9);
  EXPECT(c0[0] == 3 && c2[0] == 50); /* nothing was computed */
}

static void test_errors(void) {
  static float x[kSize], y[kSize], z[kSize];
  const float one = 1;
  const int four = 4, minus = -1, three = 3;
  reported = 0;
  sgemm_("X", "N", &four, &four, &four, &one, x, &four, y, &four, &one, z, &four);
  EXPECT(reported == 1 && strcmp(reporter, "SGEMM ") == 0);
  sgemm_("n", "?", &four, &four, &four, &one, x, &four, y, &four, &one, z, &four);
  EXPECT(reported == 2);
  sgemm_("n", "t", &four, &four, &minus, &one, x, &four, y, &four, &one, z, &four);
  EXPECT(reported == 5);
  sgemm_("c", "t", &four, &four, &four, &one, x, &four, y, &four, &one, z, &three);
  EXPECT(reported == 13);

  cblas_sgemm(7, kNoTrans, kNoTrans, 4, 4, 4, 1, x, 4, y, 4, 1, z, 4);
  EXPECT(reported == 1 && strcmp(reporter, "cblas_sgemm") == 0);
  cblas_sgemm(kRowMajor, kNoTrans, 7, 4, 4, 4, 1, x, 4, y, 4, 1, z, 4);
  EXPECT(reported == 3);
  /* By the position in the caller's own call: no netlib BLAS is loaded that counts otherwise. */
  cblas_sgemm(kRowMajor, kNoTrans, kNoTrans, -1, 4, 4, 1, x, 4, y, 4, 1, z, 4);
  EXPECT(reported == 4);
  cblas_sgemm(kRowMajor, kNoTrans, kNoTrans, 4, 4, 5, 1, x, 4, y, 4, 1, z, 4);
  EXPECT(reported == 9);
  cblas_sgemm(kColMajor, kNoTrans, kNoTrans, 5, 4, 4, 1, x, 4, y, 4, 1, z, 5);
  EXPECT(reported == 9);
}

/* C in the middle of A: the BLAS standard leaves the result open, but nothing may be reported. */
static void test_refused_products(void) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  double buffer[5] = {0};
  double* const unaligned = (double*)((char*)buffer + 4);
  const double two = 2;
  double c = 0;
  reported = 0;
  cblas_sgemm(kColMajor, kNoTrans, kNoTrans, 2, 2, 2, 1, x, 2, x + 4, 2, 0, x, 2);
  EXPECT(reported == 0);
  memcpy(unaligned, &two, sizeof two);
  cblas_dgemm(kColMajor, kNoTrans, kNoTrans, 1, 1, 1, 3, unaligned, 1, &two, 1, 0, &c, 1);
  EXPECT(c == 12);
}

static void test_quick_returns(void) {
  float c[] = {NAN, 2};
  cblas_sgemm(kColMajor, kNoTrans, kNoTrans, 0, 1, 1, 1, NULL, 1, NULL, 1, 0, c, 1);
  cblas_sgemm(kColMajor, kNoTrans, kNoTrans, 2, 1, 0, 1, NULL, 2, NULL, 1, 1, c, 2);
  EXPECT(isnan(c[0]) && c[1] == 2);
  cblas_sgemm(kColMajor, kNoTrans, kNoTrans, 2, 1, 0, 1, NULL, 2, NULL, 1, 0, c, 2);
  EXPECT(c[0] == 0 && c[1] == 0);
}

/* "Threads:" of /proc/self/status. */
static int threads_now(void) {
  char line[256];
  int threads = -1;
  FILE* const status = fopen("/proc/self/status", "r");
  if (status == NULL) return 1;
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "Threads: %d", &threads);
  fclose(status);
  return threads;
}

int main(void) {
  EXPECT(threads_now() <= MOST_THREADS); /* none at load */
  test_layouts();
  test_an_empty_sum_forgets_alpha();
  test_doubles();
  test_bf16();
  test_batches();
  test_errors();
  test_refused_products();
  test_quick_returns();
  EXPECT(threads_now() <= MOST_THREADS); /* none for small products */
  if (failures == 0) puts("the BLAS doors hold");
  return failures == 0 ? 0 : 1;
}
