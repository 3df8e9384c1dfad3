#include "arrays.hpp"

namespace tessera::python {
namespace {

namespace nb = nanobind;

// What a view needs of an array, whatever its constness.
struct Layout {
  const void* data;
  std::size_t dimensions;
  const std::int64_t* shape;
  const std::int64_t* strides;
  nb::dlpack::dtype dtype;
};

template <class Array>
Layout layout_of(const Array& array) {
  return {array.data(), array.ndim(), array.shape_ptr(), array.stride_ptr(), array.dtype()};
}

ElementType type_of(const nb::dlpack::dtype& dtype, const char* argument) {
  using Code = nb::dlpack::dtype_code;
  const auto is = [&](Code code, int bits) {
    return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits && dtype.lanes == 1;
  };
  if (is(Code::Float, 64)) return ElementType::f64;
  if (is(Code::Float, 32)) return ElementType::f32;
  if (is(Code::Float, 16)) return ElementType::f16;
  if (is(Code::Bfloat, 16)) return ElementType::bf16;
  if (is(Code::Int, 8)) return ElementType::i8;
  if (is(Code::UInt, 8)) return ElementType::u8;
  if (is(Code::Int, 32)) return ElementType::i32;
  throw Error(ErrorCode::invalid_argument, argument,
              "have elements of type float64, float32, float16, bfloat16, int8, uint8 or int32",
              "DLPack type code " + std::to_string(dtype.code) + " with " +
                  std::to_string(dtype.bits) + " bits",
              "convert the array");
}

ElementType type_of(const Layout& layout, const std::string& name, const char* argument) {
  return name.empty() ? type_of(layout.dtype, argument) : element_type_from_name(name);
}

// Matrix number `index` of an array with two or three dimensions.
ConstMatrixView matrix_of(const Layout& layout, ElementType type, std::int64_t index) {
  const std::size_t row = layout.dimensions - 2;
  const std::int64_t offset =
      layout.dimensions == 3 ? index * layout.strides[0] * size_of(type) : 0;
  return {static_cast<const std::byte*>(layout.data) + offset,
          layout.shape[row],
          layout.shape[row + 1],
          layout.strides[row],
          layout.strides[row + 1],
          type};
}

void check_dimensions(const Layout& layout, std::int64_t batch, bool is_batch,
                      const char* argument) {
  const bool fits =
      layout.dimensions == 2 || (is_batch && layout.dimensions == 3 && layout.shape[0] == batch);
  if (fits) return;
  std::string shape;
  for (std::size_t i = 0; i < layout.dimensions; ++i) {
    shape += (i == 0 ? "" : ", ") + std::to_string(layout.shape[i]);
  }
  throw Error(ErrorCode::invalid_argument, argument,
              is_batch
                  ? "have 2 dimensions, or 3 with " + std::to_string(batch) + " matrices like C"
                  : "have 2 dimensions, as C has",
              "shape (" + shape + ")", "reshape the array");
}

}  // namespace

void append_products(std::vector<Operands>& groups, const Input& a, const Input& b, const Output& c,
                     const std::optional<Input>& bias, const TypeNames& types) {
  const Layout layout_a = layout_of(a);
  const Layout layout_b = layout_of(b);
  const Layout layout_c = layout_of(c);
  const bool is_batch = layout_c.dimensions == 3;
  const std::int64_t batch = is_batch ? layout_c.shape[0] : 1;
  check_dimensions(layout_c, batch, is_batch, "C");
  check_dimensions(layout_a, batch, is_batch, "A");
  check_dimensions(layout_b, batch, is_batch, "B");
  const ElementType type_a = type_of(layout_a, types.a, "A");
  const ElementType type_b = type_of(layout_b, types.b, "B");
  const ElementType type_c = type_of(layout_c, types.c, "C");

  ConstVectorView bias_view;
  if (bias) {
    if (bias->ndim() != 1) {
      throw Error(ErrorCode::invalid_argument, "bias", "have 1 dimension",
                  std::to_string(bias->ndim()), "reshape the array");
    }
    // A bias with the bits of C's type has C's type.
    const bool is_like_c = !types.c.empty() && bias->itemsize() == c.itemsize();
    bias_view = {bias->data(), static_cast<std::int64_t>(bias->shape(0)), bias->stride(0),
                 is_like_c ? type_c : type_of(bias->dtype(), "bias")};
  }
  for (std::int64_t i = 0; i < batch; ++i) {
    const ConstMatrixView view = matrix_of(layout_c, type_c, i);
    groups.push_back({matrix_of(layout_a, type_a, i), matrix_of(layout_b, type_b, i),
                      MatrixView{const_cast<void*>(view.data), view.rows, view.cols,
                                 view.row_stride, view.col_stride, view.type},
                      bias_view});
  }
}

int device_of(const Input& a, const Input& b, const Output& c, const std::optional<Input>& bias) {
  const auto place = [](const auto& array, const char* argument) {
    switch (array.device_type()) {
      case nb::device::cpu::value:
      case nb::device::cuda_host::value:
        return kHost;
      case nb::device::cuda::value:
      case nb::device::cuda_managed::value:
        return array.device_id();
      default:
        throw Error(ErrorCode::unsupported, argument, "lie in host or CUDA memory",
                    "DLPack device type " + std::to_string(array.device_type()),
                    "move the array first");
    }
  };
  const int device = place(c, "C");
  const bool agree = place(a, "A") == device && place(b, "B") == device &&
                     (!bias || place(*bias, "bias") == device);
  if (!agree) {
    throw Error(ErrorCode::invalid_argument, "A, B, C and bias", "lie in the memory of one device",
                "arrays of several devices", "move them to C's");
  }
  return device;
}

}  // namespace tessera::python
