/* Groups whose sizes stand in arrays, from C99: results, what is left alone, and errors. */
#include <stdio.h>
#include <string.h>

#include "expect.h"
#include "tessera/tessera.h"

enum { kGroups = 3, kRows = 10, kN = 4, kK = 6, kUntouched = 77 };

/* Rows 1 to 3, none, and 4 to 8; rows 0 and 9 belong to no group. */
static const int64_t offsets[kGroups + 1] = {1, 4, 4, 9};
static const int32_t counts[kGroups] = {2, 0, 3};

static float tokens[kRows * kK];
static float weights[kGroups * kK * kN];
static float ups[kGroups * kK * kN];
static float out[kRows * kN];
static float gradient[kGroups * kK * kN];
static float bias[kGroups * kN];

static void fill(void) {
  int i;
  for (i = 0; i < kRows * kK; ++i) tokens[i] = (float)(i % 7 - 3);
  for (i = 0; i < kGroups * kK * kN; ++i) weights[i] = (float)(i % 5 - 2);
  for (i = 0; i < kGroups * kK * kN; ++i) ups[i] = (float)(i % 3 - 1);
  for (i = 0; i < kRows * kN; ++i) out[i] = kUntouched;
  for (i = 0; i < kGroups * kK * kN; ++i) gradient[i] = kUntouched;
  for (i = 0; i < kGroups * kN; ++i) bias[i] = (float)(i + 1);
}

static float product(int row, int group, int col, const float* b) {
  float sum = 0;
  int l;
  for (l = 0; l < kK; ++l) sum += tokens[row * kK + l] * b[(group * kK + l) * kN + col];
  return sum;
}

/* The group of a row, or −1. */
static int group_of(int row) {
  int g;
  for (g = 0; g < kGroups; ++g) {
    if (offsets[g] <= row && row < offsets[g + 1]) return g;
  }
  return -1;
}

static tessera_const_batch stack(const float* data) {
  tessera_const_batch batch = {data, kGroups, kK, kN, kK * kN, kN, 1, TESSERA_F32};
  return batch;
}

static tessera_ragged_rows ragged_rows(void) {
  tessera_ragged_rows rows;
  const tessera_const_matrix a = {tokens, kRows, kK, kK, 1, TESSERA_F32};
  const tessera_matrix c = {out, kRows, kN, kN, 1, TESSERA_F32};
  const tessera_const_matrix biases = {bias, kGroups, kN, kN, 1, TESSERA_F32};
  const tessera_indices at = {offsets, kGroups + 1, TESSERA_INDEX_I64};
  rows.a = a;
  rows.offsets = at;
  rows.b = stack(weights);
  rows.c = c;
  rows.bias = biases;
  return rows;
}

static void test_rows(void) {
  const tessera_ragged_rows rows = ragged_rows();
  const tessera_epilogue epilogue = {TESSERA_BIAS_COLUMN, TESSERA_RELU};
  int row, col;
  fill();
  EXPECT(tessera_ragged_rows_gemm(2, &rows, 0, &epilogue, NULL) == TESSERA_OK);
  for (row = 0; row < kRows; ++row) {
    const int g = group_of(row);
    for (col = 0; col < kN; ++col) {
      float sum = kUntouched;
      if (g >= 0) sum = 2 * product(row, g, col, weights) + bias[g * kN + col];
      if (g >= 0 && sum < 0) sum = 0;
      EXPECT(out[row * kN + col] == sum);
    }
  }
}

static void test_gated(void) {
  const tessera_ragged_rows rows = ragged_rows();
  const tessera_const_batch up = stack(ups);
  int row, col;
  fill();
  EXPECT(tessera_gated_rows_gemm(&rows, &up, TESSERA_RELU, NULL) == TESSERA_OK);
  for (row = 0; row < kRows; ++row) {
    const int g = group_of(row);
    for (col = 0; col < kN; ++col) {
      const float gate = g >= 0 ? product(row, g, col, weights) : 0;
      const float sum = g >= 0 ? (gate > 0 ? gate : 0) * product(row, g, col, ups) : kUntouched;
      EXPECT(out[row * kN + col] == sum);
    }
  }
}

static void test_masked(void) {
  tessera_masked_rows masked;
  const tessera_const_batch a = {tokens, kGroups, 3, kK, 3 * kK, kK, 1, TESSERA_F32};
  const tessera_batch c = {out, kGroups, 3, kN, 3 * kN, kN, 1, TESSERA_F32};
  const tessera_indices there = {counts, kGroups, TESSERA_INDEX_I32};
  int g, row, col;
  memset(&masked, 0, sizeof masked);
  masked.a = a;
  masked.counts = there;
  masked.b = stack(weights);
  masked.c = c;
  fill();
  EXPECT(tessera_masked_rows_gemm(1, &masked, 0, NULL, NULL) == TESSERA_OK);
  for (g = 0; g < kGroups; ++g) {
    for (row = 0; row < 3; ++row) {
      for (col = 0; col < kN; ++col) {
        const int at = g * 3 + row;
        const float sum = row < counts[g] ? product(at, g, col, weights) : kUntouched;
        EXPECT(out[at * kN + col] == sum);
      }
    }
  }
}

static void test_depth(void) {
  tessera_ragged_k depth;
  const tessera_const_matrix a = {tokens, kK, kRows, 1, kK, TESSERA_F32};
  const tessera_const_matrix b = {out, kRows, kN, kN, 1, TESSERA_F32};
  const tessera_batch c = {gradient, kGroups, kK, kN, kK * kN, kN, 1, TESSERA_F32};
  const tessera_indices at = {offsets, kGroups + 1, TESSERA_INDEX_I64};
  int g, row, col;
  int64_t l;
  memset(&depth, 0, sizeof depth);
  depth.a = a;
  depth.b = b;
  depth.offsets = at;
  depth.c = c;
  fill();
  EXPECT(tessera_ragged_k_gemm(1, &depth, 0, NULL, NULL) == TESSERA_OK);
  for (g = 0; g < kGroups; ++g) {
    for (row = 0; row < kK; ++row) {
      for (col = 0; col < kN; ++col) {
        float sum = 0;
        for (l = offsets[g]; l < offsets[g + 1]; ++l) {
          sum += tokens[l * kK + row] * out[l * kN + col];
        }
        EXPECT(gradient[(g * kK + row) * kN + col] == sum);
      }
    }
  }
}

/* The same groups, by their addresses. */
static void test_array(void) {
  tessera_pointer_array array;
  const void* a[kGroups];
  const void* b[kGroups];
  void* c[kGroups];
  int32_t m[kGroups], n[kGroups], k[kGroups], lda[kGroups], ldb[kGroups];
  const tessera_type f32 = TESSERA_F32;
  int g, row, col;
  fill();
  memset(&array, 0, sizeof array);
  for (g = 0; g < kGroups; ++g) {
    a[g] = tokens + offsets[g] * kK;
    b[g] = weights + g * kK * kN;
    c[g] = out + offsets[g] * kN;
    m[g] = (int32_t)(offsets[g + 1] - offsets[g]);
    n[g] = ldb[g] = kN;
    k[g] = lda[g] = kK;
  }
  array.groups = kGroups;
  array.type_a = array.type_b = array.type_c = f32;
  array.a = a;
  array.b = b;
  array.c = c;
  array.m.size = array.n.size = array.k.size = kGroups;
  array.lda.size = array.ldb.size = array.ldc.size = kGroups;
  array.m.data = m;
  array.n.data = n;
  array.k.data = k;
  array.lda.data = lda;
  array.ldb.data = array.ldc.data = ldb;
  EXPECT(tessera_pointer_array_gemm(1, &array, 0, NULL, NULL) == TESSERA_OK);
  for (row = 0; row < kRows; ++row) {
    const int group = group_of(row);
    for (col = 0; col < kN; ++col) {
      EXPECT(out[row * kN + col] ==
             (group < 0 ? kUntouched : product(row, group, col, weights)));
    }
  }
  c[2] = (char*)c[2] + 2;
  EXPECT(tessera_pointer_array_gemm(1, &array, 0, NULL, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "C of group 2: must be aligned") != NULL);
  array.bound_m = 4;
  EXPECT(tessera_pointer_array_gemm(1, &array, 0, NULL, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_pointer_array_gemm(1, NULL, 0, NULL, NULL) == TESSERA_INVALID_ARGUMENT);
}

static void test_errors(void) {
  tessera_ragged_rows rows = ragged_rows();
  tessera_run_options options;
  const tessera_const_batch up = stack(ups);
  fill();
  EXPECT(tessera_ragged_rows_gemm(1, NULL, 0, NULL, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_gated_rows_gemm(&rows, NULL, TESSERA_SILU, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_gated_rows_gemm(&rows, &up, (tessera_activation)9, NULL) ==
         TESSERA_INVALID_ARGUMENT);
  rows.offsets.type = (tessera_index_type)7;
  EXPECT(tessera_ragged_rows_gemm(1, &rows, 0, NULL, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "offsets' type") != NULL);
  rows.offsets.type = TESSERA_INDEX_I64;
  rows.offsets.size = 2;
  EXPECT(tessera_ragged_rows_gemm(1, &rows, 0, NULL, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "have 4 numbers") != NULL);
  rows.offsets.size = kGroups + 1;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.gpu = 1001; /* more devices than a machine has */
  EXPECT(tessera_ragged_rows_gemm(1, &rows, 0, NULL, &options) == TESSERA_UNSUPPORTED);
  EXPECT(out[kN] == kUntouched);
}

int main(void) {
  test_rows();
  test_gated();
  test_masked();
  test_depth();
  test_array();
  test_errors();
  if (failures == 0) puts("ragged calls: all right");
  return failures == 0 ? 0 : 1;
}
