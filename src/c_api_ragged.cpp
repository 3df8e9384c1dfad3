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

tessera::ConstBatchView batch_of(const tessera_const_batch& b, std::string_view argument) {
  return {b.data,         b.groups,     b.rows,       b.cols,
          b.group_stride, b.row_stride, b.col_stride, type_of(b.type, argument)};
}

tessera::BatchView batch_of(const tessera_batch& b, std::string_view argument) {
  return {b.data,         b.groups,     b.rows,       b.cols,
          b.group_stride, b.row_stride, b.col_stride, type_of(b.type, argument)};
}

tessera::RaggedRows products_of(const tessera_ragged_rows& rows) {
  return {view_of(rows.a, "A's type"), indices_of(rows.offsets, "offsets' type"),
          batch_of(rows.b, "B's type"), view_of(rows.c, "C's type"),
          view_of(rows.bias, "bias's type")};
}

tessera::MaskedRows products_of(const tessera_masked_rows& rows) {
  return {batch_of(rows.a, "A's type"), indices_of(rows.counts, "counts' type"),
          batch_of(rows.b, "B's type"), batch_of(rows.c, "C's type"),
          view_of(rows.bias, "bias's type")};
}

tessera::RaggedK products_of(const tessera_ragged_k& depth) {
  return {view_of(depth.a, "A's type"), view_of(depth.b, "B's type"),
          indices_of(depth.offsets, "offsets' type"), batch_of(depth.c, "C's type"),
          view_of(depth.bias, "bias's type")};
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

tessera_status tessera_gated_rows_gemm(const tessera_ragged_rows* products,
                                       const tessera_const_batch* up, tessera_activation activation,
                                       const tessera_run_options* options) {
  return guarded([&] {
    require(products, "products");
    require(up, "up");
    tessera::gated_gemm(products_of(*products), batch_of(*up, "up's type"),
                        checked<tessera::Activation>(activation, TESSERA_SILU, "activation"),
                        run_options_of(options));
  });
}

tessera_status tessera_check_sizes(const tessera_run_options* options) {
  return guarded([&] { tessera::check_sizes(run_options_of(options)); });
}

}  // extern "C"
