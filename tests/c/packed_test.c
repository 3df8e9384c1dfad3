/* Weights that are packed ahead, as C programs use them: in one call, in groups, and by plans. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"
#include "tessera/tessera.h"

enum { kM = 9, kN = 70, kK = 130 };

static float a[kM * kK];
static float b[kK * kN];
static float c[kM * kN];
static float bias[kN];

static void fill_inputs(void) {
  int i;
  for (i = 0; i < kM * kK; ++i) a[i] = (float)(i % 7 - 3);
  for (i = 0; i < kK * kN; ++i) b[i] = (float)(i % 5 - 2);
  for (i = 0; i < kN; ++i) bias[i] = (float)(i % 3);
}

static void spoil(float* values, int count) {
  int i;
  for (i = 0; i < count; ++i) values[i] = NAN;
}

/* Small whole numbers: the product is exact. Of `rows` rows from row `first` on. */
static int is_right(int first, int rows, int with_bias) {
  int i, j, l;
  for (i = 0; i < rows; ++i) {
    for (j = 0; j < kN; ++j) {
      float sum = with_bias ? bias[j] : 0;
      for (l = 0; l < kK; ++l) {
        /* What was in B when it was packed. */
        sum += a[(first + i) * kK + l] * (float)((l * kN + j) % 5 - 2);
      }
      if (c[(first + i) * kN + j] != sum) return 0;
    }
  }
  return 1;
}

static tessera_const_matrix dense(const float* data, int rows, int cols) {
  tessera_const_matrix m = {NULL, 0, 0, 0, 1, TESSERA_F32};
  m.data = data;
  m.rows = rows;
  m.cols = cols;
  m.row_stride = cols;
  return m;
}

static tessera_const_matrix matrix_a(int first, int rows) {
  return dense(a + first * kK, rows, kK);
}

static tessera_const_matrix matrix_b(void) {
  return dense(b, kK, kN);
}

static tessera_matrix matrix_c(int first, int rows) {
  tessera_matrix m = {NULL, 0, 0, 0, 1, TESSERA_F32};
  m.data = c + first * kN;
  m.rows = rows;
  m.cols = kN;
  m.row_stride = kN;
  return m;
}

/* B's memory is someone else's afterwards. */
static tessera_packed* packed_weights(void) {
  tessera_packed* packed = NULL;
  fill_inputs();
  EXPECT(tessera_pack_b(matrix_b(), kM, TESSERA_F32, &packed) == TESSERA_OK);
  spoil(b, kK * kN);
  return packed;
}

static void test_gemm(void) {
  tessera_packed* packed = packed_weights();
  const tessera_const_matrix view = tessera_packed_view(packed);
  size_t bytes = 0;
  int rows;
  EXPECT(view.rows == kK && view.cols == kN && view.type == TESSERA_F32);
  EXPECT(view.row_stride == TESSERA_PACKED && view.col_stride == TESSERA_PACKED + 1);
  EXPECT(tessera_packed_bytes(packed, &bytes) == TESSERA_OK && bytes >= sizeof b);
  for (rows = 1; rows <= kM; rows += 4) {
    spoil(c, kM * kN);
    EXPECT(tessera_gemm(1, matrix_a(0, rows), view, 0, matrix_c(0, rows), NULL) == TESSERA_OK);
    EXPECT(is_right(0, rows, 0));
  }
  tessera_packed_destroy(packed);
  tessera_packed_destroy(NULL);
}

/* One packing for products of several sizes, with an epilogue. */
static void test_groups(void) {
  tessera_packed* packed = packed_weights();
  tessera_epilogue epilogue = {TESSERA_BIAS_COLUMN, TESSERA_ACTIVATION_NONE};
  tessera_operands groups[2];
  int g;
  memset(groups, 0, sizeof groups);
  for (g = 0; g < 2; ++g) {
    const int first = g == 0 ? 0 : 2, rows = g == 0 ? 2 : kM - 2;
    groups[g].a = matrix_a(first, rows);
    groups[g].b = tessera_packed_view(packed);
    groups[g].c = matrix_c(first, rows);
    groups[g].bias.data = bias;
    groups[g].bias.size = kN;
    groups[g].bias.stride = 1;
    groups[g].bias.type = TESSERA_F32;
  }
  spoil(c, kM * kN);
  EXPECT(tessera_grouped_gemm(1, groups, 2, 0, &epilogue, NULL) == TESSERA_OK);
  EXPECT(is_right(0, kM, 1));
  tessera_packed_destroy(packed);
}

/* A plan for a packed B, and a B packed for a plan. */
static void test_plans(void) {
  tessera_packed* packed = packed_weights();
  tessera_packed* another = NULL;
  tessera_plan* plan = NULL;
  tessera_plan* plan_before = NULL;
  tessera_options* options = NULL;
  tessera_operands o;
  memset(&o, 0, sizeof o);
  o.a = matrix_a(0, kM);
  o.b = tessera_packed_view(packed);
  o.c = matrix_c(0, kM);
  EXPECT(tessera_plan_create(&o, 1, 1, 0, NULL, NULL, NULL, &plan) == TESSERA_OK);
  spoil(c, kM * kN);
  EXPECT(tessera_plan_run(plan, &o, 1, NULL) == TESSERA_OK);
  EXPECT(is_right(0, kM, 0));

  fill_inputs();
  o.b = matrix_b();
  EXPECT(tessera_options_create(&options) == TESSERA_OK);
  EXPECT(tessera_options_set(options, "tile", "16x32x40") == TESSERA_OK);
  EXPECT(tessera_options_set(options, "packed_b", "perhaps") == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_options_set(options, "packed_b", "true") == TESSERA_OK);
  EXPECT(tessera_plan_create(&o, 1, 1, 0, NULL, NULL, options, &plan_before) == TESSERA_OK);
  EXPECT(tessera_plan_pack_b(plan_before, o.b, &another) == TESSERA_OK);
  spoil(b, kK * kN);
  o.b = tessera_packed_view(another);
  spoil(c, kM * kN);
  EXPECT(tessera_plan_run(plan_before, &o, 1, NULL) == TESSERA_OK);
  EXPECT(is_right(0, kM, 0));
  /* Packed in steps of another depth. */
  EXPECT(tessera_plan_run(plan, &o, 1, NULL) == TESSERA_INVALID_ARGUMENT);

  tessera_plan_destroy(plan);
  tessera_plan_destroy(plan_before);
  tessera_options_destroy(options);
  tessera_packed_destroy(packed);
  tessera_packed_destroy(another);
}

/* u8·i8, of a B whose columns are dense. */
static void test_unsigned(void) {
  enum { kRows = 3, kCols = 5, kDepth = 37 };
  static unsigned char left[kRows * kDepth];
  static signed char right[kDepth * kCols];
  static int32_t result[kRows * kCols];
  const tessera_const_matrix a_view = {left, kRows, kDepth, kDepth, 1, TESSERA_U8};
  const tessera_const_matrix b_view = {right, kDepth, kCols, 1, kDepth, TESSERA_I8};
  const tessera_matrix c_view = {result, kRows, kCols, kCols, 1, TESSERA_I32};
  tessera_packed* packed = NULL;
  int i, j, l;
  for (i = 0; i < kRows * kDepth; ++i) left[i] = (unsigned char)(i * 37 % 256);
  for (i = 0; i < kDepth * kCols; ++i) right[i] = (signed char)(i * 29 % 255 - 127);
  for (i = 0; i < kRows * kCols; ++i) result[i] = -1;
  EXPECT(tessera_pack_b(b_view, kRows, TESSERA_U8, &packed) == TESSERA_OK);
  EXPECT(tessera_gemm(1, a_view, tessera_packed_view(packed), 0, c_view, NULL) == TESSERA_OK);
  for (i = 0; i < kRows; ++i) {
    for (j = 0; j < kCols; ++j) {
      int32_t sum = 0;
      for (l = 0; l < kDepth; ++l) sum += left[i * kDepth + l] * right[j * kDepth + l];
      EXPECT(result[i * kCols + j] == sum);
    }
  }
  tessera_packed_destroy(packed);
}

static tessera_packed* packed_in_steps(const char* tile) {
  tessera_packed* packed = NULL;
  tessera_plan* plan = NULL;
  tessera_options* options = NULL;
  tessera_operands o;
  memset(&o, 0, sizeof o);
  o.a = matrix_a(0, kM);
  o.b = matrix_b();
  o.c = matrix_c(0, kM);
  EXPECT(tessera_options_create(&options) == TESSERA_OK);
  EXPECT(tessera_options_set(options, "tile", tile) == TESSERA_OK);
  EXPECT(tessera_plan_create(&o, 1, 1, 0, NULL, NULL, options, &plan) == TESSERA_OK);
  EXPECT(tessera_plan_pack_b(plan, o.b, &packed) == TESSERA_OK);
  tessera_plan_destroy(plan);
  tessera_options_destroy(options);
  return packed;
}

static void test_packings_must_agree(void) {
  tessera_packed* packed[2];
  tessera_plan* plan = NULL;
  tessera_operands groups[2];
  int g;
  fill_inputs();
  memset(groups, 0, sizeof groups);
  for (g = 0; g < 2; ++g) {
    packed[g] = packed_in_steps(g == 0 ? "16x32x40" : "16x32x8");
    groups[g].a = matrix_a(g, 1);
    groups[g].b = tessera_packed_view(packed[g]);
    groups[g].c = matrix_c(g, 1);
  }
  EXPECT(tessera_plan_create(groups, 2, 1, 0, NULL, NULL, NULL, &plan) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "packed B of group 1: must be packed as the others") != NULL);
  for (g = 0; g < 2; ++g) tessera_packed_destroy(packed[g]);
}

/* A square one shows no mistake by its sizes. */
static void test_transposed_views_are_refused(void) {
  tessera_packed* packed = NULL;
  tessera_const_matrix square = matrix_b();
  int64_t row_stride;
  fill_inputs();
  square.rows = kN;
  EXPECT(tessera_pack_b(square, kM, TESSERA_F32, &packed) == TESSERA_OK);
  square = tessera_packed_view(packed);
  row_stride = square.row_stride;
  square.row_stride = square.col_stride;
  square.col_stride = row_stride;
  {
    tessera_const_matrix left = matrix_a(0, kM);
    left.cols = kN;
    EXPECT(tessera_gemm(1, left, square, 0, matrix_c(0, kM), NULL) == TESSERA_INVALID_ARGUMENT);
  }
  EXPECT(strstr(tessera_last_error(), "given one that is packed, transposed") != NULL);
  tessera_packed_destroy(packed);
}

static void test_errors(void) {
  tessera_packed* packed = packed_weights();
  tessera_packed* none = NULL;
  tessera_const_matrix wrong = tessera_packed_view(packed);
  tessera_run_options on_gpu;
  size_t bytes = 0;
  EXPECT(tessera_pack_b(matrix_b(), 0, TESSERA_F32, &none) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "rows: must be from 1 to") != NULL);
  EXPECT(tessera_pack_b(matrix_b(), kM, TESSERA_F64, &none) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "B: must be of type f64 where A is of f64") != NULL);
  EXPECT(tessera_pack_b(matrix_b(), kM, (tessera_type)99, &none) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "A's type: ") != NULL);
  EXPECT(tessera_pack_b(matrix_b(), kM, TESSERA_F32, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_pack_b(wrong, kM, TESSERA_F32, &none) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "B: must be a matrix in memory") != NULL);
  wrong = matrix_b();
  wrong.row_stride = -kN;
  EXPECT(tessera_pack_b(wrong, kM, TESSERA_F32, &none) == TESSERA_INVALID_ARGUMENT);
  wrong = matrix_b();
  wrong.data = NULL;
  EXPECT(tessera_pack_b(wrong, kM, TESSERA_F32, &none) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "B: must have elements to pack") != NULL);
  EXPECT(tessera_plan_pack_b(NULL, matrix_b(), &none) == TESSERA_INVALID_ARGUMENT);
  EXPECT(none == NULL);
  EXPECT(tessera_packed_bytes(NULL, &bytes) == TESSERA_INVALID_ARGUMENT);

  spoil(c, kM * kN);
  EXPECT(tessera_gemm(1, tessera_packed_view(packed), matrix_b(), 0, matrix_c(0, kM), NULL) ==
         TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "A: must be a matrix in memory") != NULL);
  wrong = tessera_packed_view(packed);
  wrong.cols -= 1;
  EXPECT(tessera_gemm(1, matrix_a(0, kM), wrong, 0, matrix_c(0, kM), NULL) ==
         TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_gemm(1, matrix_a(0, kM), tessera_packed_view(NULL), 0, matrix_c(0, kM), NULL) ==
         TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "B's data") != NULL);
  memset(&on_gpu, 0, sizeof on_gpu);
  on_gpu.struct_size = sizeof on_gpu;
  on_gpu.gpu = 1;
  EXPECT(tessera_gemm(1, matrix_a(0, kM), tessera_packed_view(packed), 0, matrix_c(0, kM),
                      &on_gpu) == TESSERA_UNSUPPORTED);
  EXPECT(isnan(c[0]));
  tessera_packed_destroy(packed);
}

int main(void) {
  test_gemm();
  test_groups();
  test_plans();
  test_unsigned();
  test_packings_must_agree();
  test_transposed_views_are_refused();
  test_errors();
  if (failures == 0) puts("packed weights do what tessera.h says");
  return failures == 0 ? 0 : 1;
}
