/* Tessera's C API (C99). docs/c.md has a complete example.
 *
 * Every call that can fail returns a tessera_status; tessera_last_error() has the message, one per
 * thread. No exception crosses this interface, and nothing is written before an error is reported.
 * Handles are opaque; who receives one destroys it (destroying NULL does nothing). One handle may
 * be used by many threads at once, except tessera_options. Strides are in elements, never in bytes.
 * Structs that may grow begin with their own size: set struct_size = sizeof, zero the rest. */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include <stddef.h>
#include <stdint.h>

#ifndef TESSERA_API
#define TESSERA_API __attribute__((visibility("default")))
#endif

/* Of this header; tessera_version_number() is the library's. 10000 · major + 100 · minor + patch.
 */
#define TESSERA_VERSION_NUMBER 100

/* In C an enumeration can hold any number; in C++ it can only with a stated type. A caller's wrong
 * number must arrive, so that it can be refused. */
#ifdef __cplusplus
#define TESSERA_ENUM_TYPE : unsigned int
#else
#define TESSERA_ENUM_TYPE
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tessera_status TESSERA_ENUM_TYPE {
  TESSERA_OK = 0,
  TESSERA_INVALID_ARGUMENT = 1, /* an argument breaks its documented requirement */
  TESSERA_UNSUPPORTED = 2,      /* legal, but no kernel or device here can do it */
  TESSERA_OUT_OF_MEMORY = 3,    /* host or device memory, or the workspace, is too small */
  TESSERA_IO = 4,               /* a text cannot be understood */
  TESSERA_DEVICE = 5,           /* the CUDA driver or runtime reported a failure */
  TESSERA_INTERRUPTED = 6,
  TESSERA_INTERNAL = 7 /* a mistake of the library's own; please report it */
} tessera_status;

typedef enum tessera_type TESSERA_ENUM_TYPE {
  TESSERA_F64 = 0,
  TESSERA_F32 = 1,
  TESSERA_F16 = 2,
  TESSERA_BF16 = 3,
  TESSERA_I8 = 4,
  TESSERA_U8 = 5,
  TESSERA_I32 = 6
} tessera_type;

typedef enum tessera_bias_axis TESSERA_ENUM_TYPE {
  TESSERA_BIAS_NONE = 0,
  TESSERA_BIAS_ROW = 1,   /* one value per row of C */
  TESSERA_BIAS_COLUMN = 2 /* one value per column of C */
} tessera_bias_axis;

typedef enum tessera_activation TESSERA_ENUM_TYPE {
  TESSERA_ACTIVATION_NONE = 0,
  TESSERA_RELU = 1,
  TESSERA_GELU_TANH = 2,
  TESSERA_GELU_ERF = 3,
  TESSERA_SILU = 4
} tessera_activation;

/* The message of this thread's last call that failed; "" where none has. It says which argument is
 * at fault, what it must fulfil, what was given, and what to do. Valid until this thread's next
 * failing call. */
TESSERA_API const char* tessera_last_error(void);
/* "ok", "invalid_argument", ... */
TESSERA_API const char* tessera_status_name(tessera_status status);

/* "0.1.0" */
TESSERA_API const char* tessera_version(void);
TESSERA_API int tessera_version_number(void);

/* Element (i, j) is at data + i · row_stride + j · col_stride. Row-major: col_stride = 1;
 * column-major: row_stride = 1; transposing exchanges rows with cols and the two strides. */
typedef struct tessera_matrix {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  tessera_type type;
} tessera_matrix;

typedef struct tessera_const_matrix {
  const void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;
  tessera_type type;
} tessera_const_matrix;

/* Element i is at data + i · stride. */
typedef struct tessera_const_vector {
  const void* data;
  int64_t size;
  int64_t stride;
  tessera_type type;
} tessera_const_vector;

/* The data of one product: C (m×n) ← activation(alpha · A (m×k) · B (k×n) + beta · C + bias). C is
 * read only where beta ≠ 0 and must share no memory with the inputs. `bias` is read only where the
 * epilogue asks for one. */
typedef struct tessera_operands {
  tessera_const_matrix a;
  tessera_const_matrix b;
  tessera_matrix c;
  tessera_const_vector bias;
} tessera_operands;

typedef struct tessera_epilogue {
  tessera_bias_axis bias;
  tessera_activation activation;
} tessera_epilogue;

typedef struct tessera_run_options {
  size_t struct_size; /* sizeof(tessera_run_options) */
  int threads;        /* CPU: for this call, up to 4096, and planned for; 0: the cores. */
  int gpu;         /* tessera_gemm and tessera_grouped_gemm: 0 is the host; 1 + n is CUDA device n,
                      current for the thread, whose memory the operands lie in */
  void* stream;    /* GPU: a cudaStream_t; NULL is the legacy default stream. */
  void* workspace; /* tessera_plan_workspace_bytes() of the caller's memory. GPU: device memory,
                      zeroed before its first use, in use until the stream is done with the
                      call. NULL: the library keeps one. */
  size_t workspace_size; /* its bytes */
} tessera_run_options;

/* ---- Products, planned and run in one call ---- */

/* C ← alpha · A · B + beta · C. options = NULL takes the defaults. */
TESSERA_API tessera_status tessera_gemm(double alpha, tessera_const_matrix a,
                                        tessera_const_matrix b, double beta, tessera_matrix c,
                                        const tessera_run_options* options);

/* Many products of any sizes, with the same types, in one schedule. `epilogue` and `options` may be
 * NULL. */
TESSERA_API tessera_status tessera_grouped_gemm(double alpha, const tessera_operands* groups,
                                                size_t group_count, double beta,
                                                const tessera_epilogue* epilogue,
                                                const tessera_run_options* options);

/* ---- Groups whose sizes stand in arrays ---- */

/* Whole numbers, read when a call runs, where it runs: with options->gpu they lie in the device's
 * memory, the host never waits for them, and wrong ones are for tessera_check_sizes to tell. */
typedef enum tessera_index_type TESSERA_ENUM_TYPE {
  TESSERA_INDEX_I32 = 0,
  TESSERA_INDEX_I64 = 1
} tessera_index_type;

typedef struct tessera_indices {
  const void* data;
  int64_t size;
  tessera_index_type type;
} tessera_indices;

/* One matrix per group: element (g, i, j) is at data + g · group_stride + i · row_stride + j ·
 * col_stride. An input's group_stride may be 0: one matrix for all groups. */
typedef struct tessera_batch {
  void* data;
  int64_t groups;
  int64_t rows; /* of each matrix */
  int64_t cols;
  int64_t group_stride;
  int64_t row_stride;
  int64_t col_stride;
  tessera_type type;
} tessera_batch;

typedef struct tessera_const_batch {
  const void* data;
  int64_t groups;
  int64_t rows;
  int64_t cols;
  int64_t group_stride;
  int64_t row_stride;
  int64_t col_stride;
  tessera_type type;
} tessera_const_batch;

/* `offsets` of G groups: G + 1 numbers that never fall, where group g is [offsets[g], offsets[g +
 * 1]); or its G ends alone, where group 0 begins at 0. What lies outside all groups is not written,
 * and what it holds changes nothing. `bias` is read only where the epilogue asks for one: group g's
 * values are its row g. */

/* Rows sorted by group: C[rows of g] ← activation(alpha · A[rows of g] · B[g] + beta · C[rows of g]
 * + bias[g]). */
typedef struct tessera_ragged_rows {
  tessera_const_matrix a;    /* (T, K) */
  tessera_indices offsets;   /* into T */
  tessera_const_batch b;     /* (G, K, N) */
  tessera_matrix c;          /* (T, N) */
  tessera_const_matrix bias; /* (G, N), with TESSERA_BIAS_COLUMN */
} tessera_ragged_rows;

/* Of the rows of each group the first counts[g] are there; the others are neither read nor written.
 */
typedef struct tessera_masked_rows {
  tessera_const_batch a;     /* (G, M_max, K) */
  tessera_indices counts;    /* G numbers from 0 to M_max */
  tessera_const_batch b;     /* (G, K, N) */
  tessera_batch c;           /* (G, M_max, N) */
  tessera_const_matrix bias; /* (G, N), with TESSERA_BIAS_COLUMN */
} tessera_masked_rows;

/* Columns of A and rows of B sorted by group: C[g] ← … A[:, k of g] · B[k of g, :] …; an empty
 * segment leaves beta · C[g]. */
typedef struct tessera_ragged_k {
  tessera_const_matrix a;    /* (M, T) */
  tessera_const_matrix b;    /* (T, N) */
  tessera_indices offsets;   /* into T */
  tessera_batch c;           /* (G, M, N) */
  tessera_const_matrix bias; /* (G, N) with TESSERA_BIAS_COLUMN, (G, M) with TESSERA_BIAS_ROW */
} tessera_ragged_k;

/* Products of any sizes at any addresses; each array has `groups` entries. A leading dimension
 * leads from row to row of a row-major matrix, from column to column of a column-major one. */
typedef struct tessera_pointer_array {
  int64_t groups;
  tessera_type type_a;
  tessera_type type_b;
  tessera_type type_c;
  const void* const* a;
  const void* const* b;
  void* const* c;
  const void* const* bias; /* values of C's type; NULL without a bias */
  tessera_indices m;
  tessera_indices n;
  tessera_indices k;
  tessera_indices lda;
  tessera_indices ldb;
  tessera_indices ldc;
  int a_is_column_major; /* 0 or 1, of every matrix alike */
  int b_is_column_major;
  int c_is_column_major;
  /* On a GPU: bytes of which every pointer and leading dimension of A and B are multiples; 16 lets
   * the fastest kernels run, 0 promises nothing. */
  int alignment;
  int64_t bound_m; /* no product is larger; 0: any size */
  int64_t bound_n;
  int64_t bound_k;
} tessera_pointer_array;

/* `epilogue` and `options` may be NULL. */
TESSERA_API tessera_status tessera_ragged_rows_gemm(double alpha,
                                                    const tessera_ragged_rows* products,
                                                    double beta, const tessera_epilogue* epilogue,
                                                    const tessera_run_options* options);
TESSERA_API tessera_status tessera_masked_rows_gemm(double alpha,
                                                    const tessera_masked_rows* products,
                                                    double beta, const tessera_epilogue* epilogue,
                                                    const tessera_run_options* options);
TESSERA_API tessera_status tessera_ragged_k_gemm(double alpha, const tessera_ragged_k* products,
                                                 double beta, const tessera_epilogue* epilogue,
                                                 const tessera_run_options* options);
TESSERA_API tessera_status tessera_pointer_array_gemm(double alpha,
                                                      const tessera_pointer_array* products,
                                                      double beta, const tessera_epilogue* epilogue,
                                                      const tessera_run_options* options);
/* The gated pair: C ← activation(A · B) ∘ (A · up), rounded once; SwiGLU with TESSERA_SILU. `up`
 * has B's shape and type; no bias is applied. */
TESSERA_API tessera_status tessera_gated_rows_gemm(const tessera_ragged_rows* products,
                                                   const tessera_const_batch* up,
                                                   tessera_activation activation,
                                                   const tessera_run_options* options);

/* What the calls above found wrong with sizes in a CUDA device's memory, on the stream and with the
 * workspace of `options`, since this was last asked: TESSERA_INVALID_ARGUMENT, with a message that
 * names the group. Waits for the stream. */
TESSERA_API tessera_status tessera_check_sizes(const tessera_run_options* options);

/* ---- Machines: processors as data ---- */

typedef struct tessera_machine tessera_machine;

/* The processor this runs on. */
TESSERA_API tessera_status tessera_machine_host(tessera_machine** machine);
/* CUDA devices that this process can use. */
TESSERA_API int tessera_device_count(void);
TESSERA_API tessera_status tessera_machine_device(int device, tessera_machine** machine);
/* One that ships with the library: "h200", ... An unknown name's message lists all. */
TESSERA_API tessera_status tessera_machine_by_name(const char* name, tessera_machine** machine);
TESSERA_API tessera_status tessera_machine_from_json(const char* json, tessera_machine** machine);
/* Writes at most `size` bytes of JSON with its final 0 to `buffer` and the bytes that the whole of
 * it takes, the 0 included, to *needed. buffer = NULL asks for the size; a buffer that is too small
 * is TESSERA_OUT_OF_MEMORY. `needed` may be NULL. */
TESSERA_API tessera_status tessera_machine_to_json(const tessera_machine* machine, char* buffer,
                                                   size_t size, size_t* needed);
TESSERA_API void tessera_machine_destroy(tessera_machine* machine);

/* ---- Plans: made once, run often ---- */

/* What the planner is told; what is not set it chooses. */
typedef struct tessera_options tessera_options;

TESSERA_API tessera_status tessera_options_create(tessera_options** options);
/* key            value
 * schedule       data_parallel, split_k, stream_k or hybrid
 * workers        a number of logical workers
 * splits         a number, with split_k
 * tile           128x128x32: rows, columns and depth
 * order          linear, swizzle, swizzle(4) or hilbert
 * two_tile       true or false
 * kernel         a name from the catalogue
 * batch_invariant  true: a row of C does not change a bit when other rows or groups change
 * allow_copies   false: a GPU's kernel reads operands where they lie, and makes no copies
 * packed_b       true: for a B that tessera_plan_pack_b is going to pack, on a CPU */
TESSERA_API tessera_status tessera_options_set(tessera_options* options, const char* key,
                                               const char* value);
TESSERA_API void tessera_options_destroy(tessera_options* options);

typedef struct tessera_plan tessera_plan;

/* For operands like these; only their shapes, types, strides and alignment enter the plan.
 * machine = NULL: the host. options = NULL: the planner chooses everything. */
TESSERA_API tessera_status tessera_plan_create(const tessera_operands* groups, size_t group_count,
                                               double alpha, double beta,
                                               const tessera_epilogue* epilogue,
                                               const tessera_machine* machine,
                                               const tessera_options* options, tessera_plan** plan);
TESSERA_API tessera_status tessera_plan_from_json(const char* json, tessera_plan** plan);
/* As tessera_machine_to_json. */
TESSERA_API tessera_status tessera_plan_to_json(const tessera_plan* plan, char* buffer, size_t size,
                                                size_t* needed);
/* Bytes that a caller-owned workspace must have. */
TESSERA_API tessera_status tessera_plan_workspace_bytes(const tessera_plan* plan, size_t* bytes);
TESSERA_API double tessera_plan_predicted_seconds(const tessera_plan* plan);
/* CPU: returns when C is written. GPU: when the work is queued on the stream. The operands must be
 * as many, and of the shapes and types, that the plan was made for. */
TESSERA_API tessera_status tessera_plan_run(const tessera_plan* plan,
                                            const tessera_operands* groups, size_t group_count,
                                            const tessera_run_options* options);
TESSERA_API void tessera_plan_destroy(tessera_plan* plan);

/* ---- Weights that are packed ahead, CPU only ---- */

/* A B in the order that a CPU's kernel reads: weights, multiplied by many inputs. Many threads may
 * use one at once. Where the kernel computes a row by what others hold (f32 in parts, f64 by
 * residues), it does not go with batch_invariant. */
typedef struct tessera_packed tessera_packed;

/* Packs b (k×n, any strides, at least one element) for products of about `rows` rows with an A of
 * type_a: b's own, or u8 beside i8. Products of any number of rows can be made with it, though
 * another packing might be faster for many more or fewer. b's memory is not read any more
 * afterwards. */
TESSERA_API tessera_status tessera_pack_b(tessera_const_matrix b, int64_t rows, tessera_type type_a,
                                          tessera_packed** packed);
/* The same for the kernel and depth of a plan, best of one that was made with the option packed_b:
 * the products of one grouped call need one of each. */
TESSERA_API tessera_status tessera_plan_pack_b(const tessera_plan* plan, tessera_const_matrix b,
                                               tessera_packed** packed);
/* The row_stride of a matrix that is packed; its col_stride is one more, so that a transposed one,
 * which there is not, is refused. */
#define TESSERA_PACKED INT64_MIN
/* The packed matrix as the b of tessera_gemm, of tessera_grouped_gemm, and of a plan, which gets
 * the kernel and the depth that it was packed for unless options name others; a run refuses one
 * packed for others than its plan's. `data` is the handle, which has to live as long as the view is
 * used. Of NULL a view that every call refuses. */
TESSERA_API tessera_const_matrix tessera_packed_view(const tessera_packed* packed);
TESSERA_API tessera_status tessera_packed_bytes(const tessera_packed* packed, size_t* bytes);
TESSERA_API void tessera_packed_destroy(tessera_packed* packed);

/* ---- Logging ---- */

/* `line` ends with no newline and is valid during the call, which may come from any thread. */
typedef void (*tessera_log_function)(const char* line, void* user);

/* Sends every line the library has to say (which path each call took, and why) to `log`. NULL
 * restores the default: silence, or stderr for what TESSERA_VERBOSE names. */
TESSERA_API tessera_status tessera_set_log(tessera_log_function log, void* user);

#ifdef __cplusplus
}
#endif

#endif
