#include "arrays.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace tessera::python {
namespace {

namespace nb = nanobind;

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

template <class Array>
int device_of(const Array& array, const char* argument) {
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
}

void set_extents(Memory& memory, const char* argument, std::size_t dimensions,
                 const std::int64_t* shape, const std::int64_t* strides) {
  if (dimensions > kMaxDimensions) {
    throw Error(ErrorCode::invalid_argument, argument, "have at most 3 dimensions",
                std::to_string(dimensions), "reshape the array");
  }
  memory.dimensions = dimensions;
  for (std::size_t i = 0; i < dimensions; ++i) {
    memory.shape[i] = shape[i];
    memory.strides[i] = strides[i];
  }
}

template <class Either>
Memory memory_of_either(const Either& either, const char* argument) {
  if (const Memory* const memory = std::get_if<Memory>(&either)) return *memory;
  const auto& array = std::get<1>(either);
  Memory memory;
  memory.data = const_cast<void*>(static_cast<const void*>(array.data()));
  memory.type = type_of(array.dtype(), argument);
  memory.device = device_of(array, argument);
  set_extents(memory, argument, array.ndim(), array.shape_ptr(), array.stride_ptr());
  return memory;
}

Memory memory_of_b(const Input& input) {
  const PackedMatrix* const packed = std::get_if<PackedMatrix>(&input);
  if (packed == nullptr) return memory_of(input, "B");
  Memory memory;
  memory.dimensions = 2;
  memory.shape[0] = packed->rows();
  memory.shape[1] = packed->cols();
  memory.strides[0] = packed->cols();
  memory.strides[1] = 1;
  memory.type = packed->type();
  memory.packed = packed;
  return memory;
}

// Matrix number `index` of an array with two or three dimensions.
MatrixView matrix_of(const Memory& memory, std::int64_t index) {
  const std::size_t row = memory.dimensions - 2;
  const std::int64_t offset =
      memory.dimensions == 3 ? index * memory.strides[0] * size_of(memory.type) : 0;
  return {static_cast<std::byte*>(memory.data) + offset,
          memory.shape[row],
          memory.shape[row + 1],
          memory.strides[row],
          memory.strides[row + 1],
          memory.type};
}

void check_dimensions(const Memory& memory, std::int64_t batch, bool is_batch,
                      const char* argument) {
  const bool fits =
      memory.dimensions == 2 || (is_batch && memory.dimensions == 3 && memory.shape[0] == batch);
  if (fits) return;
  std::string shape;
  for (std::size_t i = 0; i < memory.dimensions; ++i) {
    shape += (i == 0 ? "" : ", ") + std::to_string(memory.shape[i]);
  }
  throw Error(ErrorCode::invalid_argument, argument,
              is_batch ? "have 2 dimensions, or 3 with " + std::to_string(batch) + " matrices as C"
                       : "have 2 dimensions",
              "shape (" + shape + ")", "reshape the array");
}

void check_device(const Memory& memory, int device, const char* argument) {
  if (memory.device == device) return;
  throw Error(ErrorCode::invalid_argument, argument, "lie in the memory of C's device",
              "an array of another", "move it");
}

ConstMatrixView matrix_to_pack(const Input& b) {
  const Memory memory = memory_of(b, "B");
  check_dimensions(memory, 1, false, "B");
  if (memory.device != kHost) {
    throw Error(ErrorCode::unsupported, "B", "lie in host memory, as packing is for a CPU",
                "a CUDA array", "pass it to the products as it is");
  }
  return matrix_of(memory, 0);
}

}  // namespace

Memory memory_of(const Input& input, const char* argument) {
  if (std::holds_alternative<PackedMatrix>(input)) {
    throw Error(ErrorCode::invalid_argument, argument, "be an array", "a packed matrix",
                "pass that as b of gemm, grouped_gemm, plan or a plan's run");
  }
  return memory_of_either(input, argument);
}

Memory memory_of(const Output& output, const char* argument) {
  return memory_of_either(output, argument);
}

int append_products(std::vector<Operands>& groups, const Input& a, const Input& b, const Output& c,
                    const std::optional<Input>& bias) {
  const Memory memory_a = memory_of(a, "A");
  const Memory memory_b = memory_of_b(b);
  const Memory memory_c = memory_of(c, "C");
  const bool is_batch = memory_c.dimensions == 3;
  const std::int64_t batch = is_batch ? memory_c.shape[0] : 1;
  check_dimensions(memory_c, batch, is_batch, "C");
  check_dimensions(memory_a, batch, is_batch, "A");
  check_dimensions(memory_b, batch, is_batch, "B");
  if (memory_b.packed != nullptr && memory_c.device != kHost) {
    throw Error(ErrorCode::unsupported, "B", "lie in the device's memory as C does",
                "a packed matrix, which only a CPU multiplies", "pass B itself");
  }
  check_device(memory_a, memory_c.device, "A");
  check_device(memory_b, memory_c.device, "B");

  ConstVectorView bias_view;
  if (bias) {
    const Memory memory = memory_of(*bias, "bias");
    check_device(memory, memory_c.device, "bias");
    if (memory.dimensions != 1) {
      throw Error(ErrorCode::invalid_argument, "bias", "have 1 dimension",
                  std::to_string(memory.dimensions), "reshape the array");
    }
    bias_view = {memory.data, memory.shape[0], memory.strides[0], memory.type};
  }
  for (std::int64_t i = 0; i < batch; ++i) {
    groups.push_back({matrix_of(memory_a, i), matrix_of(memory_b, i), matrix_of(memory_c, i),
                      bias_view, memory_b.packed});
  }
  return memory_c.device;
}

void bind_packed(nb::module_& module) {
  nb::class_<PackedMatrix>(module, "PackedMatrix",
                           "A matrix packed ahead of the products that use it; pack_b makes one.")
      .def_prop_ro(
          "shape",
          [](const PackedMatrix& packed) { return std::make_tuple(packed.rows(), packed.cols()); },
          "(k, n)")
      .def_prop_ro(
          "type", [](const PackedMatrix& packed) { return std::string(name_of(packed.type())); },
          "The elements' type, as f32.")
      .def_prop_ro(
          "kernel", [](const PackedMatrix& packed) { return packed.kernel(); },
          "The kernel that reads it.")
      .def_prop_ro(
          "block_k", [](const PackedMatrix& packed) { return packed.block_k(); },
          "The depth of its panels, which a plan's tile has to have.")
      .def_prop_ro(
          "nbytes", [](const PackedMatrix& packed) { return packed.bytes(); },
          "The memory that it takes.")
      .def("__repr__", [](const PackedMatrix& packed) {
        return "<tessera.PackedMatrix " + std::to_string(packed.rows()) + "x" +
               std::to_string(packed.cols()) + " " + std::string(name_of(packed.type())) +
               ", for " + packed.kernel() + ">";
      });
  module.def(
      "pack_b",
      [](const Input& b, std::int64_t rows, const std::optional<std::string>& type_a) {
        const ConstMatrixView view = matrix_to_pack(b);
        const ElementType of_a = type_a ? element_type_from_name(*type_a) : view.type;
        const nb::gil_scoped_release released;
        return pack_b(view, rows, of_a);
      },
      nb::arg("b"), nb::arg("rows"), nb::arg("type_a").none());
  module.def(
      "pack_b_for_plan",
      [](const Input& b, const Plan& plan) {
        const ConstMatrixView view = matrix_to_pack(b);
        const nb::gil_scoped_release released;
        return pack_b(plan, view);
      },
      nb::arg("b"), nb::arg("plan"));
}

void bind_memory(nb::module_& module) {
  nb::class_<Memory>(module, "Memory", "Where an array's elements lie; strides count elements.")
      .def(
          "__init__",
          [](Memory* place, nb::object owner, std::uintptr_t address,
             const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
             const std::string& type, int device) {
            Memory memory;
            memory.owner = std::move(owner);
            memory.data = reinterpret_cast<void*>(address);
            memory.type = element_type_from_name(type);
            memory.device = device;
            set_extents(memory, "array", shape.size(), shape.data(), strides.data());
            new (place) Memory(std::move(memory));
          },
          nb::arg("owner"), nb::arg("address"), nb::arg("shape"), nb::arg("strides"),
          nb::arg("type"), nb::arg("device") = kHost);
}

}  // namespace tessera::python
