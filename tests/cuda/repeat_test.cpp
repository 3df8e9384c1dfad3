// The same bits again: over repeated runs, in replayed graphs, on two streams at once, beside a
// kernel that hogs the device, and with more workers than the device holds. None of them may hang.
#include <gtest/gtest.h>

#include <deque>

#include "core/sm90_tiles.hpp"
#include "cuda/hog.hpp"
#include "cuda/product.hpp"
#include "cuda/repeat.hpp"
#include "schedule/fix_up_of.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"

namespace tessera::test {
namespace {

// A product, its forced plan, and a workspace and a stream of its own; all fills are done.
struct PlannedProduct {
  PlannedProduct(const ProductCase& what, const KernelEntry& kernel, const Schedule& schedule)
      : product(what),
        group(product.operands()),
        plan(forced_plan(product.problem(), kernel, schedule)),
        workspace(workspace_bytes(plan)) {
    check(cudaDeviceSynchronize());
  }

  void queue() const { run(plan, {&group, 1}, workspace.options(stream)); }

  DeviceProduct product;
  Operands group;
  Plan plan;
  GuardedWorkspace workspace;
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
    const DeviceMatrix first = product.c().copy();
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

// A traced launch takes a kernel whose peers add up a tree. With 70 pieces of two tiles not all
// workers are on the device at once, so that some leave before the others come.
TEST_P(Repeat, PeersThatMeetAddUpLikeTheTree) {
  if (!kernel().needs_tma) GTEST_SKIP() << "its peers do not meet";
  const TileConfig& tile = kernel().tile;
  for (const int pieces : {4, 6, 8, 9, 20, 70}) {
    const ProductCase what{
        .types = {kernel().a, kernel().b, kernel().a},
        .shape = {2 * tile.block_m - 8, tile.block_n - 8, (3 * pieces - 1) * tile.block_k}};
    const Schedule schedule{.kind = ScheduleKind::split_k, .workers = 2 * pieces, .splits = pieces};
    SCOPED_TRACE(describe_case(what, schedule));
    DeviceProduct product(what);
    const Operands group = product.operands();
    const Plan plan = forced_plan(product.problem(), kernel(), schedule);
    const HostIterationSpace space(plan.problem.groups, plan.tile);
    const bool meets = !kernel().is_for_layers && pieces >= sm90_block(tile).meets_from();
    EXPECT_EQ(fix_up_of(plan, partition_of(plan, space), space) == FixUp::meeting, meets);
    Trace trace;
    RunOptions traced;
    traced.trace = &trace;
    run(plan, {&group, 1}, traced);
    const DeviceMatrix as_tree = product.c().copy();
    std::int64_t differences = 0;
    for (int i = 0; i < 10; ++i) {
      product.reset_c();
      run(plan, {&group, 1});
      differences += product.c().count_differences(as_tree);
    }
    EXPECT_EQ(product.verdict(pieces), "");
    EXPECT_EQ(differences, 0);
  }
}

TEST_P(Repeat, GraphReplays) {
  for (const Schedule& schedule : schedules()) {
    PlannedProduct planned(product_case(), kernel(), schedule);
    DeviceProduct& product = planned.product;
    const Stream& stream = planned.stream;
    const Graph graph(stream, [&] { planned.queue(); });
    graph.replay(stream);
    check(cudaStreamSynchronize(stream));
    ASSERT_EQ(product.verdict(1777), "") << describe_case(product.what(), schedule);
    const DeviceMatrix first = product.c().copy();

    std::int64_t differences = 0;
    for (int i = 0; i < 1000; ++i) {
      // A replay that did nothing would leave NaN.
      const bool is_judged = i % 50 == 0;
      if (is_judged) product.reset_c(stream);
      graph.replay(stream);
      if (is_judged) differences += product.c().count_differences(first, stream);
    }
    check(cudaStreamSynchronize(stream));
    EXPECT_EQ(differences, 0) << describe_case(product.what(), schedule);
    EXPECT_EQ(planned.workspace.damage(), "") << describe_case(product.what(), schedule);
  }
}

// A stream that is being captured does not tell who it is; its workspace is found all the same.
TEST_P(Repeat, ACaptureUsesTheLibrarysWorkspace) {
  PlannedProduct planned(product_case(), kernel(), schedules().front());
  const Stream& stream = planned.stream;
  const auto queue = [&] { run(planned.plan, {&planned.group, 1}, {.stream = stream}); };
  queue();
  planned.product.reset_c(stream);
  const Graph graph(stream, queue);
  graph.replay(stream);
  check(cudaStreamSynchronize(stream));
  EXPECT_EQ(planned.product.verdict(1777), "");
}

// The library keeps a workspace per stream: two streams must not meet in one.
TEST_P(Repeat, TwoStreamsAtOnce) {
  const Schedule schedule{.kind = ScheduleKind::stream_k, .workers = 57};
  const auto verdicts = on_two_threads([&](std::size_t which) {
    ProductCase what = product_case();
    what.seed = which + 5;
    DeviceProduct product(what);
    const Operands group = product.operands();
    const Plan plan = forced_plan(product.problem(), kernel(), schedule);
    const Stream stream;
    check(cudaDeviceSynchronize());
    for (int i = 0; i < 300; ++i) run(plan, {&group, 1}, {.stream = stream});
    check(cudaStreamSynchronize(stream));
    return product.verdict(1777);
  });
  EXPECT_EQ(verdicts[0], "");
  EXPECT_EQ(verdicts[1], "");
}

// Workers that do not fit beside the hog run after others, on the few multiprocessors it leaves.
TEST_P(Repeat, BesideAHog) {
  std::deque<PlannedProduct> all;
  std::deque<DeviceMatrix> firsts;
  for (const Schedule& schedule : schedules()) {
    PlannedProduct& planned = all.emplace_back(product_case(), kernel(), schedule);
    DeviceProduct& product = planned.product;
    planned.queue();
    check(cudaStreamSynchronize(planned.stream));
    firsts.push_back(product.c().copy());
    product.reset_c();
  }
  check(cudaDeviceSynchronize());
  {
    const Hog hog;
    for (PlannedProduct& planned : all) {
      for (int i = 0; i < 5; ++i) planned.queue();
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
