// Traces of every kernel: each iteration of each tile once, nothing overlaps on an SM, moments in
// order, and the same bits as without a trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cuda/product.hpp"
#include "cuda/ragged_case.hpp"
#include "schedule/iteration_space.hpp"

namespace tessera::test {
namespace {

class Tracing : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  const KernelEntry& kernel() const { return GetParam(); }

  ProductCase product_case() const {
    const TileConfig& tile = kernel().tile;
    return {.types = {kernel().a, kernel().b, gemm_types_for(kernel().a).c},
            .shape = {3 * tile.block_m, 5 * tile.block_n, 19 * tile.block_k},
            .b = {.column_major = kernel().a == ElementType::i8}};
  }

  DeviceRagged ragged_rows() const {
    const std::int64_t n = 3 * kernel().tile.block_n;
    const std::int64_t k = 7 * kernel().tile.block_k;
    return DeviceRagged({.types = {kernel().a, kernel().b, gemm_types_for(kernel().a).c},
                         .shapes = {{200, n, k}, {0, n, k}, {1, n, k}, {77, n, k}},
                         .is_b_transposed = kernel().a == ElementType::i8});
  }

  static std::vector<Schedule> schedules_of_groups() {
    using enum ScheduleKind;
    return {{.kind = data_parallel, .workers = 9},
            {.kind = stream_k, .workers = 5},
            {.kind = stream_k, .workers = 60},
            {.kind = hybrid, .workers = 7}};
  }
};

// Returns the seconds that items waited for data, all together.
double expect_sound(const Trace& trace, std::int64_t tiles, std::int64_t iterations) {
  struct Tile {
    std::int64_t iterations = 0;
    int writers = 0;
  };
  std::map<std::tuple<int, int, int, int>, Tile> found;
  EXPECT_EQ(trace.tracks.size(), trace.sms.size());
  int parts = 1;
  double waited = 0;
  for (const std::vector<TracedItem>& track : trace.tracks) {
    double before = 0;
    for (const TracedItem& item : track) {
      EXPECT_LE(before, item.start);
      EXPECT_LE(item.start, item.multiplied);
      EXPECT_LE(item.multiplied, item.end);
      EXPECT_GE(item.data_seconds, 0);
      EXPECT_LE(item.data_seconds, item.multiplied - item.start);
      EXPECT_LE(item.end, trace.seconds);
      waited += item.data_seconds;
      before = item.end;
      parts = std::max(parts, item.part + 1);
      Tile& tile = found[{item.group, item.tile_m, item.tile_n, item.part}];
      tile.iterations += item.k_end - item.k_begin;
      tile.writers += item.wrote_tile ? 1 : 0;
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(found.size()), tiles * parts);
  for (const auto& [where, tile] : found) {
    EXPECT_EQ(tile.iterations, iterations);
    EXPECT_EQ(tile.writers, 1);
  }
  // A run of these products takes microseconds; a clock read wrongly is off by orders of magnitude.
  EXPECT_GT(trace.seconds, 1e-6);
  EXPECT_LT(trace.seconds, 1e-2);
  return waited;
}

// Runs groups of one depth with a trace and without, and judges both.
template <class Run>
void expect_sound_groups(const DeviceRagged& ragged, const Plan& plan, Run run) {
  SCOPED_TRACE(name_of(plan.schedule.kind));
  const GemmShape& first = ragged.what().shapes.front();
  std::int64_t tiles = 0;
  for (const GemmShape& shape : ragged.what().shapes) {
    tiles += ceil_div(shape.m, plan.tile.block_m) * ceil_div(shape.n, plan.tile.block_n);
  }
  ragged.reset_c();
  Trace trace;
  RunOptions options;
  options.trace = &trace;
  run(options);
  EXPECT_EQ(ragged.verdict(64), "");
  expect_sound(trace, tiles, ceil_div(first.k, plan.tile.block_k));

  const DeviceMatrix traced = ragged.c().copy();
  ragged.reset_c();
  run({});
  EXPECT_EQ(ragged.c().count_differences(traced), 0);
}

TEST_P(Tracing, EveryIterationOnceAndInOrder) {
  double most_waited = 0;
  for (const Schedule& schedule :
       {Schedule{.kind = ScheduleKind::data_parallel, .workers = 7},
        Schedule{.kind = ScheduleKind::stream_k, .workers = 31},
        Schedule{.kind = ScheduleKind::hybrid, .workers = 4},
        Schedule{.kind = ScheduleKind::split_k, .workers = 400, .splits = 9}}) {
    DeviceProduct product(product_case());
    SCOPED_TRACE(describe_case(product.what(), schedule));
    const Operands group = product.operands();
    const Plan plan = forced_plan(product.problem(), kernel(), schedule);
    run(plan, {&group, 1});
    const DeviceMatrix plain = product.c().copy();
    product.reset_c();

    Trace trace;
    RunOptions options;
    options.trace = &trace;
    run(plan, {&group, 1}, options);
    EXPECT_EQ(product.verdict(400), "");
    EXPECT_EQ(product.c().count_differences(plain), 0);
    most_waited = std::max(most_waited, expect_sound(trace, 15, 19));
  }
  // A worker's first load shows, at least where there are many workers; operands in the cache may
  // arrive before the multipliers do. The general kernels do not say.
  if (kernel().needs_tma) {
    EXPECT_GT(most_waited, 1e-7);
  }
}

TEST_P(Tracing, SizesThatOnlyTheDeviceKnows) {
  const DeviceRagged ragged = ragged_rows();
  for (const Schedule& schedule : schedules_of_groups()) {
    const auto plan = forced_ragged_plan(ragged, kernel(), schedule);
    if (!plan) GTEST_SKIP() << "the kernel cannot take these operands";
    expect_sound_groups(ragged, *plan, [&](const RunOptions& options) {
      run_ragged(*plan, ragged.products(), options);
    });
  }
}

TEST_P(Tracing, SizesThatTheHostKnows) {
  const DeviceRagged ragged = ragged_rows();
  const std::vector<Operands> groups = ragged.list();
  for (const Schedule& schedule : schedules_of_groups()) {
    const Plan plan = forced_plan(tessera::describe(groups, 1, 0, {}), kernel(), schedule);
    expect_sound_groups(ragged, plan,
                        [&](const RunOptions& options) { run(plan, groups, options); });
  }
}

TEST_P(Tracing, RefusedWhileAStreamIsCaptured) {
  DeviceProduct product(product_case());
  const Operands group = product.operands();
  const Plan plan = forced_plan(product.problem(), kernel(), {.workers = 4});
  const Stream stream;
  run(plan, {&group, 1}, {.stream = stream});
  check(cudaDeviceSynchronize());
  Trace trace;
  RunOptions options{.stream = stream};
  options.trace = &trace;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_THROW(run(plan, {&group, 1}, options), Error);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphDestroy(graph));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Tracing, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
