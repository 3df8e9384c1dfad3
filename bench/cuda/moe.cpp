#include "bench/cuda/moe.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "bench/cuda/arena.hpp"
#include "bench/cuda/cublaslt.hpp"
#include "bench/cuda/limits.hpp"
#include "bench/cuda/stopwatch.hpp"
#include "cuda/check.hpp"
#include "cuda/device_machine.hpp"
#include "tessera/grouped.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

// Beyond this, bf16 sums of the same products in another order do not differ.
constexpr double kMostDifference = 0.02;

// Work that was queued on a stream once, to be queued again in one call.
class Graph {
 public:
  template <class Queue>
  Graph(cudaStream_t stream, Queue queue) {
    cudaGraph_t graph = nullptr;
    queue();  // workspaces and kernels are loaded before the capture
    cuda::check(cudaStreamSynchronize(stream), "the run before a capture");
    cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                "beginning a capture");
    queue();
    cuda::check(cudaStreamEndCapture(stream, &graph), "ending a capture");
    cuda::check(cudaGraphInstantiate(&executable_, graph, 0), "making a graph");
    cudaGraphDestroy(graph);
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(cudaStream_t stream) const {
    cuda::check(cudaGraphLaunch(executable_, stream), "launching a graph");
  }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

template <class T>
DeviceMemory to_device(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  cuda::check(cudaMemcpy(memory.data(), values.data(), memory.size(), cudaMemcpyHostToDevice),
              "copying to the device");
  return memory;
}

std::size_t bytes_of(std::int64_t rows, std::int64_t cols, ElementType type) {
  return static_cast<std::size_t>(rows * cols * size_of(type));
}

MoeTiming named(std::string name, const Sample& sample) {
  return {std::move(name), sample.median, sample.lowest, sample.spread};
}

}  // namespace

struct CudaMoe::State {
  explicit State(const CudaMoeOptions& chosen)
      : options(chosen), machine(cuda::cuda_machine()), stopwatch(flush_bytes(chosen.cold)) {
    if (options.peer) peer.emplace(options.peer_library);
    cuda::check(cudaGetDevice(&device), "asking for the current device");
    limits = measure_device_limits(stopwatch, machine, options.types, peer ? &*peer : nullptr);
  }

  RunOptions run_options(cudaStream_t stream) const { return {.device = device, .stream = stream}; }

  // One layer's operands, its sizes in device memory.
  struct Layer {
    DeviceMemory offsets;
    RaggedRows rows;
  };
  Layer layer_of(const Case& what, OperandArena& output) {
    const MoeShape shape = moe_shape(what);
    const GemmTypes& types = options.types;
    Layer layer{to_device(moe_offsets(what)), {}};
    layer.rows.a = {
        a_memory.random(bytes_of(shape.rows, shape.k, types.a), types.a, stopwatch.stream()),
        shape.rows,
        shape.k,
        shape.k,
        1,
        types.a};
    layer.rows.offsets = {layer.offsets.data(), shape.groups + 1, IndexType::i32};
    layer.rows.b = {b_memory.random(bytes_of(shape.groups * shape.k, shape.n, types.b), types.b,
                                    stopwatch.stream()),
                    shape.groups,
                    shape.k,
                    shape.n,
                    shape.k * shape.n,
                    shape.n,
                    1,
                    types.b};
    layer.rows.c = {output.any(bytes_of(shape.rows, shape.n, types.c)),
                    shape.rows,
                    shape.n,
                    shape.n,
                    1,
                    types.c};
    return layer;
  }

  // The same products, known to the host.
  static std::vector<Operands> products_of(const Case& what, const RaggedRows& rows) {
    std::vector<Operands> products;
    auto* a = static_cast<const std::byte*>(rows.a.data);
    auto* b = static_cast<const std::byte*>(rows.b.data);
    auto* c = static_cast<std::byte*>(rows.c.data);
    for (const GemmShape& s : what.groups) {
      if (s.m > 0) {
        products.push_back({{a, s.m, s.k, s.k, 1, rows.a.type},
                            {b, s.k, s.n, s.n, 1, rows.b.type},
                            {c, s.m, s.n, s.n, 1, rows.c.type},
                            {}});
      }
      a += bytes_of(s.m, s.k, rows.a.type);
      b += bytes_of(s.k, s.n, rows.b.type);
      c += bytes_of(s.m, s.n, rows.c.type);
    }
    return products;
  }

  std::vector<Plan> plans_of(const std::vector<Operands>& products) const {
    std::vector<Plan> plans;
    for (const Operands& product : products) {
      plans.push_back(make_plan(describe({&product, 1}, 1, 0, {}), machine));
    }
    return plans;
  }

  // One kernel for each product, as a graph.
  std::unique_ptr<Graph> one_by_one(const std::vector<Operands>& products,
                                    const std::vector<Plan>& plans) {
    const cudaStream_t stream = stopwatch.stream();
    return std::make_unique<Graph>(stream, [&] {
      for (std::size_t i = 0; i < products.size(); ++i) {
        tessera::run(plans[i], {&products[i], 1}, {.stream = stream});
      }
    });
  }

  CudaMoeOptions options;
  Machine machine;
  int device = 0;
  Stopwatch stopwatch;
  std::optional<CublasLt> peer;
  ProcessorLimits limits;
  OperandArena a_memory, b_memory, c_memory, other_c_memory;
};

CudaMoe::CudaMoe(const CudaMoeOptions& options) : state_(std::make_unique<State>(options)) {}
CudaMoe::~CudaMoe() = default;

const Machine& CudaMoe::machine() const {
  return state_->machine;
}

const ProcessorLimits& CudaMoe::limits() const {
  return state_->limits;
}

std::string CudaMoe::peer_name() const {
  return state_->peer ? "cuBLASLt " + state_->peer->version() : "";
}

MoeResult CudaMoe::measure(const Case& what) {
  State& state = *state_;
  MoeResult result;
  result.what = what;
  const State::Layer ours = state.layer_of(what, state.c_memory);
  const State::Layer theirs = state.layer_of(what, state.other_c_memory);
  const Plan plan = make_ragged_plan(ours.rows, 1, 0, {}, state.machine, state.options.plan);
  result.plan = plan.kernel + " " + std::string(name_of(plan.schedule.kind));
  result.predicted_seconds = plan.cost.seconds;

  const std::vector<Operands> products = State::products_of(what, theirs.rows);
  const auto graph = state.one_by_one(products, state.plans_of(products));
  const std::vector<Sample> times = state.stopwatch.race(
      {{"tessera", [&](cudaStream_t s) { run_ragged(plan, ours.rows, state.run_options(s)); }},
       {"one kernel per expert", [&](cudaStream_t s) { graph->launch(s); }}},
      state.options.repeats);
  result.timings = {named("tessera", times[0]),
                    named("one kernel per expert, in a graph", times[1])};
  set_bound(result, state.options.types, state.limits);

  const double difference =
      largest_difference(ours.rows.c.data, theirs.rows.c.data, ours.rows.c.rows * ours.rows.c.cols,
                         ours.rows.c.type, state.stopwatch.stream());
  if (!(difference <= kMostDifference)) {
    result.wrong =
        fmt::format("differs from one product per expert by {:.3g} of the largest", difference);
  }
  return result;
}

MoeExtra CudaMoe::measure_empty_groups() {
  constexpr int kEmpty = 128;
  constexpr int kFull = 8;
  State& state = *state_;
  Case few{"8 groups", "", {}};
  Case many{"8 groups among 128 empty ones", "", {}};
  for (int group = 0; group < kFull; ++group) {
    few.groups.push_back({128, 2048, 768});
    many.groups.push_back({128, 2048, 768});
    for (int i = 0; i < kEmpty / kFull; ++i) many.groups.push_back({0, 2048, 768});
  }
  // The larger first: arenas move when they grow.
  const State::Layer with = state.layer_of(many, state.c_memory);
  const State::Layer without = state.layer_of(few, state.other_c_memory);
  const auto plan_for = [&](const State::Layer& layer) {
    return make_ragged_plan(layer.rows, 1, 0, {}, state.machine, state.options.plan);
  };
  const Plan plan_without = plan_for(without);
  const Plan plan_with = plan_for(with);
  const std::vector<Sample> times = state.stopwatch.race(
      {{few.name,
        [&](cudaStream_t s) { run_ragged(plan_without, without.rows, state.run_options(s)); }},
       {many.name,
        [&](cudaStream_t s) { run_ragged(plan_with, with.rows, state.run_options(s)); }}},
      2 * state.options.repeats);
  return {"128 empty groups added to 8 of 128x2048x768",
          {named(few.name, times[0]), named(many.name, times[1])}};
}

MoeExtra CudaMoe::measure_tiny_products() {
  constexpr int kProducts = 43;
  State& state = *state_;
  const GemmTypes& types = state.options.types;
  const cudaStream_t stream = state.stopwatch.stream();
  Case what{"43 tiny products", "", {}};
  for (int i = 0; i < kProducts; ++i) {
    what.groups.push_back(i % 2 == 0 ? GemmShape{192, 320, 128} : GemmShape{256, 448, 192});
  }
  // Each matrix at an address of its own, one after another.
  std::size_t a_bytes = 0, b_bytes = 0, c_bytes = 0;
  for (const GemmShape& s : what.groups) {
    a_bytes += bytes_of(s.m, s.k, types.a);
    b_bytes += bytes_of(s.k, s.n, types.b);
    c_bytes += bytes_of(s.m, s.n, types.c);
  }
  RaggedRows memory;
  memory.a = {state.a_memory.random(a_bytes, types.a, stream), 0, 0, 0, 1, types.a};
  memory.b = {state.b_memory.random(b_bytes, types.b, stream), 0, 0, 0, 0, 0, 1, types.b};
  memory.c = {state.c_memory.any(c_bytes), 0, 0, 0, 1, types.c};
  const std::vector<Operands> products = State::products_of(what, memory);

  std::vector<const void*> a, b;
  std::vector<void*> c;
  std::vector<std::int32_t> m, n, k;
  for (const Operands& product : products) {
    a.push_back(product.a.data);
    b.push_back(product.b.data);
    c.push_back(product.c.data);
    m.push_back(static_cast<std::int32_t>(product.c.rows));
    n.push_back(static_cast<std::int32_t>(product.c.cols));
    k.push_back(static_cast<std::int32_t>(product.a.cols));
  }
  const DeviceMemory a_there = to_device(a), b_there = to_device(b), c_there = to_device(c);
  const DeviceMemory m_there = to_device(m), n_there = to_device(n), k_there = to_device(k);
  const auto sizes = [](const DeviceMemory& there) {
    return IndexArray{there.data(), kProducts, IndexType::i32};
  };
  PointerArray array;
  array.groups = kProducts;
  array.types = types;
  array.a = reinterpret_cast<const void* const*>(a_there.data());
  array.b = reinterpret_cast<const void* const*>(b_there.data());
  array.c = reinterpret_cast<void* const*>(c_there.data());
  array.m = sizes(m_there);
  array.n = sizes(n_there);
  array.k = sizes(k_there);
  array.lda = array.k;
  array.ldb = array.n;
  array.ldc = array.n;
  array.bound = {256, 448, 192};
  array.alignment = 16;
  const Plan plan = make_ragged_plan(array, 1, 0, {}, state.machine, state.options.plan);
  const Graph ours(stream, [&] { run_ragged(plan, array, state.run_options(stream)); });

  std::vector<Contestant> contestants = {
      {"pointer array, in a graph", [&](cudaStream_t s) { ours.launch(s); }}};
  const std::vector<Plan> plans = state.plans_of(products);
  const auto each = state.one_by_one(products, plans);
  contestants.push_back(
      {"one kernel of ours each, in a graph", [&](cudaStream_t s) { each->launch(s); }});
  std::vector<std::unique_ptr<CublasLt::Product>> prepared;
  std::unique_ptr<Graph> theirs;
  if (state.peer) {
    for (const Operands& product : products) prepared.push_back(state.peer->prepare(product, 1));
    theirs = std::make_unique<Graph>(stream, [&] {
      for (const auto& product : prepared) product->run(0, stream);
    });
    contestants.push_back(
        {"one cuBLASLt call each, in a graph", [&](cudaStream_t s) { theirs->launch(s); }});
  }
  const std::vector<Sample> times = state.stopwatch.race(contestants, 2 * state.options.repeats);
  MoeExtra extra{"43 products of 192x320x128 and 256x448x192", {}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    extra.timings.push_back(named(contestants[i].name, times[i]));
  }
  return extra;
}

}  // namespace tessera::bench
