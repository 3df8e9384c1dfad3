// The memory that the library keeps for callers that bring none: threads that share a stream,
// graphs that outlive it, streams that come and go. And what else a program may do around its
// calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "cuda/hog.hpp"
#include "cuda/ragged_case.hpp"
#include "cuda/repeat.hpp"
#include "tessera/error.hpp"

namespace tessera::test {
namespace {

constexpr int kRuns = 200;

bool has_hopper() {
  return device_under_test().architecture == "sm_90";
}

// A product in many pieces, so that it needs slots and counters; the bits that it makes alone.
struct SplitProduct {
  SplitProduct(std::uint64_t seed, int splits, std::int64_t rows)
      : product({.types = {ElementType::bf16, ElementType::bf16, ElementType::bf16},
                 .shape = {rows, 512, 4096},
                 .seed = seed}),
        group(product.operands()),
        plan(forced_plan(
            product.problem(),
            *find_kernel(has_hopper() ? "sm90_bf16_128x128x64" : "sm80_general_bf16_128x128x32"),
            {.kind = ScheduleKind::split_k, .workers = 60, .splits = splits})),
        expected(product.c().copy()) {
    const GuardedWorkspace workspace(workspace_bytes(plan));
    const Stream stream;
    run(plan, {&group, 1}, workspace.options(stream));
    check(cudaStreamSynchronize(stream));
    EXPECT_EQ(product.verdict(splits), "");
    expected.copy_from(product.c());
    check(cudaDeviceSynchronize());
  }

  void queue(cudaStream_t stream) const { run(plan, {&group, 1}, {.stream = stream}); }
  std::int64_t differences(cudaStream_t stream) {
    return product.c().count_differences(expected, stream);
  }

  DeviceProduct product;
  Operands group;
  Plan plan;
  DeviceMatrix expected;
};

class LibraryWorkspace : public CudaTest {};

// Of so many groups the records are sent in dozens of pieces before the product is.
TEST_F(LibraryWorkspace, ThreadsShareAStream) {
  const Stream stream;
  const auto work = [&](std::size_t which) -> std::string {
    RaggedCase what{.types = {ElementType::bf16, ElementType::bf16, ElementType::bf16},
                    .seed = which + 1};
    for (const std::int64_t m : draw_sizes(which == 0 ? 700 : 900, 40, which + 1)) {
      what.shapes.push_back({m, 64, 64});
    }
    const DeviceRagged ragged(what);
    const std::vector<Operands> groups = ragged.list();
    const Plan plan = make_plan(tessera::describe(groups, 1, 0, {}), device_machine());
    {
      const GuardedWorkspace workspace(workspace_bytes(plan));
      const Stream own;
      run(plan, groups, workspace.options(own));
      check(cudaStreamSynchronize(own));
    }
    if (const std::string verdict = ragged.verdict(64); !verdict.empty()) return verdict;
    const DeviceMatrix expected = ragged.c().copy();
    std::int64_t differences = 0;
    for (int i = 0; i < kRuns; ++i) {
      ragged.reset_c(stream);
      run(plan, groups, {.stream = stream});
      differences += ragged.c().count_differences(expected, stream);
    }
    return differences == 0 ? "" : std::to_string(differences) + " elements differ";
  };
  const auto said = on_two_threads(work);
  EXPECT_EQ(said[0], "");
  EXPECT_EQ(said[1], "");
}

// A larger plan on its stream must not take away the memory whose address the graph holds.
TEST_F(LibraryWorkspace, AGraphKeepsIts) {
  const Stream stream;
  SplitProduct small(1, 4, 256);
  SplitProduct large(2, 32, 1024);
  ASSERT_GT(workspace_bytes(large.plan), std::size_t{20} << 20);
  ASSERT_LT(workspace_bytes(small.plan), std::size_t{16} << 20);
  small.queue(stream);
  const Graph graph(stream, [&] { small.queue(stream); });
  large.queue(stream);
  // Whatever the library gave back serves others now.
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  std::vector<void*> others(4);
  for (void*& memory : others) {
    check(cudaMallocAsync(&memory, kBytes, stream));
    check(cudaMemsetAsync(memory, 0x55, kBytes, stream));
  }
  for (int i = 0; i < 20; ++i) {
    small.product.reset_c(stream);
    graph.replay(stream);
    ASSERT_EQ(small.differences(stream), 0) << "replay " << i;
  }
  std::vector<unsigned char> found(kBytes);
  for (void* const memory : others) {
    check(cudaMemcpyAsync(found.data(), memory, kBytes, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    EXPECT_EQ(found, std::vector<unsigned char>(kBytes, 0x55));
    check(cudaFreeAsync(memory, stream));
  }
  check(cudaStreamSynchronize(stream));
}

// A graph may be replayed on any stream, beside what runs on the one that it was captured on.
TEST_F(LibraryWorkspace, AGraphRunsBesideItsStream) {
  const Stream captured_on;
  const Stream replayed_on;
  SplitProduct in_graph(3, 16, 256);
  SplitProduct beside(4, 16, 256);
  in_graph.queue(captured_on);
  const Graph graph(captured_on, [&] { in_graph.queue(captured_on); });
  std::int64_t differences = 0;
  for (int i = 0; i < kRuns; ++i) {
    in_graph.product.reset_c(replayed_on);
    beside.product.reset_c(captured_on);
    for (int j = 0; j < 4; ++j) {
      graph.replay(replayed_on);
      beside.queue(captured_on);
    }
    differences += in_graph.differences(replayed_on) + beside.differences(captured_on);
  }
  EXPECT_EQ(differences, 0);
}

// In the strictest mode, which frameworks use, and with nothing run on the stream before.
TEST_F(LibraryWorkspace, ACaptureNeedsNoRunBefore) {
  const Stream stream;
  SplitProduct split(5, 16, 256);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_NO_THROW(split.queue(stream));
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&replay, graph, 0));
  split.product.reset_c(stream);
  for (int i = 0; i < 3; ++i) check(cudaGraphLaunch(replay, stream));
  EXPECT_EQ(split.differences(stream), 0);
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
}

// One handle stands for every thread's own stream.
TEST_F(LibraryWorkspace, StreamsPerThread) {
  std::barrier both(2);
  SplitProduct products[2] = {{6, 16, 256}, {7, 16, 256}};
  std::int64_t differences[2] = {0, 0};
  const auto said = on_two_threads([&](std::size_t which) -> std::string {
    // One that fails must not keep the other waiting.
    const std::unique_ptr<std::barrier<>, void (*)(std::barrier<>*)> leaving(
        &both, [](std::barrier<>* left) { left->arrive_and_drop(); });
    const cudaStream_t stream = cudaStreamPerThread;
    SplitProduct& split = products[which];
    split.queue(stream);
    check(cudaStreamSynchronize(stream));
    both.arrive_and_wait();
    {
      const Graph graph(stream, [&] { split.queue(stream); });
      both.arrive_and_wait();
      for (int i = 0; i < kRuns; ++i) {
        split.product.reset_c(stream);
        for (int j = 0; j < 4; ++j) graph.replay(stream);
        differences[which] += split.differences(stream);
      }
    }
    return differences[which] == 0 ? "" : std::to_string(differences[which]) + " differ";
  });
  EXPECT_EQ(said[0], "");
  EXPECT_EQ(said[1], "");
}

// A program may make a stream for each request.
TEST_F(LibraryWorkspace, StreamsComeAndGo) {
  SplitProduct split(9, 16, 256);
  const auto run_on_new_streams = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const Stream stream;
      split.product.reset_c(stream);
      split.queue(stream);
      ASSERT_EQ(split.differences(stream), 0);
    }
    check(cudaDeviceSynchronize());
  };
  const auto free_bytes = [] {
    std::size_t free = 0;
    std::size_t all = 0;
    check(cudaMemGetInfo(&free, &all));
    return static_cast<std::int64_t>(free);
  };
  run_on_new_streams(10);
  const std::int64_t before = free_bytes();
  run_on_new_streams(100);
  EXPECT_LT(before - free_bytes(), std::int64_t{400} << 20);
}

// What the library relies on where it hands a stream's memory to the next one of its handle.
TEST_F(LibraryWorkspace, AHandleIsNotGivenAgainWhileItsStreamWorks) {
  const DeviceBuffer memory(std::size_t{1} << 30);
  cudaStream_t worker = nullptr;
  cudaEvent_t done = nullptr;
  check(cudaStreamCreateWithFlags(&worker, cudaStreamNonBlocking));
  check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int i = 0; i < 500; ++i) check(cudaMemsetAsync(memory.data(), i, memory.size(), worker));
  check(cudaEventRecord(done, worker));
  check(cudaStreamDestroy(worker));
  std::vector<cudaStream_t> others(64);
  for (cudaStream_t& other : others) {
    check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  }
  const bool is_working = cudaEventQuery(done) == cudaErrorNotReady;
  static_cast<void>(cudaGetLastError());
  if (is_working) {
    EXPECT_EQ(std::ranges::count(others, worker), 0);
  }
  check(cudaDeviceSynchronize());
  for (cudaStream_t other : others) check(cudaStreamDestroy(other));
  check(cudaEventDestroy(done));
  if (!is_working) GTEST_SKIP() << "the stream's work was done too soon";
}

TEST_F(LibraryWorkspace, WrongSizesInAGraphAreToldOf) {
  const Stream stream;
  RaggedCase what{.types = {ElementType::f32, ElementType::f32, ElementType::f32},
                  .shapes = {{20, 64, 64}, {30, 64, 64}, {50, 64, 64}}};
  DeviceRagged ragged(what);
  const auto plan = forced_ragged_plan(ragged, *find_kernel("sm80_general_f32_128x128x16"),
                                       {.kind = ScheduleKind::stream_k, .workers = 9});
  ASSERT_TRUE(plan.has_value());
  const RunOptions options{.stream = stream};
  run_ragged(*plan, ragged.products(), options);
  const Graph graph(stream, [&] { run_ragged(*plan, ragged.products(), options); });
  SplitProduct(8, 32, 1024).queue(stream);
  ragged.set_numbers({0, 20, 10, 100}, stream);
  ragged.reset_c(stream);
  graph.replay(stream);
  EXPECT_THROW(check_sizes(options), Error);
  EXPECT_EQ(ragged.c().count_differences(ragged.c_before()), 0);
  EXPECT_NO_THROW(check_sizes(options));
  ragged.set_numbers({0, 20, 50, 100}, stream);
  graph.replay(stream);
  EXPECT_NO_THROW(check_sizes(options));
  EXPECT_EQ(ragged.verdict(64), "");
}

// It takes no workspace of the caller's.
TEST_F(LibraryWorkspace, WrongSizesOfAGatedPairAreToldOf) {
  const Stream stream;
  const GuardedWorkspace workspace(std::size_t{4} << 20);
  RunOptions options = workspace.options(stream);
  options.device = 0;
  DeviceRagged ragged({.types = {ElementType::bf16, ElementType::bf16, ElementType::bf16},
                       .shapes = {{20, 64, 64}, {30, 64, 64}, {50, 64, 64}}});
  const auto rows = std::get<RaggedRows>(ragged.products());
  ragged.set_numbers({0, 20, 10, 100}, stream);
  gated_gemm(rows, rows.b, Activation::silu, options);
  EXPECT_THROW(check_sizes(options), Error);
  EXPECT_NO_THROW(check_sizes(options));
  EXPECT_EQ(ragged.c().count_differences(ragged.c_before()), 0);
}

TEST_F(LibraryWorkspace, AskingForSizesSparesACapture) {
  const Stream stream;
  const DeviceBuffer memory(256);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  try {
    check_sizes({.stream = stream});
    ADD_FAILURE() << "nobody can wait for a stream that is being captured";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
  }
  check(cudaMemsetAsync(memory.data(), 0, memory.size(), stream));
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << "the capture was broken off";
  static_cast<void>(cudaGetLastError());
  if (graph != nullptr) check(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace tessera::test
