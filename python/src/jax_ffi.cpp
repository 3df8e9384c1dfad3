#include "jax_ffi.hpp"

#include <xla/ffi/api/ffi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

// XLA makes the device current before it calls.
ffi::Error run_gemm_cuda(void* stream, std::int32_t device, ffi::AnyBuffer a, ffi::AnyBuffer b,
                         ffi::Result<ffi::AnyBuffer> c, double alpha, bool transpose_a,
                         bool transpose_b) {
  RunOptions options;
  options.device = device;
  options.stream = stream;
  return run_gemm_with(options, a, b, *c, alpha, transpose_a, transpose_b);
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
    // Nobody computes the rows behind the groups: a product over nothing writes zeros.
    const MatrixView rest = rows_of(all_c, used, all_c.rows);
    const ConstMatrixView no_a{nullptr, rest.rows, 0, 1, 1, rest.type};
    const ConstMatrixView no_b{nullptr, 0, rest.cols, 1, 1, rest.type};
    gemm(1, no_a, no_b, 0, rest);
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

XLA_FFI_DEFINE_HANDLER(gemm_handler, run_gemm, with_gemm(ffi::Ffi::Bind()));
XLA_FFI_DEFINE_HANDLER(
    gemm_cuda_handler, run_gemm_cuda,
    with_gemm(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>()));
XLA_FFI_DEFINE_HANDLER(grouped_handler, run_grouped,
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::Buffer<ffi::S32>>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<bool>("transpose_b"));
XLA_FFI_DEFINE_HANDLER(weight_gradient_handler, run_weight_gradient,
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::Buffer<ffi::S32>>()
                           .Ret<ffi::AnyBuffer>());

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
    nb::dict targets;
    targets["cpu"] = cpu;
    targets["CUDA"] = cuda;
    return targets;
  });
}

}  // namespace tessera::python
