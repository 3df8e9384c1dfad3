// Devices and workspaces as objects. What needs a GPU is skipped, by name, where there is none.
#include "tessera/device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/tessera.hpp"

namespace tessera {
namespace {

TEST(Workspace, ServesOneRunAfterAnother) {
  const std::vector<double> a(30 * 50, 2.0);
  const std::vector<double> b(50 * 20, 3.0);
  std::vector<double> c(30 * 20);
  const Operands product{row_major(a.data(), 30, 50), row_major(b.data(), 50, 20),
                         row_major(c.data(), 30, 20)};
  PlanOptions wanted;
  wanted.schedule = ScheduleKind::stream_k;
  wanted.workers = 5;
  wanted.tile = TileConfig{.block_m = 16, .block_n = 16, .block_k = 8};
  const Plan plan = make_plan(describe({&product, 1}, 1, 0, {}), host_machine(), wanted);
  Workspace workspace(plan);
  EXPECT_EQ(workspace.size(), workspace_bytes(plan));
  for (int i = 0; i < 3; ++i) {
    std::fill(c.begin(), c.end(), -1.0);
    run(plan, {&product, 1}, workspace.options());
    EXPECT_EQ(c, std::vector<double>(30 * 20, 300.0));
  }
}

TEST(Workspace, HoldsWhateverSizesAreWithinTheViews) {
  const std::vector<float> a(60 * 50, 2.0F);
  const std::vector<float> b(3 * 50 * 20, 3.0F);
  std::vector<float> c(60 * 20);
  std::vector<std::int32_t> offsets = {0, 20, 40, 60};
  const RaggedRows rows{row_major(a.data(), 60, 50),
                        index_array(offsets),
                        batch(b.data(), 3, 50, 20),
                        row_major(c.data(), 60, 20),
                        {}};
  PlanOptions wanted;
  wanted.schedule = ScheduleKind::split_k;
  wanted.splits = 3;
  wanted.tile = TileConfig{.block_m = 16, .block_n = 16, .block_k = 8};
  const Plan plan = make_ragged_plan(rows, 1, 0, {}, host_machine(), wanted);
  const Workspace workspace(plan, rows);
  EXPECT_EQ(workspace.size(), ragged_workspace_bytes(plan, rows));
  EXPECT_GT(workspace.size(), 0U);
  for (const std::vector<std::int32_t>& sizes :
       {std::vector<std::int32_t>{0, 60, 60, 60}, {0, 1, 2, 60}}) {
    offsets = sizes;
    std::fill(c.begin(), c.end(), -1.0F);
    run_ragged(plan, rows, workspace.options());
    EXPECT_EQ(c, std::vector<float>(60 * 20, 300.0F));
  }
}

TEST(Workspace, MovesAndIsEmptyAfterwards) {
  PlanOptions wanted;
  wanted.schedule = ScheduleKind::split_k;
  wanted.splits = 2;
  const Plan plan = make_plan(dense_problem({8, 8, 4096}), host_machine(), wanted);
  Workspace first(plan);
  void* const data = first.data();
  ASSERT_NE(data, nullptr);
  Workspace second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): that is the question
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
}

TEST(Device, SaysWhereThereIsNone) {
  EXPECT_THROW(Device device(device_count()), Error);
  EXPECT_THROW(device_machine(-1), Error);
}

TEST(Device, DescribesItself) {
  if (device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Device device(0);
  EXPECT_EQ(device.machine().kind, MachineKind::gpu);
  EXPECT_EQ(device.options().device, 0);
  PlanOptions wanted;
  wanted.schedule = ScheduleKind::stream_k;
  const Problem problem =
      dense_problem({512, 512, 4096}, {ElementType::bf16, ElementType::bf16, ElementType::bf16});
  const Workspace workspace(make_plan(problem, device.machine(), wanted));
  EXPECT_NE(workspace.data(), nullptr);
}

}  // namespace
}  // namespace tessera
