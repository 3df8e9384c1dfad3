// The C API's calls for groups whose sizes stand in arrays. See c_api.cpp.
#include "c_api_convert.hpp"
#include "tessera/grouped.hpp"
#include "tessera/tessera.h"

namespace {

using namespace tessera::c_api;

tessera::IndexArray indices_of(const tessera_indices& indices, std::string_view argument) {
  static_assert(TESSERA_INDEX_I32 == static_cast<int>(tessera::IndexType::i32));
  static_assert(TESSERA_INDEX_I64 == static_cast<int>(tessera::IndexType::i64));
  return {indices.data, indices.size,
          checked<tessera::IndexType>(indices.type, TESSERA_INDEX_I64, argument)};
}

tessera::ConstBatchView batch_of(const tessera_const_batch& b, std::string_view owner) {
  return {b.data,         b.groups,     b.rows,       b.cols,
          b.group_stride, b.row_stride, b.col_stride, type_of(b.type, owner)};
}

tessera::BatchView batch_of(const tessera_batch& b, std::string_view owner) {
  return {b.data,         b.groups,     b.rows,       b.cols,
          b.group_stride, b.row_stride, b.col_stride, type_of(b.type, owner)};
}

tessera::RaggedRows products_of(const tessera_ragged_rows& rows) {
  return {view_of(rows.a, "A"), indices_of(rows.offsets, "offsets' type"), batch_of(rows.b, "B"),
          view_of(rows.c, "C"), view_of(rows.bias, "bias")};
}

tessera::MaskedRows products_of(const tessera_masked_rows& rows) {
  return {batch_of(rows.a, "A"), indices_of(rows.counts, "counts' type"), batch_of(rows.b, "B"),
          batch_of(rows.c, "C"), view_of(rows.bias, "bias")};
}

tessera::RaggedK products_of(const tessera_ragged_k& depth) {
  return {view_of(depth.a, "A"), view_of(depth.b, "B"), indices_of(depth.offsets, "offsets' type"),
          batch_of(depth.c, "C"), view_of(depth.bias, "bias")};
}

tessera::PointerArray products_of(const tessera_pointer_array& array) {
  const auto major = [](int is_column_major) {
    return is_column_major != 0 ? tessera::Major::column : tessera::Major::row;
  };
  const auto bound = [](std::int64_t size) { return size > 0 ? size : tessera::kUnbounded; };
  tessera::PointerArray products;
  products.groups = array.groups;
  products.types = {type_of(array.type_a, "A"), type_of(array.type_b, "B"),
                    type_of(array.type_c, "C")};
  products.a = array.a;
  products.b = array.b;
  products.c = array.c;
  products.bias = array.bias;
  products.m = indices_of(array.m, "m's type");
  products.n = indices_of(array.n, "n's type");
  products.k = indices_of(array.k, "k's type");
  products.lda = indices_of(array.lda, "lda's type");
  products.ldb = indices_of(array.ldb, "ldb's type");
  products.ldc = indices_of(array.ldc, "ldc's type");
  products.a_major = major(array.a_is_column_major);
  products.b_major = major(array.b_is_column_major);
  products.c_major = major(array.c_is_column_major);
  products.alignment = array.alignment;
  products.bound = {bound(array.bound_m), bound(array.bound_n), bound(array.bound_k)};
  return products;
}

template <class Products>
tessera_status ragged_gemm(double alpha, const Products* products, double beta,
                           const tessera_epilogue* epilogue, const tessera_run_options* options) {
  return guarded([&] {
    require(products, "products");
    tessera::ragged_gemm(alpha, products_of(*products), beta, epilogue_of(epilogue),
                         run_options_of(options));
  });
}

}  // namespace

extern "C" {

tessera_status tessera_ragged_rows_gemm(double alpha, const tessera_ragged_rows* products,
                                        double beta, const tessera_epilogue* epilogue,
                                        const tessera_run_options* options) {
  return ragged_gemm(alpha, products, beta, epilogue, options);
}

tessera_status tessera_masked_rows_gemm(double alpha, const tessera_masked_rows* products,
                                        double beta, const tessera_epilogue* epilogue,
                                        const tessera_run_options* options) {
  return ragged_gemm(alpha, products, beta, epilogue, options);
}

tessera_status tessera_ragged_k_gemm(double alpha, const tessera_ragged_k* products, double beta,
                                     const tessera_epilogue* epilogue,
                                     const tessera_run_options* options) {
  return ragged_gemm(alpha, products, beta, epilogue, options);
}

tessera_status tessera_pointer_array_gemm(double alpha, const tessera_pointer_array* products,
                                          double beta, const tessera_epilogue* epilogue,
                                          const tessera_run_options* options) {
  return ragged_gemm(alpha, products, beta, epilogue, options);
}

tessera_status tessera_gated_rows_gemm(const tessera_ragged_rows* products,
                                       const tessera_const_batch* up, tessera_activation activation,
                                       const tessera_run_options* options) {
  return guarded([&] {
    require(products, "products");
    require(up, "up");
    tessera::gated_gemm(products_of(*products), batch_of(*up, "up"),
                        checked<tessera::Activation>(activation, TESSERA_SILU, "activation"),
                        run_options_of(options));
  });
}

tessera_status tessera_check_sizes(const tessera_run_options* options) {
  return guarded([&] { tessera::check_sizes(run_options_of(options)); });
}

}  // extern "C"
