#include "ragged.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "arrays.hpp"
#include "tessera/grouped.hpp"

namespace tessera::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// Offsets or counts, side by side: an array, or for PyTorch, whose own protocols are slow, its
// address, length, bits of an element and device.
using IndexMemory = std::tuple<std::uintptr_t, std::int64_t, int, int>;
using IndexBuffer = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>;
using Indices = std::variant<IndexMemory, IndexBuffer>;

// The arrays of one call, all in the memory of one device.
class Arrays {
 public:
  MatrixView matrix(const Memory& memory, const char* argument) {
    check(memory, 2, argument);
    return {memory.data,       memory.shape[0],   memory.shape[1],
            memory.strides[0], memory.strides[1], memory.type};
  }
  BatchView batch(const Memory& memory, const char* argument) {
    check(memory, 3, argument);
    return {memory.data,       memory.shape[0],   memory.shape[1],   memory.shape[2],
            memory.strides[0], memory.strides[1], memory.strides[2], memory.type};
  }
  IndexArray indices(const Indices& given, const char* argument) {
    if (const auto* const memory = std::get_if<IndexMemory>(&given)) {
      const auto& [address, size, bits, device] = *memory;
      check_device(device, argument);
      return {reinterpret_cast<const void*>(address), size,
              bits == 32 ? IndexType::i32 : IndexType::i64};
    }
    const auto& array = std::get<IndexBuffer>(given);
    const bool is_host = array.device_type() == nb::device::cpu::value ||
                         array.device_type() == nb::device::cuda_host::value;
    check_device(is_host ? kHost : array.device_id(), argument);
    const auto size = static_cast<std::int64_t>(array.shape(0));
    if (array.dtype() == nb::dtype<std::int32_t>()) return {array.data(), size, IndexType::i32};
    if (array.dtype() == nb::dtype<std::int64_t>()) return {array.data(), size, IndexType::i64};
    throw Error(ErrorCode::invalid_argument, argument, "have elements of type int32 or int64",
                "DLPack type code " + std::to_string(array.dtype().code) + " with " +
                    std::to_string(array.dtype().bits) + " bits",
                "convert the array");
  }
  // One bias for all groups, or one in each row.
  ConstMatrixView bias(const std::optional<Input>& input, std::int64_t groups) {
    if (!input) return {};
    const Memory memory = memory_of(*input, "bias");
    if (memory.dimensions != 1) return matrix(memory, "bias");
    check(memory, 1, "bias");
    return {memory.data, groups, memory.shape[0], 0, memory.strides[0], memory.type};
  }
  RunOptions options(int threads, std::uintptr_t stream) const {
    RunOptions options;
    options.threads = threads;
    options.stream = reinterpret_cast<void*>(stream);
    options.device = device_.value_or(kHost);
    return options;
  }

 private:
  void check(const Memory& memory, std::size_t dimensions, const char* argument) {
    if (memory.dimensions != dimensions) {
      throw Error(ErrorCode::invalid_argument, argument,
                  "have " + std::to_string(dimensions) + " dimensions",
                  std::to_string(memory.dimensions), "reshape the array");
    }
    check_device(memory.device, argument);
  }
  void check_device(int device, const char* argument) {
    if (device_.value_or(device) != device) {
      throw Error(ErrorCode::invalid_argument, argument, "lie in the memory of A's device",
                  "an array of another", "move it");
    }
    device_ = device;
  }

  std::optional<int> device_;
};

Epilogue epilogue_of(bool has_bias, const std::string& activation) {
  return {has_bias ? BiasAxis::column : BiasAxis::none, activation_from_name(activation)};
}

// Throws what is wrong with a call but for its sizes. A plan is the only thing that says so.
template <class Products>
void check_views(const Products& products, double alpha, double beta, const Epilogue& epilogue) {
  static const Machine machine = host_machine();
  make_ragged_plan(products, alpha, beta, epilogue, machine);
}

// What the three doors do alike once their matrices and sizes are set.
template <class Products>
void multiply(Arrays& arrays, Products& products, std::int64_t groups, double alpha, double beta,
              const std::optional<Input>& bias, const std::string& activation, int threads,
              std::uintptr_t stream, const nb::object& place_addend) {
  products.bias = arrays.bias(bias, groups);
  const Epilogue epilogue = epilogue_of(bias.has_value(), activation);
  if (!place_addend.is_none()) {
    check_views(products, alpha, beta, epilogue);
    place_addend();
  }
  const nb::gil_scoped_release released;
  ragged_gemm(alpha, products, beta, epilogue, arrays.options(threads, stream));
}

void ragged_rows(const Input& a, const Indices& offsets, const Input& b, const Output& c,
                 double alpha, double beta, const std::optional<Input>& bias,
                 const std::string& activation, int threads, std::uintptr_t stream,
                 const nb::object& place_addend) {
  Arrays arrays;
  RaggedRows rows;
  rows.a = arrays.matrix(memory_of(a, "A"), "A");
  rows.offsets = arrays.indices(offsets, "offsets");
  rows.b = arrays.batch(memory_of(b, "B"), "B");
  rows.c = arrays.matrix(memory_of(c, "C"), "C");
  multiply(arrays, rows, rows.b.groups, alpha, beta, bias, activation, threads, stream,
           place_addend);
}

void masked_rows(const Input& a, const Indices& counts, const Input& b, const Output& c,
                 double alpha, double beta, const std::optional<Input>& bias,
                 const std::string& activation, int threads, std::uintptr_t stream,
                 const nb::object& place_addend) {
  Arrays arrays;
  MaskedRows masked;
  masked.a = arrays.batch(memory_of(a, "A"), "A");
  masked.counts = arrays.indices(counts, "counts");
  masked.b = arrays.batch(memory_of(b, "B"), "B");
  masked.c = arrays.batch(memory_of(c, "C"), "C");
  multiply(arrays, masked, masked.b.groups, alpha, beta, bias, activation, threads, stream,
           place_addend);
}

void ragged_k(const Input& a, const Indices& offsets, const Input& b, const Output& c, double alpha,
              double beta, const std::optional<Input>& bias, const std::string& activation,
              int threads, std::uintptr_t stream, const nb::object& place_addend) {
  Arrays arrays;
  RaggedK depth;
  depth.a = arrays.matrix(memory_of(a, "A"), "A");
  depth.offsets = arrays.indices(offsets, "offsets");
  depth.b = arrays.matrix(memory_of(b, "B"), "B");
  depth.c = arrays.batch(memory_of(c, "C"), "C");
  multiply(arrays, depth, depth.c.groups, alpha, beta, bias, activation, threads, stream,
           place_addend);
}

void gated_rows(const Input& a, const Input& gate, const Input& up, const Output& c,
                const Indices& offsets, const std::string& activation, int threads,
                std::uintptr_t stream) {
  Arrays arrays;
  RaggedRows rows;
  rows.a = arrays.matrix(memory_of(a, "A"), "A");
  rows.offsets = arrays.indices(offsets, "offsets");
  rows.b = arrays.batch(memory_of(gate, "gate"), "gate");
  rows.c = arrays.matrix(memory_of(c, "C"), "C");
  const BatchView ups = arrays.batch(memory_of(up, "up"), "up");
  const Activation kind = activation_from_name(activation);
  const nb::gil_scoped_release released;
  gated_gemm(rows, ups, kind, arrays.options(threads, stream));
}

void gated(const Input& a, const Input& gate, const Input& up, const Output& c,
           const std::string& activation, int threads, std::uintptr_t stream) {
  Arrays arrays;
  const MatrixView view_a = arrays.matrix(memory_of(a, "A"), "A");
  const MatrixView view_gate = arrays.matrix(memory_of(gate, "gate"), "gate");
  const MatrixView view_up = arrays.matrix(memory_of(up, "up"), "up");
  const MatrixView view_c = arrays.matrix(memory_of(c, "C"), "C");
  const Activation kind = activation_from_name(activation);
  const nb::gil_scoped_release released;
  gated_gemm(view_a, view_gate, view_up, view_c, kind, arrays.options(threads, stream));
}

}  // namespace

void bind_ragged(nb::module_& m) {
  m.def("ragged_rows", &ragged_rows, "a"_a, "offsets"_a, "b"_a, "c"_a, "alpha"_a, "beta"_a,
        "bias"_a.none(), "activation"_a, "threads"_a, "stream"_a, "place_addend"_a.none());
  m.def("masked_rows", &masked_rows, "a"_a, "counts"_a, "b"_a, "c"_a, "alpha"_a, "beta"_a,
        "bias"_a.none(), "activation"_a, "threads"_a, "stream"_a, "place_addend"_a.none());
  m.def("ragged_k", &ragged_k, "a"_a, "offsets"_a, "b"_a, "c"_a, "alpha"_a, "beta"_a,
        "bias"_a.none(), "activation"_a, "threads"_a, "stream"_a, "place_addend"_a.none());
  m.def("gated_rows", &gated_rows, "a"_a, "gate"_a, "up"_a, "c"_a, "offsets"_a, "activation"_a,
        "threads"_a, "stream"_a);
  m.def(
      "check_sizes",
      [](std::uintptr_t stream) {
        RunOptions options;
        options.stream = reinterpret_cast<void*>(stream);
        const nb::gil_scoped_release released;
        tessera::check_sizes(options);
      },
      "stream"_a);
  m.def("gated", &gated, "a"_a, "gate"_a, "up"_a, "c"_a, "activation"_a, "threads"_a, "stream"_a);
}

}  // namespace tessera::python
