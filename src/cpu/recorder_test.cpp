// A traced run tells of every item once, in order, with nothing overlapping on a thread; a run
// without a trace is not changed by the possibility.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <tuple>

#include "cpu/recorder.hpp"
#include "schedule/grouped.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

struct TracedProduct {
  GemmShape shape{200, 150, 300};
  std::vector<float> a = std::vector<float>(200 * 300, 0.5F);
  std::vector<float> b = std::vector<float>(300 * 150, 2.0F);
  std::vector<float> c = std::vector<float>(200 * 150, -1.0F);

  Operands operands() {
    return {row_major(std::as_const(a).data(), shape.m, shape.k),
            row_major(std::as_const(b).data(), shape.k, shape.n),
            row_major(c.data(), shape.m, shape.n)};
  }
};

Plan plan_of(TracedProduct& product, ScheduleKind kind, int workers) {
  PlanOptions options;
  options.schedule = kind;
  options.workers = workers;
  options.tile = TileConfig{.block_m = 64, .block_n = 64, .block_k = 32};
  const Operands operands = product.operands();
  return make_plan(describe({&operands, 1}, 1, 0, {}), host_machine(), options);
}

TEST(Recorder, EveryItemOnceAndNothingOverlaps) {
  for (const ScheduleKind kind : {ScheduleKind::data_parallel, ScheduleKind::split_k,
                                  ScheduleKind::stream_k, ScheduleKind::hybrid}) {
    for (const int threads : {1, 2, 3}) {
      TracedProduct product;
      const Plan plan = plan_of(product, kind, 7);
      const Operands operands = product.operands();
      Trace trace;
      run(plan, {&operands, 1}, {.threads = threads, .trace = &trace});

      std::map<std::tuple<int, int>, int> iterations;
      std::map<std::tuple<int, int>, int> writers;
      EXPECT_LE(trace.tracks.size(), static_cast<std::size_t>(threads));
      for (const std::vector<TracedItem>& track : trace.tracks) {
        ASSERT_FALSE(track.empty());
        for (std::size_t i = 0; i < track.size(); ++i) {
          const TracedItem& item = track[i];
          EXPECT_LE(0, item.start);
          EXPECT_LE(item.start, item.multiplied);
          EXPECT_LE(item.multiplied, item.end);
          EXPECT_LE(item.end, trace.seconds);
          EXPECT_LE(item.data_seconds, item.multiplied - item.start + 1e-9);
          if (i > 0) {
            EXPECT_LE(track[i - 1].end, item.start);
          }
          if (item.part > 0) {  // helped to add up
            EXPECT_GT(item.peers, 1);
            EXPECT_TRUE(item.wrote_tile);
            EXPECT_LT(item.worker, plan.schedule.workers);
            continue;
          }
          iterations[{item.tile_m, item.tile_n}] += item.k_end - item.k_begin;
          writers[{item.tile_m, item.tile_n}] += item.wrote_tile ? 1 : 0;
        }
      }
      EXPECT_EQ(iterations.size(), 4u * 3u);
      for (const auto& [tile, count] : iterations) EXPECT_EQ(count, 10) << name_of(kind);
      for (const auto& [tile, count] : writers) EXPECT_EQ(count, 1) << name_of(kind);
      for (const float value : product.c) ASSERT_EQ(value, 300.0F);
    }
  }
}

TEST(Recorder, ATraceStartsAfreshEachTime) {
  TracedProduct product;
  const Plan plan = plan_of(product, ScheduleKind::data_parallel, 2);
  const Operands operands = product.operands();
  Trace trace;
  trace.tracks.resize(5);
  for (int i = 0; i < 2; ++i) {
    run(plan, {&operands, 1}, {.threads = 1, .trace = &trace});
    ASSERT_EQ(trace.tracks.size(), 1u);
    EXPECT_EQ(trace.tracks[0].size(), 12u);
  }
}

TEST(Recorder, NothingToDoIsAnEmptyTrace) {
  TracedProduct product;
  product.shape.m = 0;
  const Operands operands = product.operands();
  Trace trace;
  trace.tracks.resize(3);
  const Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), host_machine());
  run(plan, {&operands, 1}, {.trace = &trace});
  EXPECT_TRUE(trace.tracks.empty());
}

}  // namespace
}  // namespace tessera
