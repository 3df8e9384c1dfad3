/* The C API, as a C99 program against the shared library: results, errors and their messages. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "tessera/tessera.h"

enum { kM = 5, kN = 7, kK = 11 };

static float a[kM * kK];
static float b[kK * kN];
static float c[kM * kN];
static float bias[kN];

static void fill(void) {
  int i;
  for (i = 0; i < kM * kK; ++i) a[i] = (float)(i % 7 - 3);
  for (i = 0; i < kK * kN; ++i) b[i] = (float)(i % 5 - 2);
  for (i = 0; i < kM * kN; ++i) c[i] = NAN;
  for (i = 0; i < kN; ++i) bias[i] = (float)(i + 1);
}

/* Small whole numbers: the product is exact. */
static int is_right(float alpha, int with_bias_and_relu) {
  int i, j, l;
  for (i = 0; i < kM; ++i) {
    for (j = 0; j < kN; ++j) {
      float sum = 0;
      for (l = 0; l < kK; ++l) sum += a[i * kK + l] * b[l * kN + j];
      sum *= alpha;
      if (with_bias_and_relu) sum = sum + bias[j] > 0 ? sum + bias[j] : 0;
      if (c[i * kN + j] != sum) return 0;
    }
  }
  return 1;
}

static tessera_operands operands(void) {
  tessera_operands o;
  memset(&o, 0, sizeof o);
  o.a.data = a;
  o.a.rows = kM;
  o.a.cols = kK;
  o.a.row_stride = kK;
  o.a.col_stride = 1;
  o.a.type = TESSERA_F32;
  o.b.data = b;
  o.b.rows = kK;
  o.b.cols = kN;
  o.b.row_stride = kN;
  o.b.col_stride = 1;
  o.b.type = TESSERA_F32;
  o.c.data = c;
  o.c.rows = kM;
  o.c.cols = kN;
  o.c.row_stride = kN;
  o.c.col_stride = 1;
  o.c.type = TESSERA_F32;
  o.bias.data = bias;
  o.bias.size = kN;
  o.bias.stride = 1;
  o.bias.type = TESSERA_F32;
  return o;
}

static void test_versions(void) {
  char text[32];
  const int number = tessera_version_number();
  EXPECT(number == TESSERA_VERSION_NUMBER);
  snprintf(text, sizeof text, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
  EXPECT(strcmp(text, tessera_version()) == 0);
  EXPECT(strcmp(tessera_status_name(TESSERA_UNSUPPORTED), "unsupported") == 0);
}

static void test_gemm(void) {
  const tessera_operands o = operands();
  tessera_run_options options;
  fill();
  EXPECT(tessera_gemm(2, o.a, o.b, 0, o.c, NULL) == TESSERA_OK);
  EXPECT(is_right(2, 0));

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.threads = 2;
  fill();
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, &options) == TESSERA_OK);
  EXPECT(is_right(1, 0));

  options.struct_size = 0;
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, &options) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "struct_size") != NULL);

  options.struct_size = sizeof options;
  options.gpu = INT_MIN;
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, &options) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "options.gpu") != NULL);
}

static void test_grouped_gemm(void) {
  const tessera_operands o = operands();
  tessera_epilogue epilogue;
  epilogue.bias = TESSERA_BIAS_COLUMN;
  epilogue.activation = TESSERA_RELU;
  fill();
  EXPECT(tessera_grouped_gemm(1, &o, 1, 0, &epilogue, NULL) == TESSERA_OK);
  EXPECT(is_right(1, 1));
  EXPECT(tessera_grouped_gemm(1, NULL, 0, 0, NULL, NULL) == TESSERA_OK);
  EXPECT(tessera_grouped_gemm(1, NULL, 1, 0, NULL, NULL) == TESSERA_INVALID_ARGUMENT);
}

static void test_errors(void) {
  tessera_operands o = operands();
  fill();
  o.a.cols = kK - 1;
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "B: must") != NULL);
  EXPECT(isnan(c[0])); /* nothing was written */

  o = operands();
  o.c.type = (tessera_type)99;
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "99") != NULL);

  o = operands();
  o.a.data = (const char*)o.a.data + 1;
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "A: must be aligned") != NULL);
  o = operands();
  o.c.data = (char*)o.c.data + 2;
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "C: must be aligned") != NULL);
  EXPECT(isnan(c[0]));
}

static void test_machines(void) {
  tessera_machine* machine = NULL;
  tessera_machine* copy = NULL;
  size_t needed = 0;
  char* json;
  EXPECT(tessera_machine_by_name("no such machine", &machine) == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "h200") != NULL);
  EXPECT(machine == NULL);
  EXPECT(tessera_machine_device(tessera_device_count(), &machine) == TESSERA_UNSUPPORTED);
  EXPECT(tessera_machine_by_name("h200", NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_machine_by_name("h200", &machine) == TESSERA_OK);

  EXPECT(tessera_machine_to_json(machine, NULL, 0, &needed) == TESSERA_OK);
  json = malloc(needed);
  EXPECT(tessera_machine_to_json(machine, json, needed - 1, NULL) == TESSERA_OUT_OF_MEMORY);
  EXPECT(tessera_machine_to_json(machine, json, needed, NULL) == TESSERA_OK);
  EXPECT(strlen(json) + 1 == needed);
  EXPECT(tessera_machine_from_json(json, &copy) == TESSERA_OK);
  EXPECT(tessera_machine_from_json("{}", &copy) == TESSERA_IO);
  free(json);
  tessera_machine_destroy(machine);
  tessera_machine_destroy(copy);
  tessera_machine_destroy(NULL);
}

static void test_plans(void) {
  const tessera_operands o = operands();
  tessera_options* options = NULL;
  tessera_plan* plan = NULL;
  tessera_plan* copy = NULL;
  tessera_run_options run;
  size_t bytes = 0;
  size_t needed = 0;
  char* json;
  int repeat;

  EXPECT(tessera_options_create(&options) == TESSERA_OK);
  EXPECT(tessera_options_set(options, "schedule", "stream_k") == TESSERA_OK);
  EXPECT(tessera_options_set(options, "workers", "3") == TESSERA_OK);
  EXPECT(tessera_options_set(options, "tile", "4x16x4") == TESSERA_OK);
  EXPECT(tessera_options_set(options, "workers", "many") == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_options_set(options, "colour", "red") == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "batch_invariant") != NULL);

  EXPECT(tessera_plan_create(&o, 1, 1, 0, NULL, NULL, options, &plan) == TESSERA_OK);
  EXPECT(tessera_plan_predicted_seconds(plan) > 0);
  EXPECT(tessera_plan_to_json(plan, NULL, 0, &needed) == TESSERA_OK);
  json = malloc(needed);
  EXPECT(tessera_plan_to_json(plan, json, needed, NULL) == TESSERA_OK);
  EXPECT(strstr(json, "stream_k") != NULL);
  EXPECT(tessera_plan_from_json(json, &copy) == TESSERA_OK);
  free(json);

  EXPECT(tessera_plan_workspace_bytes(copy, &bytes) == TESSERA_OK);
  memset(&run, 0, sizeof run);
  run.struct_size = sizeof run;
  run.workspace_size = bytes;
  run.workspace = malloc(bytes + 1); /* malloc(0) may be NULL */
  for (repeat = 0; repeat < 2; ++repeat) {
    fill();
    EXPECT(tessera_plan_run(copy, &o, 1, &run) == TESSERA_OK);
    EXPECT(is_right(1, 0));
  }
  free(run.workspace);
  fill();
  EXPECT(tessera_plan_run(plan, &o, 1, NULL) == TESSERA_OK);
  EXPECT(is_right(1, 0));
  EXPECT(tessera_plan_run(plan, &o, 0, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_plan_run(NULL, &o, 1, NULL) == TESSERA_INVALID_ARGUMENT);

  tessera_plan_destroy(plan);
  tessera_plan_destroy(copy);
  tessera_options_destroy(options);
}

static void count_lines(const char* line, void* user) {
  if (strstr(line, "5x7x11") != NULL) ++*(int*)user;
}

static void test_log(void) {
  const tessera_operands o = operands();
  int lines = 0;
  fill();
  EXPECT(tessera_set_log(count_lines, &lines) == TESSERA_OK);
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, NULL) == TESSERA_OK);
  EXPECT(lines == 1);
  EXPECT(tessera_set_log(NULL, NULL) == TESSERA_OK);
  EXPECT(tessera_gemm(1, o.a, o.b, 0, o.c, NULL) == TESSERA_OK);
  EXPECT(lines == 1);
}

int main(void) {
  EXPECT(strcmp(tessera_last_error(), "") == 0);
  test_versions();
  test_gemm();
  test_grouped_gemm();
  test_errors();
  test_machines();
  test_plans();
  test_log();
  if (failures == 0) puts("the C API does what tessera.h says");
  return failures == 0 ? 0 : 1;
}
