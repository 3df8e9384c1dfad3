// The same bits again: over repeated runs, in replayed graphs, on two streams at once, beside a
// kernel that hogs the device, and with more workers than the device holds. None of them may hang.
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "cuda/hog.hpp"
#include "cuda/product.hpp"

namespace tessera::test {
namespace {

struct Workspace {
  explicit Workspace(const Plan& plan) : buffer(workspace_bytes(plan)) {
    if (buffer.size() > 0) initialize_workspace(buffer.data(), buffer.size(), nullptr);
  }
  RunOptions options(cudaStream_t stream) const {
    return {.stream = stream, .workspace = buffer.data(), .workspace_size = buffer.size()};
  }
  DeviceBuffer buffer;
};

// A product, its forced plan, and a workspace and a stream of its own; all fills are done.
struct PlannedProduct {
  PlannedProduct(const ProductCase& what, const KernelEntry& kernel, const Schedule& schedule)
      : product(what),
        group(product.operands()),
        plan(forced_plan(product.problem(), kernel, schedule)),
        workspace(plan) {
    check(cudaDeviceSynchronize());
  }

  DeviceProduct product;
  Operands group;
  Plan plan;
  Workspace workspace;
  Stream stream;
};

class Repeat : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  const KernelEntry& kernel() const { return GetParam(); }

  // A product whose tiles have many contributors under stream-K.
  ProductCase product_case() const {
    const TileConfig& tile = kernel().tile;
    const GemmTypes preferred = gemm_types_for(kernel().a);
    return {.types = {kernel().a, kernel().b, preferred.c},
            .shape = {2 * tile.block_m, 3 * tile.block_n, 61 * tile.block_k},
            .b = {.column_major = kernel().a == ElementType::i8}};
  }

  static std::vector<Schedule> schedules() {
    using enum ScheduleKind;
    return {{.kind = stream_k, .workers = 57},
            {.kind = split_k, .workers = 40, .splits = 9},
            {.kind = hybrid, .workers = 4},
            {.kind = stream_k, .workers = 1777}};
  }
};

TEST_P(Repeat, SameBitsInAThousandRuns) {
  for (const Schedule& schedule : schedules()) {
    DeviceProduct product(product_case());
    const Operands group = product.operands();
    const Plan plan = forced_plan(product.problem(), kernel(), schedule);
    run(plan, {&group, 1});
    DeviceMatrix first = DeviceMatrix(product.what().types.c, product.what().shape.m,
                                      product.what().shape.n, DeviceFill::poison, 0);
    first.copy_from(product.c());
    ASSERT_EQ(product.verdict(1777), "") << describe_case(product.what(), schedule);
    std::int64_t differences = 0;
    for (int i = 0; i < 250; ++i) {
      product.reset_c();
      run(plan, {&group, 1});
      differences += product.c().count_differences(first);
    }
    EXPECT_EQ(differences, 0) << describe_case(product.what(), schedule);
  }
}

TEST_P(Repeat, GraphReplays) {
  for (const Schedule& schedule : schedules()) {
    PlannedProduct planned(product_case(), kernel(), schedule);
    auto& [product, group, plan, workspace, stream] = planned;

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    run(plan, {&group, 1}, workspace.options(stream));
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&replay, graph, 0));
    check(cudaGraphLaunch(replay, stream));
    check(cudaStreamSynchronize(stream));
    ASSERT_EQ(product.verdict(1777), "") << describe_case(product.what(), schedule);
    DeviceMatrix first(product.what().types.c, product.what().shape.m, product.what().shape.n,
                       DeviceFill::poison, 0);
    first.copy_from(product.c());
    check(cudaDeviceSynchronize());

    for (int i = 0; i < 1000; ++i) check(cudaGraphLaunch(replay, stream));
    check(cudaStreamSynchronize(stream));
    EXPECT_EQ(product.c().count_differences(first), 0) << describe_case(product.what(), schedule);
    check(cudaGraphExecDestroy(replay));
    check(cudaGraphDestroy(graph));
  }
}

// A stream that is being captured does not tell who it is; its workspace is found all the same.
TEST_P(Repeat, ACaptureUsesTheLibrarysWorkspace) {
  PlannedProduct planned(product_case(), kernel(), schedules().front());
  auto& [product, group, plan, workspace, stream] = planned;
  run(plan, {&group, 1}, {.stream = stream});
  product.reset_c(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  run(plan, {&group, 1}, {.stream = stream});
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&replay, graph, 0));
  check(cudaGraphLaunch(replay, stream));
  check(cudaStreamSynchronize(stream));
  EXPECT_EQ(product.verdict(1777), "");
  check(cudaGraphExecDestroy(replay));
  check(cudaGraphDestroy(graph));
}

// The library keeps a workspace per stream: two streams must not meet in one.
TEST_P(Repeat, TwoStreamsAtOnce) {
  const Schedule schedule{.kind = ScheduleKind::stream_k, .workers = 57};
  std::vector<std::string> verdicts(2);
  const auto work = [&](std::size_t which) {
    try {
      ProductCase what = product_case();
      what.seed = which + 5;
      DeviceProduct product(what);
      const Operands group = product.operands();
      const Plan plan = forced_plan(product.problem(), kernel(), schedule);
      const Stream stream;
      check(cudaDeviceSynchronize());
      for (int i = 0; i < 300; ++i) run(plan, {&group, 1}, {.stream = stream});
      check(cudaStreamSynchronize(stream));
      verdicts[which] = product.verdict(1777);
    } catch (const std::exception& error) {
      verdicts[which] = error.what();
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(verdicts[0], "");
  EXPECT_EQ(verdicts[1], "");
}

// Workers that do not fit beside the hog run after others, on the few multiprocessors it leaves.
TEST_P(Repeat, BesideAHog) {
  std::deque<PlannedProduct> all;
  std::deque<DeviceMatrix> firsts;
  for (const Schedule& schedule : schedules()) {
    auto& [product, group, plan, workspace, stream] =
        all.emplace_back(product_case(), kernel(), schedule);
    run(plan, {&group, 1}, workspace.options(stream));
    check(cudaStreamSynchronize(stream));
    firsts
        .emplace_back(product.what().types.c, product.what().shape.m, product.what().shape.n,
                      DeviceFill::poison, 0)
        .copy_from(product.c());
    product.reset_c();
  }
  check(cudaDeviceSynchronize());
  {
    const Hog hog;
    for (PlannedProduct& planned : all) {
      for (int i = 0; i < 5; ++i) {
        run(planned.plan, {&planned.group, 1}, planned.workspace.options(planned.stream));
      }
      check(cudaStreamSynchronize(planned.stream));
    }
    EXPECT_TRUE(hog.is_running()) << "products waited for the hog to end";
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].product.c().count_differences(firsts[i]), 0)
        << describe_case(all[i].product.what(), all[i].plan.schedule);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Repeat, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
