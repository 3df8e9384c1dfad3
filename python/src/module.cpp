// The extension module: the C++ API for Python's arrays. What makes it pleasant (results in the
// caller's framework, streams, defaults) is Python, in ../tessera.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "errors.hpp"
#include "ragged.hpp"
#ifdef TESSERA_HAS_JAX
#include "jax_ffi.hpp"
#endif
#include "report/plan_pictures.hpp"
#include "tessera/log.hpp"
#include "tessera/tessera.hpp"

namespace tessera::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Inputs = std::vector<Input>;
using Outputs = std::vector<Output>;
using OptionalInputs = std::optional<std::vector<Input>>;
using NameTriple = std::tuple<std::string, std::string, std::string>;
using ShapeTriple = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

struct Products {
  std::vector<Operands> groups;
  int device = kHost;
};

Products products_of(const Inputs& a, const Inputs& b, const Outputs& c,
                     const OptionalInputs& biases) {
  const bool same_length =
      a.size() == c.size() && b.size() == c.size() && (!biases || biases->size() == c.size());
  if (!same_length) {
    throw Error(ErrorCode::invalid_argument, "lists of arrays", "have one length",
                std::to_string(a.size()) + " A, " + std::to_string(b.size()) + " B and " +
                    std::to_string(c.size()) + " C" +
                    (biases ? " and " + std::to_string(biases->size()) + " biases" : ""),
                "pass one A, B and C for each product");
  }
  Products products;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const std::optional<Input> bias = biases ? std::optional((*biases)[i]) : std::nullopt;
    const int device = append_products(products.groups, a[i], b[i], c[i], bias);
    if (i > 0 && device != products.device) {
      throw Error(ErrorCode::invalid_argument, "the products", "lie in the memory of one device",
                  "arrays of several devices", "call once for each device");
    }
    products.device = device;
  }
  return products;
}

Epilogue epilogue_of(const std::string& bias_axis, const std::string& activation) {
  return {bias_axis_from_name(bias_axis), activation_from_name(activation)};
}

RunOptions options_of(int threads, std::uintptr_t stream, int device) {
  RunOptions options;
  options.threads = threads;
  options.device = device;
  options.stream = reinterpret_cast<void*>(stream);
  return options;
}

void gemm_arrays(const Input& a, const Input& b, const Output& c, double alpha, double beta,
                 const std::optional<Input>& bias, const std::string& bias_axis,
                 const std::string& activation, int threads, std::uintptr_t stream,
                 const nb::object& place_addend) {
  const Epilogue epilogue = epilogue_of(bias_axis, activation);
  std::vector<Operands> groups;
  const int device = append_products(groups, a, b, c, bias);
  const RunOptions options = options_of(threads, stream, device);
  if (!place_addend.is_none()) {
    describe(groups, alpha, beta, epilogue);
    place_addend();
  }
  const nb::gil_scoped_release released;
  if (groups.size() == 1) {
    gemm(alpha, groups.front(), beta, epilogue, options);
  } else {
    grouped_gemm(alpha, groups, beta, epilogue, options);
  }
}

void grouped_gemm_arrays(const Inputs& a, const Inputs& b, const Outputs& c, double alpha,
                         double beta, const OptionalInputs& biases, const std::string& bias_axis,
                         const std::string& activation, int threads, std::uintptr_t stream,
                         const nb::object& place_addend) {
  const Epilogue epilogue = epilogue_of(bias_axis, activation);
  const Products products = products_of(a, b, c, biases);
  const RunOptions options = options_of(threads, stream, products.device);
  if (!place_addend.is_none()) {
    describe(products.groups, alpha, beta, epilogue);
    place_addend();
  }
  const nb::gil_scoped_release released;
  grouped_gemm(alpha, products.groups, beta, epilogue, options);
}

void run_plan(const Plan& plan, const Inputs& a, const Inputs& b, const Outputs& c,
              const OptionalInputs& biases, int threads, std::uintptr_t stream) {
  const Products products = products_of(a, b, c, biases);
  const bool on_gpu = plan.machine.kind == MachineKind::gpu;
  if (!products.groups.empty() && on_gpu != (products.device != kHost)) {
    throw Error(ErrorCode::invalid_argument, "operands",
                on_gpu ? "lie in CUDA memory, as the plan is for a GPU"
                       : "lie in host memory, as the plan is for a CPU",
                on_gpu ? "host arrays" : "CUDA arrays", "move them, or plan for their device");
  }
  const RunOptions options = options_of(threads, stream, products.device);
  const nb::gil_scoped_release released;
  run(plan, products.groups, options);
}

// The planner refuses what is too large, so it must not become small on the way.
int block_of(std::int64_t extent) {
  return static_cast<int>(std::clamp<std::int64_t>(extent, -1, std::numeric_limits<int>::max()));
}

std::optional<TileConfig> tile_of(const std::optional<ShapeTriple>& tile) {
  if (!tile) return std::nullopt;
  TileConfig config;
  config.block_m = block_of(std::get<0>(*tile));
  config.block_n = block_of(std::get<1>(*tile));
  config.block_k = block_of(std::get<2>(*tile));
  return config;
}

Plan plan_shapes(const std::vector<ShapeTriple>& shapes, const NameTriple& types,
                 const Machine& machine, double alpha, double beta, const std::string& bias_axis,
                 const std::string& activation, const std::optional<PackedMatrix>& packed_b,
                 bool plans_packed_b, const std::optional<std::string>& schedule,
                 std::optional<int> workers, std::optional<int> splits,
                 const std::optional<ShapeTriple>& tile, const std::optional<std::string>& order,
                 bool two_tile, const std::optional<std::string>& kernel, bool batch_invariant,
                 bool keep_others) {
  Problem problem = dense_problem(
      {}, {element_type_from_name(std::get<0>(types)), element_type_from_name(std::get<1>(types)),
           element_type_from_name(std::get<2>(types))});
  problem.groups.clear();
  for (const auto& [m, n, k] : shapes) problem.groups.push_back({m, n, k});
  problem.alpha = alpha;
  problem.beta = beta;
  problem.epilogue = epilogue_of(bias_axis, activation);

  PlanOptions options;
  if (packed_b || plans_packed_b) problem.b = kPackedLayout;
  if (schedule) options.schedule = schedule_kind_from_name(*schedule);
  options.workers = workers;
  options.splits = splits;
  options.tile = tile_of(tile);
  if (order) options.order = tile_order_from_name(*order);
  options.two_tile = two_tile;
  options.kernel = kernel;
  options.batch_invariant = batch_invariant;
  options.keep_others = keep_others;
  if (packed_b) options = options_for(*packed_b, std::move(options));
  const nb::gil_scoped_release released;
  return make_plan(problem, machine, options);
}

void set_log_callable(const nb::object& receiver) {
  if (receiver.is_none()) {
    const nb::gil_scoped_release released;
    set_log({});
    return;
  }
  if (PyCallable_Check(receiver.ptr()) == 0) {
    throw Error(ErrorCode::invalid_argument, "receiver", "be callable with one line of text",
                nb::cast<std::string>(nb::repr(receiver)), "pass a function, or None for no log");
  }
  // Released with the GIL held, whoever lets go of it last; never, once Python is gone.
  const auto release = [](nb::object* object) {
    if (!Py_IsInitialized()) return;
    const nb::gil_scoped_acquire acquired;
    delete object;
  };
  const std::shared_ptr<nb::object> shared(new nb::object(receiver), release);
  const nb::gil_scoped_release released;
  set_log([shared](std::string_view line) {
    const nb::gil_scoped_acquire acquired;
    try {
      (*shared)(nb::str(line.data(), line.size()));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("tessera.set_log");
    }
  });
}

void bind_machine(nb::module_& m) {
  nb::class_<Machine>(m, "Machine", "A processor as data, which plans are made for.")
      .def_static("host", &host_machine, "The processor this code runs on.")
      .def_static("device", &device_machine, "device"_a = 0, "A CUDA device.")
      .def_static(
          "by_name", [](const std::string& name) { return machine_by_name(name); }, "name"_a,
          "One that ships with the library; machine_names() lists them.")
      .def_static(
          "from_json", [](const std::string& text) { return machine_from_json(text); }, "text"_a)
      .def("to_json", [](const Machine& machine) { return to_json(machine); })
      .def_ro("name", &Machine::name)
      .def_ro("architecture", &Machine::architecture)
      .def_ro("workers", &Machine::workers)
      .def("__repr__", [](const Machine& machine) {
        return "<tessera.Machine " + machine.name + ": " + machine.architecture + ", " +
               std::to_string(machine.workers) + " workers>";
      });
  m.def("machine_names", &machine_names);
  m.def("device_count", &device_count);
}

void bind_plan(nb::module_& m) {
  nb::class_<Plan>(m, "PlanHandle", "A plan; tessera.Plan makes it readable.")
      .def_static(
          "from_json", [](const std::string& text) { return plan_from_json(text); }, "text"_a)
      .def("to_json", [](const Plan& plan) { return to_json(plan); })
      .def("pictures", [](const Plan& plan) { return report::plan_pictures(plan); })
      .def("workspace_bytes", [](const Plan& plan) { return workspace_bytes(plan); })
      .def("run", &run_plan, "a"_a, "b"_a, "c"_a, "biases"_a.none(), "threads"_a, "stream"_a);
  m.def("plan", &plan_shapes, "shapes"_a, "types"_a, "machine"_a, "alpha"_a, "beta"_a,
        "bias_axis"_a, "activation"_a, "packed_b"_a.none(), "plans_packed_b"_a, "schedule"_a.none(),
        "workers"_a.none(), "splits"_a.none(), "tile"_a.none(), "order"_a.none(), "two_tile"_a,
        "kernel"_a.none(), "batch_invariant"_a, "keep_others"_a);
}

}  // namespace
}  // namespace tessera::python

NB_MODULE(_tessera, m) {
  using namespace tessera::python;
  m.doc() = "Tessera's C++ API; see the package tessera.";
  bind_errors(m);
  bind_memory(m);
  bind_machine(m);
  bind_plan(m);
  bind_packed(m);
  bind_ragged(m);
  m.def("gemm", &gemm_arrays, "a"_a, "b"_a, "c"_a, "alpha"_a, "beta"_a, "bias"_a.none(),
        "bias_axis"_a, "activation"_a, "threads"_a, "stream"_a, "place_addend"_a.none());
  m.def("grouped_gemm", &grouped_gemm_arrays, "a"_a, "b"_a, "c"_a, "alpha"_a, "beta"_a,
        "biases"_a.none(), "bias_axis"_a, "activation"_a, "threads"_a, "stream"_a,
        "place_addend"_a.none());
  m.def("set_log", &set_log_callable, "receiver"_a.none());
  m.def("version", &tessera::version);
#ifdef TESSERA_HAS_JAX
  bind_jax(m);
#endif
}
