#include "jax_ffi.hpp"

#include <xla/ffi/api/ffi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/grouped.hpp"
#include "tessera/tessera.hpp"

namespace tessera::python {
namespace {

namespace ffi = xla::ffi;
namespace nb = nanobind;

ElementType type_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F64:
      return ElementType::f64;
    case ffi::DataType::F32:
      return ElementType::f32;
    case ffi::DataType::F16:
      return ElementType::f16;
    case ffi::DataType::BF16:
      return ElementType::bf16;
    case ffi::DataType::S8:
      return ElementType::i8;
    case ffi::DataType::U8:
      return ElementType::u8;
    case ffi::DataType::S32:
      return ElementType::i32;
    default:
      throw Error(ErrorCode::invalid_argument, "array",
                  "be float64, float32, float16, bfloat16, int8, uint8 or int32",
                  "XLA type " + std::to_string(static_cast<int>(type)), "convert it");
  }
}

// XLA's buffers are row-major and dense. Matrix `index` of the last two dimensions.
MatrixView matrix_of(const ffi::AnyBuffer& buffer, std::int64_t index = 0) {
  const auto dimensions = buffer.dimensions();
  const std::int64_t rows = dimensions[dimensions.size() - 2];
  const std::int64_t cols = dimensions[dimensions.size() - 1];
  const ElementType type = type_of(buffer.element_type());
  auto* const data = static_cast<std::byte*>(buffer.untyped_data());
  return {data + index * rows * cols * size_of(type), rows, cols, cols, 1, type};
}

// Rows [begin, end).
MatrixView rows_of(MatrixView view, std::int64_t begin, std::int64_t end) {
  view.data = static_cast<std::byte*>(view.data) + begin * view.row_stride * size_of(view.type);
  view.rows = end - begin;
  return view;
}

ConstMatrixView transposed_if(bool transpose, ConstMatrixView view) {
  return transpose ? view.transposed() : view;
}

template <class Body>
ffi::Error guarded(Body&& body) {
  try {
    body();
    return ffi::Error::Success();
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

// Calls f(group, first row, last row) for each group; returns where the rows of the last one end.
template <class F>
std::int64_t for_groups(const ffi::Buffer<ffi::S32>& sizes, std::int64_t total, F&& f) {
  std::int64_t begin = 0;
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(sizes.element_count()); ++g) {
    const std::int64_t end = begin + sizes.typed_data()[g];
    if (end < begin || end > total) {
      throw Error(ErrorCode::invalid_argument, "sizes",
                  "be at least 0 with a sum of at most " + std::to_string(total),
                  std::to_string(sizes.typed_data()[g]) + " for group " + std::to_string(g),
                  "pass the groups' numbers of rows");
    }
    f(g, begin, end);
    begin = end;
  }
  return begin;
}

ffi::Error run_gemm_with(const RunOptions& options, const ffi::AnyBuffer& a,
                         const ffi::AnyBuffer& b, const ffi::AnyBuffer& c, double alpha,
                         bool transpose_a, bool transpose_b) {
  return guarded([&] {
    gemm(alpha, transposed_if(transpose_a, matrix_of(a)), transposed_if(transpose_b, matrix_of(b)),
         0, matrix_of(c), {}, {}, options);
  });
}

ffi::Error run_gemm(ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> c, double alpha,
                    bool transpose_a, bool transpose_b) {
  return run_gemm_with({}, a, b, *c, alpha, transpose_a, transpose_b);
}

RunOptions options_on(void* stream, std::int32_t device) {
  RunOptions options;
  options.device = device;
  options.stream = stream;
  return options;
}

// XLA makes the device current before it calls.
ffi::Error run_gemm_cuda(void* stream, std::int32_t device, ffi::AnyBuffer a, ffi::AnyBuffer b,
                         ffi::Result<ffi::AnyBuffer> c, double alpha, bool transpose_a,
                         bool transpose_b) {
  return run_gemm_with(options_on(stream, device), a, b, *c, alpha, transpose_a, transpose_b);
}

// A product over nothing.
void write_zeros(MatrixView c, const RunOptions& options) {
  const ConstMatrixView no_a{nullptr, c.rows, 0, 1, 1, c.type};
  const ConstMatrixView no_b{nullptr, 0, c.cols, 1, 1, c.type};
  gemm(1, no_a, no_b, 0, c, {}, {}, options);
}

ffi::Error run_grouped(ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::Buffer<ffi::S32> sizes,
                       ffi::Result<ffi::AnyBuffer> c, bool transpose_b) {
  return guarded([&] {
    const MatrixView all_a = matrix_of(a);
    const MatrixView all_c = matrix_of(*c);
    std::vector<Operands> groups;
    const std::int64_t used =
        for_groups(sizes, all_a.rows, [&](std::int64_t g, std::int64_t begin, std::int64_t end) {
          groups.push_back({rows_of(all_a, begin, end), transposed_if(transpose_b, matrix_of(b, g)),
                            rows_of(all_c, begin, end)});
        });
    grouped_gemm(1, groups, 0);
    // Nobody computes the rows behind the groups.
    write_zeros(rows_of(all_c, used, all_c.rows), {});
  });
}

ffi::Error run_weight_gradient(ffi::AnyBuffer a, ffi::AnyBuffer y, ffi::Buffer<ffi::S32> sizes,
                               ffi::Result<ffi::AnyBuffer> c) {
  return guarded([&] {
    const MatrixView all_a = matrix_of(a);
    const MatrixView all_y = matrix_of(y);
    std::vector<Operands> groups;
    for_groups(sizes, all_a.rows, [&](std::int64_t g, std::int64_t begin, std::int64_t end) {
      groups.push_back(
          {rows_of(all_a, begin, end).transposed(), rows_of(all_y, begin, end), matrix_of(*c, g)});
    });
    grouped_gemm(1, groups, 0);
  });
}

// Dense matrices, one per group.
BatchView batch_of(const ffi::AnyBuffer& buffer) {
  const MatrixView first = matrix_of(buffer);
  return {first.data,       buffer.dimensions()[0], first.rows, first.cols, first.rows * first.cols,
          first.row_stride, first.col_stride,       first.type};
}

// On a GPU the groups' ends stay there; the host never learns them.
ffi::Error run_grouped_cuda(void* stream, std::int32_t device, ffi::AnyBuffer a, ffi::AnyBuffer b,
                            ffi::Buffer<ffi::S32> ends, ffi::Result<ffi::AnyBuffer> c,
                            bool transpose_b) {
  return guarded([&] {
    const RunOptions options = options_on(stream, device);
    RaggedRows rows;
    rows.a = matrix_of(a);
    rows.b = transpose_b ? batch_of(b).transposed() : batch_of(b);
    rows.c = matrix_of(*c);
    rows.offsets = {ends.untyped_data(), static_cast<std::int64_t>(ends.element_count()),
                    IndexType::i32};
    write_zeros(rows.c, options);
    ragged_gemm(1, rows, 0, {}, options);
  });
}

ffi::Error run_weight_gradient_cuda(void* stream, std::int32_t device, ffi::AnyBuffer a,
                                    ffi::AnyBuffer y, ffi::Buffer<ffi::S32> ends,
                                    ffi::Result<ffi::AnyBuffer> c) {
  return guarded([&] {
    RaggedK depth;
    depth.a = matrix_of(a).transposed();
    depth.b = matrix_of(y);
    depth.c = batch_of(*c);
    depth.offsets = {ends.untyped_data(), static_cast<std::int64_t>(ends.element_count()),
                     IndexType::i32};
    ragged_gemm(1, depth, 0, {}, options_on(stream, device));
  });
}

// A, B, the result, and how they are multiplied, behind what `binding` has.
template <class Binding>
auto with_gemm(Binding binding) {
  return std::move(binding)
      .template Arg<ffi::AnyBuffer>()
      .template Arg<ffi::AnyBuffer>()
      .template Ret<ffi::AnyBuffer>()
      .template Attr<double>("alpha")
      .template Attr<bool>("transpose_a")
      .template Attr<bool>("transpose_b");
}

// Two matrices, the groups' sizes or ends, and the result.
template <class Binding>
auto with_groups(Binding binding) {
  return std::move(binding)
      .template Arg<ffi::AnyBuffer>()
      .template Arg<ffi::AnyBuffer>()
      .template Arg<ffi::Buffer<ffi::S32>>()
      .template Ret<ffi::AnyBuffer>();
}

XLA_FFI_DEFINE_HANDLER(gemm_handler, run_gemm, with_gemm(ffi::Ffi::Bind()));
XLA_FFI_DEFINE_HANDLER(
    gemm_cuda_handler, run_gemm_cuda,
    with_gemm(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>()));
XLA_FFI_DEFINE_HANDLER(grouped_handler, run_grouped,
                       with_groups(ffi::Ffi::Bind()).Attr<bool>("transpose_b"));
XLA_FFI_DEFINE_HANDLER(
    grouped_cuda_handler, run_grouped_cuda,
    with_groups(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>())
        .Attr<bool>("transpose_b"));
XLA_FFI_DEFINE_HANDLER(weight_gradient_handler, run_weight_gradient, with_groups(ffi::Ffi::Bind()));
XLA_FFI_DEFINE_HANDLER(
    weight_gradient_cuda_handler, run_weight_gradient_cuda,
    with_groups(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>()));

}  // namespace

void bind_jax(nb::module_& module) {
  // By platform, then by the name of the call.
  module.def("jax_targets", [] {
    const auto capsule = [](XLA_FFI_Handler* handler) {
      return nb::capsule(reinterpret_cast<void*>(handler));
    };
    nb::dict cpu;
    cpu["tessera_gemm"] = capsule(gemm_handler);
    cpu["tessera_grouped_gemm"] = capsule(grouped_handler);
    cpu["tessera_grouped_weight_gradient"] = capsule(weight_gradient_handler);
    nb::dict cuda;
    cuda["tessera_gemm"] = capsule(gemm_cuda_handler);
    cuda["tessera_grouped_gemm"] = capsule(grouped_cuda_handler);
    cuda["tessera_grouped_weight_gradient"] = capsule(weight_gradient_cuda_handler);
    nb::dict targets;
    targets["cpu"] = cpu;
    targets["CUDA"] = cuda;
    return targets;
  });
}

}  // namespace tessera::python
