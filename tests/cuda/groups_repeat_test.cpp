// Groups whose sizes the host knows, again and again: in graphs that take turns in one workspace,
// on two streams at once, and bit for bit what the same sizes in device memory give.
#include <gtest/gtest.h>

#include <algorithm>

#include "cuda/ragged_case.hpp"
#include "cuda/repeat.hpp"

namespace tessera::test {
namespace {

// Groups on the device, and the plan of them whose sizes the host knows; all fills are done.
struct PlannedGroups {
  PlannedGroups(const RaggedCase& what, const KernelEntry& kernel, const Schedule& schedule)
      : ragged(what),
        groups(ragged.list()),
        plan(forced_plan(tessera::describe(groups, what.alpha, what.beta, what.epilogue), kernel,
                         schedule)) {}

  void queue(const RunOptions& options) const { run(plan, groups, options); }

  DeviceRagged ragged;
  std::vector<Operands> groups;
  Plan plan;
};

class GroupsRepeat : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  const KernelEntry& kernel() const { return GetParam(); }
  std::int64_t unit() const { return 16 / size_of(kernel().a); }

  RaggedCase experts(std::int64_t groups, std::uint64_t seed) const {
    RaggedCase what{.types = {kernel().a, kernel().b, gemm_types_for(kernel().a).c}, .seed = seed};
    for (const std::int64_t m : draw_sizes(groups, 300, seed)) {
      what.shapes.push_back({m, 40 * unit(), 24 * unit()});
    }
    return what;
  }

  std::vector<Schedule> schedules() const {
    using enum ScheduleKind;
    const int processors = device_under_test().workers / kernel().tile.cluster_m;
    return {
        {.kind = data_parallel, .workers = processors, .order = TileOrder::swizzle, .group_m = 4},
        {.kind = stream_k, .workers = processors},
        {.kind = hybrid, .workers = 9},
        {.kind = split_k, .workers = processors, .splits = 3}};
  }
};

// The records that a replay reads are its own, whatever lay in the workspace before.
TEST_P(GroupsRepeat, GraphsTakeTurnsInOneWorkspace) {
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(name_of(schedule.kind));
    const PlannedGroups few(experts(5, 3), kernel(), schedule);
    const PlannedGroups many(experts(40, 4), kernel(), schedule);
    const GuardedWorkspace workspace(
        std::max(workspace_bytes(few.plan), workspace_bytes(many.plan)));
    const Stream stream;
    const Graph few_again(stream, [&] { few.queue(workspace.options(stream)); });
    const Graph many_again(stream, [&] { many.queue(workspace.options(stream)); });
    few.queue(workspace.options(stream));
    many.queue(workspace.options(stream));
    check(cudaStreamSynchronize(stream));
    ASSERT_EQ(few.ragged.verdict(64), "");
    ASSERT_EQ(many.ragged.verdict(64), "");
    const DeviceMatrix few_expected = few.ragged.c().copy();
    const DeviceMatrix many_expected = many.ragged.c().copy();

    std::int64_t differences = 0;
    for (int i = 0; i < 6; ++i) {
      few.ragged.reset_c(stream);
      many.ragged.reset_c(stream);
      if (i == 3) workspace.scramble(stream);
      few_again.replay(stream);
      many_again.replay(stream);
      differences += few.ragged.c().count_differences(few_expected, stream);
      differences += many.ragged.c().count_differences(many_expected, stream);
    }
    EXPECT_EQ(differences, 0);
    EXPECT_EQ(workspace.damage(), "");
  }
}

// The library keeps a workspace per stream: two streams must not meet in one.
TEST_P(GroupsRepeat, TwoStreamsAtOnce) {
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(name_of(schedule.kind));
    const auto verdicts = on_two_threads([&](std::size_t which) {
      const PlannedGroups planned(experts(20, which + 5), kernel(), schedule);
      const Stream stream;
      std::string wrong;
      for (int round = 0; round < 4 && wrong.empty(); ++round) {
        for (int i = 0; i < 25; ++i) {
          planned.ragged.reset_c(stream);
          planned.queue({.stream = stream});
        }
        check(cudaStreamSynchronize(stream));
        wrong = planned.ragged.verdict(64);
      }
      return wrong;
    });
    EXPECT_EQ(verdicts[0], "");
    EXPECT_EQ(verdicts[1], "");
  }
}

TEST_P(GroupsRepeat, SameBitsAsSizesOnTheDevice) {
  const RaggedCase plain = experts(20, 8);
  RaggedCase with_epilogue = plain;
  with_epilogue.alpha = 2;
  with_epilogue.beta = 1;
  with_epilogue.epilogue = {BiasAxis::column, plain.types.c == ElementType::i32
                                                  ? Activation::relu
                                                  : Activation::gelu_tanh};
  RaggedCase array{.door = DoorKind::array, .types = plain.types, .alignment = 16};
  const auto m = draw_sizes(20, 300, 11);
  const auto n = draw_sizes(20, 300, 12);
  const auto k = draw_sizes(20, 300, 13);
  for (std::size_t g = 0; g < m.size(); ++g) array.shapes.push_back({m[g], n[g], k[g]});

  int compared = 0;
  for (const RaggedCase& what : {plain, with_epilogue, array}) {
    for (const Schedule& schedule : schedules()) {
      SCOPED_TRACE(name_of(schedule.kind));
      const PlannedGroups planned(what, kernel(), schedule);
      const auto plan = forced_ragged_plan(planned.ragged, kernel(), schedule);
      if (!plan) continue;
      planned.queue({});
      EXPECT_EQ(planned.ragged.verdict(64), "");
      const DeviceMatrix known = planned.ragged.c().copy();
      planned.ragged.reset_c();
      run_ragged(*plan, planned.ragged.products());
      EXPECT_EQ(planned.ragged.c().count_differences(known), 0);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 12);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, GroupsRepeat, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
