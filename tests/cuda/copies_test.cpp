// Operands that the tensor memory accelerator cannot read where they lie, copied into the workspace
// first: what the planner chooses, workspaces of the caller, graphs and groups.
#include <gtest/gtest.h>

#include <deque>

#include "cuda/product.hpp"
#include "cuda/repeat.hpp"

namespace tessera::test {
namespace {

class Copies : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    if (device_under_test().architecture != "sm_90") GTEST_SKIP() << "no kernel here needs copies";
  }

  static ProductCase odd(const GemmShape& shape) {
    return {.types = gemm_types_for(ElementType::bf16), .shape = shape};
  }

  static bool is_copied(const Plan& plan) { return plan.kernel.starts_with("sm90_"); }
};

TEST_F(Copies, ArePlannedForLargeProductsAndRight) {
  const Machine machine = device_machine();
  for (const GemmShape& shape :
       {GemmShape{1001, 1001, 1001}, GemmShape{2047, 1023, 3001}, GemmShape{4095, 4095, 65}}) {
    for (int layout = 0; layout < 8; ++layout) {
      ProductCase what = odd(shape);
      what.a = {.column_major = (layout & 1) != 0, .offset = layout};
      what.b = {.column_major = (layout & 2) != 0, .padding = layout % 3};
      what.c = {.column_major = (layout & 4) != 0};
      DeviceProduct product(what);
      const Operands group = product.operands();
      const Plan plan = make_plan(product.problem(), machine);
      SCOPED_TRACE(plan.kernel + ": " + describe_case(what, plan.schedule));
      EXPECT_TRUE(is_copied(plan));
      EXPECT_NE(plan.reason.find("copied first"), std::string::npos) << plan.reason;
      run(plan, {&group, 1});
      check(cudaDeviceSynchronize());
      EXPECT_EQ(product.verdict(64), "");
    }
  }
}

TEST_F(Copies, StayInTheCallersWorkspace) {
  const DeviceProduct product(odd({513, 1001, 777}));
  const Operands group = product.operands();
  const Plan plan = make_plan(product.problem(), device_machine());
  ASSERT_TRUE(is_copied(plan));
  const std::size_t bytes = workspace_bytes(plan);
  EXPECT_GE(bytes, std::size_t{2} * (513 * 777 + 777 * 1001));
  const GuardedWorkspace workspace(bytes);
  RunOptions options = workspace.options(nullptr);
  run(plan, {&group, 1}, options);
  check(cudaDeviceSynchronize());
  EXPECT_EQ(product.verdict(64), "");
  EXPECT_EQ(workspace.damage(), "");
  options.workspace_size -= 1024;
  EXPECT_THROW(run(plan, {&group, 1}, options), Error);
}

// A replay copies what the operands hold then.
TEST_F(Copies, AreMadeAnewInEveryReplay) {
  DeviceProduct product(odd({300, 1001, 1003}));
  const Operands group = product.operands();
  const Plan plan = make_plan(product.problem(), device_machine());
  ASSERT_TRUE(is_copied(plan));
  const GuardedWorkspace workspace(workspace_bytes(plan));
  const Stream stream;
  const Graph graph(stream, [&] { run(plan, {&group, 1}, workspace.options(stream)); });
  for (int i = 0; i < 500; ++i) {
    // Two halves of the replays with other contents of the workspace in between.
    if (i == 250) workspace.scramble(stream);
    product.reset_c(stream);
    graph.replay(stream);
  }
  check(cudaStreamSynchronize(stream));
  EXPECT_EQ(product.verdict(64), "");
  EXPECT_EQ(workspace.damage(), "");
}

TEST_F(Copies, OfManyGroups) {
  std::deque<DeviceProduct> products;
  std::vector<Operands> groups;
  for (std::int64_t g = 0; g < 70; ++g) {
    ProductCase what = odd({100 + g, 129, g % 9 == 0 ? 0 : 33 + 7 * g});
    what.b.column_major = true;
    what.seed = static_cast<std::uint64_t>(g) + 1;
    groups.push_back(products.emplace_back(what).operands());
  }
  Plan plan;
  const Problem problem = tessera::describe(groups, 1, 0, {});
  for (const KernelEntry& kernel : kernels_under_test()) {
    if (kernel.name == "sm90_bf16_128x128x64") {
      plan = forced_plan(problem, kernel, {.kind = ScheduleKind::stream_k, .workers = 61});
    }
  }
  run(plan, groups);
  check(cudaDeviceSynchronize());
  for (DeviceProduct& product : products) EXPECT_EQ(product.verdict(64), "");
}

// With alpha = 0 nothing of A and B is read.
TEST_F(Copies, AreLeftOutWhereNothingIsMultiplied) {
  ProductCase what = odd({65, 67, 33});
  what.alpha = 0;
  what.beta = 1;
  const DeviceProduct product(what);
  Operands group = product.operands();
  const KernelEntry* const kernel = find_kernel("sm90_bf16_64x64x64");
  ASSERT_NE(kernel, nullptr);
  const Plan plan = forced_plan(product.problem(), *kernel, {.workers = 4});
  group.a.data = nullptr;
  group.b.data = nullptr;
  run(plan, {&group, 1});
  check(cudaDeviceSynchronize());
  EXPECT_EQ(product.verdict(1), "");
}

TEST_F(Copies, AreNotMadeWhereRowsMustNotDependOnOthers) {
  PlanOptions options;
  options.batch_invariant = true;
  const DeviceProduct product(odd({1001, 1001, 1001}));
  EXPECT_FALSE(is_copied(make_plan(product.problem(), device_machine(), options)));
  options = {};
  options.allow_copies = false;
  EXPECT_FALSE(is_copied(make_plan(product.problem(), device_machine(), options)));
}

}  // namespace
}  // namespace tessera::test
