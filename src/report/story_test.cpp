// The story tells the numbers of the worked examples, and every plan has one.
#include "report/story.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "report/chrome_trace.hpp"
#include "report/text.hpp"
#include "report/timeline_chart.hpp"
#include "support/xml_check.hpp"
#include "tessera/error.hpp"

namespace tessera::report {
namespace {

Plan showcase(ScheduleKind kind = ScheduleKind::hybrid) {
  PlanOptions options;
  options.workers = 82;
  options.schedule = kind;
  options.tile = TileConfig{.block_m = 128, .block_n = 128, .block_k = 32};
  options.order = TileOrderChoice{TileOrder::swizzle, 8};
  options.keep_others = true;
  Problem problem = dense_problem({1536, 1792, 6016}, gemm_types_for(ElementType::bf16));
  return make_plan(problem, machine_by_name("h200"), options);
}

TEST(Story, TellsTheWorkedExample) {
  const Story story = tell(showcase());
  EXPECT_DOUBLE_EQ(story.naive_intensity, 0.5);
  EXPECT_DOUBLE_EQ(story.tile_intensity, 64);
  EXPECT_GT(story.shared_intensity, 64);
  EXPECT_LE(story.shared_intensity, story.bound_intensity * (1 + 1e-12));
  EXPECT_EQ(story.facts.waves, 3);
  EXPECT_EQ(story.facts.last_wave, 4);
  EXPECT_EQ(story.facts.most_peers, 2);
  // 8 KB of A and of B in each stage.
  EXPECT_EQ(story.scratchpad.stage_bytes(), 16 << 10);
  ASSERT_EQ(story.orders.size(), 3u);
  // The first 82 of 12 × 14 tiles: six rows and all columns in linear order.
  EXPECT_EQ(story.orders[0].blocks.total(), (6 + 14) * 188);
  EXPECT_EQ(story.orders[1].blocks.total(), (8 + 11) * 188);
  double sum = 0;
  for (const CostTerm& term : story.plan.cost.terms) sum += term.seconds;
  EXPECT_NEAR(sum, story.plan.cost.seconds, 1e-9 * sum);
  for (std::size_t i = 1; i < story.losers.size(); ++i) {
    EXPECT_LE(story.losers[i - 1].times_as_long, story.losers[i].times_as_long);
  }
}

Story tell_of_layer(PlanOptions options) {
  Problem problem = dense_problem({1024, 4096, 14336}, gemm_types_for(ElementType::bf16));
  problem.groups.resize(8, problem.groups.front());
  options.kernel = "sm90_bf16_256x128x64_swapped_1x2";
  return tell(make_plan(problem, machine_by_name("h200"), options));
}

TEST(Story, TellsOfClaimedTiles) {
  PlanOptions options;
  options.schedule = ScheduleKind::hybrid;
  const Story story = tell_of_layer(options);
  EXPECT_EQ(story.facts.shared_tiles, 66 / 3);
  EXPECT_EQ(story.facts.most_peers, 3);
  const std::string text = story_text(story, {});
  EXPECT_NE(text.find("workers claim them"), std::string::npos) << text;
  EXPECT_NE(text.find("The last 22 tiles come in 3 pieces each"), std::string::npos) << text;
  EXPECT_EQ(text.find("This is stream-K"), std::string::npos) << text;
  EXPECT_EQ(text.find("Why two tiles"), std::string::npos) << text;
  // However many tiles its stream were of, it has none: there is one hybrid.
  EXPECT_EQ(text.find("two tiles"), std::string::npos) << text;
  EXPECT_EQ(text.find("one tile "), text.rfind("one tile ")) << text;  // of data, as of any plan
  EXPECT_NE(text.find("hybrid, in pieces (chosen)"), std::string::npos) << text;
  EXPECT_EQ(story.cuts.size(), 3U);
}

TEST(Story, TellsOfClaimedPieces) {
  PlanOptions options;
  options.splits = 2;
  const Story story = tell_of_layer(options);
  EXPECT_EQ(story.facts.shared_tiles, 512);
  const std::string text = story_text(story, {});
  EXPECT_NE(text.find("comes in up to 2 nearly equal pieces"), std::string::npos) << text;
  EXPECT_NE(text.find("workers claim the pieces"), std::string::npos) << text;
  EXPECT_EQ(text.find("dealt out in turn"), std::string::npos) << text;
}

// All tiles in three pieces are another division than the last ones in as many.
TEST(Story, TellsAHybridFromAllTilesInItsPieces) {
  Problem problem = dense_problem({1024, 4096, 14336}, gemm_types_for(ElementType::bf16));
  problem.groups.resize(8, problem.groups.front());
  PlanOptions options;
  options.splits = 3;
  options.kernel = "sm90_bf16_256x128x64_swapped_1x2";
  const auto cuts = [&] {
    std::vector<std::string> names;
    const Story story = tell(make_plan(problem, machine_by_name("h200"), options));
    for (const CutStory& cut : story.cuts) names.push_back(cut.name);
    return names;
  };
  const std::vector<std::string> with_pieces = cuts();
  EXPECT_EQ(std::ranges::count(with_pieces, "hybrid, in pieces"), 1);
  EXPECT_EQ(with_pieces.size(), 4U);
  // Two workers are too few for a tile in pieces: the hybrid is whole tiles by another name.
  options.splits.reset();
  options.workers = 2;
  EXPECT_EQ(cuts().size(), 2U);
}

// 71 tiles for 66 workers: no full wave would be left to join the partial one.
TEST(Story, NamesAHybridByWhatItCuts) {
  PlanOptions options;
  options.workers = 66;
  options.schedule = ScheduleKind::hybrid;
  options.tile = TileConfig{.block_m = 128, .block_n = 128, .block_k = 32};
  const Story story =
      tell(make_plan(dense_problem({71 * 128, 128, 6400}), machine_by_name("gpu-84sm"), options));
  const auto hybrids = std::ranges::count(story.cuts, ScheduleKind::hybrid,
                                          [](const CutStory& one) { return one.schedule.kind; });
  EXPECT_EQ(hybrids, 1);
  EXPECT_EQ(story.cuts.back().name, "hybrid, one-tile");
  EXPECT_TRUE(story.cuts.back().is_chosen);
}

Plan long_k(ElementType c) {
  PlanOptions options;
  options.kernel = "sm90_bf16_128x128x64";
  options.splits = 33;
  return make_plan(dense_problem({256, 256, 65536}, {ElementType::bf16, ElementType::bf16, c}),
                   machine_by_name("h200"), options);
}

TEST(Story, TellsWhoMeets) {
  const Story story = tell(long_k(ElementType::bf16));
  ASSERT_EQ(story.plan.schedule.kind, ScheduleKind::split_k);
  EXPECT_EQ(story.fix_up, FixUp::meeting);
  EXPECT_EQ(story.handed_over, 4 * 33);
  // 1024 iterations: one of 33 pieces has 32, the others 31.
  EXPECT_NEAR(story.mean_wait_iterations, 32.0 / 33, 1e-12);
  const std::string text = story_text(story, {});
  EXPECT_NE(text.find("by up to 33 workers each, who meet; 132 partial sums published"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("its workers meet"), std::string::npos) << text;
  EXPECT_EQ(text.find("Nobody waits for a peer"), std::string::npos) << text;
  const std::string page = story_page(story, "");
  EXPECT_NE(page.find("who meets whom"), std::string::npos);
  EXPECT_EQ(page.find("no worker does"), std::string::npos);
  EXPECT_EQ(page.find("arrowhead"), std::string::npos);
}

TEST(Story, TellsOfTreesInOtherKernels) {
  const Story story = tell(long_k(ElementType::f32));
  ASSERT_EQ(story.plan.schedule.kind, ScheduleKind::split_k);
  EXPECT_EQ(story.fix_up, FixUp::tree);
  EXPECT_EQ(story.handed_over, 4 * 32);
  const std::string text = story_text(story, {});
  EXPECT_NE(text.find("128 partial sums handed over"), std::string::npos) << text;
  EXPECT_NE(text.find("Nobody waits for a peer"), std::string::npos) << text;
  EXPECT_EQ(text.find("meet"), std::string::npos) << text;
}

TEST(Story, TextHasEverySectionAndPlainTextIsAscii) {
  const Story story = tell(showcase());
  const std::string text = story_text(story, {});
  for (const char* part :
       {"one element at a time", "0.5 FLOP/byte", "ridge", "stage 3", "waves of whole tiles",
        "4 of 82 workers", "swizzle(8) (chosen)", "hilbert", "as the sum of", "Why two tiles",
        "Nobody waits for a peer"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  for (const char byte : text) ASSERT_GT(byte, 0) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const std::string rich = story_text(story, {.colour = true, .unicode = true});
  EXPECT_NE(rich.find("µs"), std::string::npos);
  EXPECT_NE(rich.find("\x1b["), std::string::npos);
}

void expect_sound_page(const Story& story) {
  const std::string html = story_page(story, "tessera explain 'a <b>'");
  const std::size_t begin = html.find("<main>");
  const std::size_t end = html.find("</main>") + 7;
  EXPECT_EQ(test::xml_fault(std::string_view(html).substr(begin, end - begin)), "");
  EXPECT_LT(html.size(), 4u << 20);
  EXPECT_EQ(html.find("unknown"), std::string::npos);
}

TEST(Story, PageIsWellFormedForEverySchedule) {
  for (const ScheduleKind kind : {ScheduleKind::data_parallel, ScheduleKind::split_k,
                                  ScheduleKind::stream_k, ScheduleKind::hybrid}) {
    expect_sound_page(tell(showcase(kind)));
  }
}

TEST(Story, PageIsWellFormedForEveryMachineAndOddProblems) {
  for (const std::string& name : machine_names()) {
    const Machine machine = machine_by_name(name);
    for (const GemmShape& shape : {GemmShape{1, 1, 1}, GemmShape{0, 7, 7}, GemmShape{5, 3, 0},
                                   GemmShape{1, 100000, 7}, GemmShape{70000, 70000, 70000}}) {
      PlanOptions options;
      options.keep_others = true;
      Plan plan;
      try {
        plan = make_plan(dense_problem(shape), machine, options);
      } catch (const Error&) {
        continue;  // no kernel for f32 there
      }
      SCOPED_TRACE(name + " " + report::shape(shape));
      expect_sound_page(tell(plan));
      EXPECT_NE(story_text(tell(plan), {}), "");
    }
  }
}

TEST(Story, GroupsHaveAStory) {
  Problem problem = dense_problem({192, 320, 128});
  problem.groups.push_back({256, 448, 192});
  problem.groups.push_back({0, 448, 192});
  expect_sound_page(tell(make_plan(problem, machine_by_name("h200"), {})));
}

TEST(ChromeTrace, PredictedItemsDoNotOverlapAndEndOnTime) {
  const Plan plan = showcase();
  const Trace trace = predict_trace(plan, 82);
  ASSERT_EQ(trace.tracks.size(), 82u);
  double end = 0;
  std::size_t wrote = 0;
  for (const std::vector<TracedItem>& track : trace.tracks) {
    for (std::size_t i = 0; i < track.size(); ++i) {
      EXPECT_LE(track[i].start, track[i].multiplied);
      EXPECT_LE(track[i].multiplied, track[i].end);
      if (i > 0) {
        EXPECT_LE(track[i - 1].end, track[i].start + 1e-15);
      }
      wrote += track[i].wrote_tile ? 1 : 0;
    }
    end = std::max(end, track.back().end);
  }
  EXPECT_NEAR(end, plan.cost.seconds, 1e-9 * end);
  EXPECT_EQ(wrote, 168u);
  // One arrow for each partial sum that is handed over, of two events.
  const std::string json = chrome_trace(plan, trace, {});
  std::size_t arrows = 0;
  for (std::size_t at = 0; (at = json.find("\"ph\":\"s\"", at)) != std::string::npos; ++at)
    ++arrows;
  EXPECT_EQ(arrows, static_cast<std::size_t>(std::llround(tell(plan).handed_over)));
}

// Two SMs that compute one tile side by side, shared by two workers.
TEST(ChromeTrace, AGpusTracksAreItsSms) {
  Trace trace;
  trace.sms = {5, 7, 40, 41};
  trace.seconds = 20e-6;
  for (int t = 0; t < 4; ++t) {
    TracedItem item;
    item.worker = t / 2;
    item.part = t % 2;
    item.peers = 2;
    item.peer = t / 2;
    item.start = 1e-6;
    item.multiplied = 5e-6 + 1e-6 * item.peer;
    item.end = item.multiplied + 1e-6;
    item.data_seconds = 1e-6;
    item.wrote_tile = item.peer == 1;
    TracedItem whole;
    whole.start = 10e-6;
    whole.multiplied = 15e-6;
    whole.end = 16e-6;
    whole.wrote_tile = true;
    trace.tracks.push_back({item, whole});
  }
  const std::string json = chrome_trace(showcase(), trace, {});
  EXPECT_NE(json.find("\"SM 40\""), std::string::npos);
  EXPECT_NE(json.find("\"write tile (0, 0)\",\"cat\":\"write\""), std::string::npos);
  // Each part's partial sum goes to the SM that finishes the same part.
  EXPECT_NE(json.find("\"ph\":\"f\",\"bp\":\"e\",\"id\":2,\"ts\":6.000,\"pid\":1,\"tid\":3"),
            std::string::npos)
      << json;
  EXPECT_EQ(json.find("\"id\":3"), std::string::npos);

  const TimelineChart chart = timeline_chart(trace, {});
  EXPECT_NE(chart.words.find("8 work items on 4 SMs"), std::string::npos) << chart.words;
  EXPECT_NE(chart.words.find("waited for blocks"), std::string::npos);
  EXPECT_NE(chart.svg.find(">41<"), std::string::npos);
}

TEST(Story, ATimelineSaysWhatThreadsTookOver) {
  Trace trace;
  trace.seconds = 10e-6;
  TracedItem item;
  item.multiplied = item.end = 9e-6;
  trace.tracks = {{item}, {item}};
  EXPECT_NE(timeline_chart(trace, {}).words.find("2 work items on 2 threads"), std::string::npos);
  trace.tracks[1][0].part = 1;
  EXPECT_NE(timeline_chart(trace, {}).words.find(
                "2 work items (of which 1 took over from another thread's tile) on 2 threads"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::report
