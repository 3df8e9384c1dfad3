// Every picture is well-formed, of bounded size, and shows the numbers it was given.
#include <gtest/gtest.h>

#include <cmath>

#include "report/bar.hpp"
#include "report/histogram.hpp"
#include "report/page.hpp"
#include "report/pipeline_chart.hpp"
#include "report/roofline.hpp"
#include "report/scatter_chart.hpp"
#include "report/schedule_chart.hpp"
#include "report/schedule_rows.hpp"
#include "report/svg.hpp"
#include "report/tile_order_picture.hpp"
#include "schedule/grouped.hpp"
#include "support/xml_check.hpp"

namespace tessera::report {
namespace {

using test::count_elements;
using test::xml_fault;

TileConfig tile_of(int block_m, int block_n, int block_k) {
  TileConfig tile;
  tile.block_m = block_m;
  tile.block_n = block_n;
  tile.block_k = block_k;
  return tile;
}

struct Example {
  std::vector<GemmShape> shapes;
  TileConfig tile = tile_of(128, 128, 32);
  Schedule schedule = {};

  template <class Use>
  auto with(Use use) const {
    const HostIterationSpace space(shapes, tile);
    return use(space.space(), make_partition(schedule, space));
  }
};

Example stream_k_showcase() {
  Example example{{{1536, 1792, 6016}}};
  example.schedule = {.kind = ScheduleKind::hybrid, .workers = 82};
  return example;
}

TEST(XmlCheck, FindsWhatIsWrong) {
  EXPECT_EQ(xml_fault("<a b=\"1\"><c/></a>"), "");
  EXPECT_NE(xml_fault("<a><c></a>"), "");
  EXPECT_NE(xml_fault("<a b=\"nan\"/>"), "");
  EXPECT_NE(xml_fault("<a> & </a>"), "");
  EXPECT_NE(xml_fault("<a>"), "");
}

TEST(Svg, EscapesEverything) {
  Svg svg(10, 10, "<\"&'>");
  svg.text({0, 0}, "a < b & \"c\"\x01", style_with_tip("x", "one\ntwo <b>"));
  svg.rect(NAN, 0, INFINITY, 1, style("y"));
  EXPECT_EQ(xml_fault(svg.str()), "");
  EXPECT_NE(svg.str().find("a &lt; b &amp; &quot;c&quot;</text>"), std::string::npos);
  EXPECT_NE(svg.str().find("one&#10;two"), std::string::npos);
}

TEST(ScheduleRows, TheShowcaseFinishesTogether) {
  const ScheduleFacts facts =
      stream_k_showcase().with([](const IterationSpace& space, const Partition& partition) {
        return schedule_facts(space, partition);
      });
  EXPECT_EQ(facts.longest, 198 + 188);
  EXPECT_EQ(facts.waves, 3);
  EXPECT_EQ(facts.last_wave, 4);
  EXPECT_EQ(facts.most_peers, 2);
  EXPECT_GT(facts.busy_share, 0.99);
}

TEST(ScheduleRows, OneTileHasManyPeersAndDataParallelIdles) {
  Example example = stream_k_showcase();
  example.schedule.two_tile = false;
  const auto facts_of = [](const IterationSpace& space, const Partition& partition) {
    return schedule_facts(space, partition);
  };
  EXPECT_GE(example.with(facts_of).most_peers, 20);
  example.schedule.kind = ScheduleKind::data_parallel;
  EXPECT_EQ(example.with(facts_of).longest, 3 * 188);
  EXPECT_NEAR(example.with(facts_of).busy_share, 168.0 / (3 * 82), 1e-12);
  EXPECT_EQ(example.with(facts_of).shared_tiles, 0);
}

// Each shared tile's sums come together in one place: peers − 1 of them are handed over.
TEST(ScheduleRows, EverySharedTileIsHandedOverOncePerPeer) {
  for (const int splits : {2, 8, 9, 70}) {
    Example example{{{256, 256, 32 * 70}}};
    example.schedule = {.kind = ScheduleKind::split_k, .workers = 13, .splits = splits};
    example.with([&](const IterationSpace& space, const Partition& partition) {
      const ScheduleRows rows = schedule_rows(space, partition, FixUp::tree, 0, 13, 100000);
      EXPECT_EQ(rows.hand_overs.size(), static_cast<std::size_t>(4 * (splits - 1)));
      for (const HandOver& hand_over : rows.hand_overs) {
        EXPECT_LE(hand_over.published, hand_over.added);
      }
      return 0;
    });
  }
}

// Where they meet, nobody hands anything over: all peers of a tile are there when the last has
// come.
TEST(ScheduleRows, PeersThatMeetAreComplete) {
  Example example{{{256, 256, 32 * 70}}};
  example.schedule = {.kind = ScheduleKind::split_k, .workers = 132, .splits = 33};
  example.with([&](const IterationSpace& space, const Partition& partition) {
    const ScheduleRows rows = schedule_rows(space, partition, FixUp::meeting, 0, 132, 100);
    EXPECT_TRUE(rows.hand_overs.empty());
    EXPECT_EQ(rows.meetings.size(), 4U);
    for (const Meeting& meeting : rows.meetings) {
      EXPECT_EQ(meeting.peers.size(), 33U);
      EXPECT_EQ(meeting.complete, 3);  // 70 iterations: four of 33 pieces have one more than two
      for (const Meeting::Peer& peer : meeting.peers) {
        EXPECT_EQ(rows.rows[peer.row].end, peer.published);
        EXPECT_EQ(rows.rows[peer.row].items.front().tile, meeting.tile);
      }
    }
    return 0;
  });
}

TEST(ScheduleChart, DrawsALineThroughThoseWhoMeet) {
  Example example{{{256, 256, 32 * 70}}};
  example.schedule = {.kind = ScheduleKind::split_k, .workers = 132, .splits = 33};
  example.with([](const IterationSpace& space, const Partition& partition) {
    const std::string met = schedule_chart(space, partition, FixUp::meeting).svg;
    EXPECT_EQ(xml_fault(met), "");
    EXPECT_EQ(count_elements(met, "circle"), 132);
    EXPECT_EQ(count_elements(met, "path"), 4);
    // A dot, a line and an arrowhead for each sum but the adder's.
    const std::string tree = schedule_chart(space, partition, FixUp::tree).svg;
    EXPECT_EQ(count_elements(tree, "circle"), 4 * 32);
    EXPECT_EQ(count_elements(tree, "path"), 4 * 32 * 2);
    return 0;
  });
}

TEST(ScheduleChart, ShowsEveryItemOfTheShowcase) {
  stream_k_showcase().with([](const IterationSpace& space, const Partition& partition) {
    const ScheduleChart chart = schedule_chart(space, partition, FixUp::tree);
    EXPECT_EQ(xml_fault(chart.svg), "");
    EXPECT_EQ(chart.note, "");
    std::size_t items = 0;
    for (int worker = 0; worker < 82; ++worker) {
      for ([[maybe_unused]] const WorkItem& item : items_of(space, partition, worker)) ++items;
    }
    // One rectangle for each item, and the background.
    EXPECT_EQ(count_elements(chart.svg, "rect"), static_cast<int>(items) + 1);
    EXPECT_NE(chart.svg.find("Worker 40, work item 1&#10;Tile ("), std::string::npos);
    EXPECT_NE(chart.svg.find("Iterations 0 to 187 of 188"), std::string::npos);
    EXPECT_NE(chart.svg.find("Piece 2 of 2"), std::string::npos);
    return 0;
  });
}

TEST(ScheduleChart, HugeSchedulesStaySmall) {
  Example example{{{1 << 20, 1 << 20, 1 << 20}}};
  for (const ScheduleKind kind : {ScheduleKind::data_parallel, ScheduleKind::split_k,
                                  ScheduleKind::stream_k, ScheduleKind::hybrid}) {
    example.schedule = {.kind = kind, .workers = 5000, .splits = 7};
    example.with([&](const IterationSpace& space, const Partition& partition) {
      const ScheduleChart chart = schedule_chart(space, partition, FixUp::tree);
      EXPECT_EQ(xml_fault(chart.svg), "") << name_of(kind);
      EXPECT_LT(chart.svg.size(), 3u << 20) << name_of(kind);
      EXPECT_NE(chart.note.find("5000 workers"), std::string::npos);
      EXPECT_GT(schedule_facts(space, partition).longest, 0);
      return 0;
    });
  }
}

TEST(ScheduleChart, NothingToDoIsDrawnToo) {
  Example example{{{0, 5, 5}}};
  example.with([](const IterationSpace& space, const Partition& partition) {
    EXPECT_EQ(xml_fault(schedule_chart(space, partition, FixUp::tree).svg), "");
    EXPECT_EQ(schedule_facts(space, partition).longest, 0);
    return 0;
  });
}

TEST(RooflinePicture, HasItsPointsAndItsRidge) {
  Roofline roofline{.peak_flops_per_second = 800e12, .memory_bytes_per_second = 4e12};
  EXPECT_EQ(ridge(roofline), 200);
  EXPECT_EQ(attainable(roofline, 0.5), 2e12);
  EXPECT_EQ(attainable(roofline, 300), 800e12);
  roofline.points = {{"one <element>", 0.5, 0, false, ""}, {"measured", 300, 6e14, true, ""}};
  const std::string svg = roofline_picture(roofline);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("ridge at 200 FLOP/byte"), std::string::npos);
  EXPECT_NE(svg.find("one &lt;element&gt;"), std::string::npos);
  EXPECT_NE(svg.find("2 TFLOP/s"), std::string::npos);
  EXPECT_NE(svg.find("600 TFLOP/s"), std::string::npos);
}

TEST(RooflinePicture, SurvivesAMachineWithoutFigures) {
  EXPECT_EQ(xml_fault(roofline_picture({})), "");
}

TEST(TileOrderPicture, FirstWaveAndItsBlocks) {
  const auto picture = [](TileOrder order) {
    return tile_order_picture({.grid_m = 9,
                               .grid_n = 9,
                               .order = {order, 3},
                               .wave = 9,
                               .title = "order",
                               .subtitle = "54 blocks"});
  };
  const std::string linear = picture(TileOrder::linear);
  const std::string swizzled = picture(TileOrder::swizzle);
  for (const std::string& svg : {linear, swizzled}) {
    EXPECT_EQ(xml_fault(svg), "");
    // C's 81 tiles and its outline, the outlines of A and B, and the blocks that are touched.
    EXPECT_GE(count_elements(svg, "rect"), 81 + 3);
    EXPECT_LE(count_elements(svg, "rect"), 81 + 3 + 10);
  }
  // One row and nine columns, against three rows and three columns.
  EXPECT_EQ(count_elements(linear, "rect") - count_elements(swizzled, "rect"), 10 - 6);
}

TEST(TileOrderPicture, LargeGridsStaySmall) {
  const std::string svg = tile_order_picture({.grid_m = 100000,
                                              .grid_n = 3,
                                              .order = {TileOrder::hilbert, 8},
                                              .wave = 1 << 20,
                                              .title = "hilbert",
                                              .subtitle = ""});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_LT(svg.size(), 2u << 20);
}

TEST(PipelineChart, MoreStagesHideMoreOfTheLoading) {
  const PipelineTimes times{.latency = 600e-9, .transfer = 100e-9, .multiply = 200e-9};
  const auto end = [&](int stages) { return pipeline_events(times, stages, 12).back().done; };
  EXPECT_DOUBLE_EQ(end(1), 12 * 900e-9);
  EXPECT_LT(end(2), end(1));
  // Four blocks of 200 ns in flight cover 700 ns of loading: only the first load shows.
  EXPECT_NEAR(end(5), 700e-9 + 12 * 200e-9, 1e-12);
  const std::string svg =
      pipeline_chart({.times = times, .stages = 4, .title = "t", .subtitle = "s"});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("Iteration 11 in stage 3"), std::string::npos);
}

TEST(BarPicture, MarksWhatIsTooMuch) {
  const Bar bar{.description = "scratchpad",
                .parts = {{"A", 60, "60 KB", "t0"}, {"B", 60, "60 KB", "t6"}},
                .limit = 99,
                .limit_text = "limit 99 KB"};
  const std::string svg = bar_picture(bar);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("limit 99 KB"), std::string::npos);
  EXPECT_NE(svg.find("class=\"over\" data-tip=\"B"), std::string::npos);
  EXPECT_EQ(svg.find("class=\"over\" data-tip=\"A"), std::string::npos);
}

TEST(ScatterChart, LeavesOutWhatHasNoPlaceAndThinsTheRest) {
  ScatterChart chart;
  chart.points = {{1, 2, "good", false}, {0, 1, "zero", false}, {1, NAN, "nan", false}};
  std::string svg = scatter_chart(chart);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(count_elements(svg, "circle"), 1);
  for (int i = 1; i < 100000; ++i) chart.points.push_back({1.0 * i, 1.0 * i, "", false});
  svg = scatter_chart(chart);
  EXPECT_LE(count_elements(svg, "circle"), 4000);
  EXPECT_EQ(xml_fault(scatter_chart({})), "");
}

TEST(HistogramPicture, CountsEveryRatioOnItsSideOfOne) {
  const std::string svg = histogram_picture(
      {.ratios = {0.5, 0.99, 1.01, 1.5, 1.5, 0, NAN}, .mean = 1.03, .mean_text = "mean"});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_GE(count_elements(svg, "rect"), 3);
  EXPECT_NE(svg.find("class=\"bar-slow\""), std::string::npos);
  EXPECT_NE(svg.find("2 shapes"), std::string::npos);
  EXPECT_EQ(xml_fault(histogram_picture({})), "");
}

TEST(Page, IsSelfContained) {
  Page page("a < b", "sub & title");
  page.facts({{"name", "value", "note"}});
  page.section("s");
  page.figures({"<svg></svg>", "<svg></svg>"}, "caption", {{"t0", "legend"}});
  page.table({{"c", true}}, {{"1 < 2"}});
  page.folded_table("more", {{"c", false}}, {{"x"}});
  page.command("tessera explain");
  const std::string html = page.str();
  EXPECT_EQ(html.find("http://"), std::string::npos);
  EXPECT_EQ(html.find("https://"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
  const std::size_t main = html.find("<main>");
  const std::size_t end = html.find("</main>");
  EXPECT_EQ(xml_fault(html.substr(main, end + 7 - main)), "");
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(html.find("<title>a &lt; b</title>"), std::string::npos);
}

}  // namespace
}  // namespace tessera::report
