// A sweep's file can be read whenever it was interrupted, and its figures are what they say.
#include <gtest/gtest.h>

#include "report/sweep_records.hpp"
#include "support/xml_check.hpp"
#include "tessera/error.hpp"

namespace tessera::report {
namespace {

SweepSettings settings() {
  return {.corpus = "shapes.csv (0123)",
          .count = 3,
          .seed = (1ULL << 63) + 1,
          .types = "f32,f32,f32",
          .threads = 2,
          .seconds = 0.1,
          .cold = false,
          .kernel = "cpu_avx512_f32",
          .contenders = {"tessera", "tessera data_parallel", "openblas"},
          .machine = "host (avx2, 2 workers)",
          .commit = "0123456789ab",
          .date = "2026-11-22T12:45:29Z"};
}

SweepRecord record(int index, double ours, double data_parallel, double peer) {
  SweepRecord one;
  one.index = index;
  one.name = "64x64x<64>";
  one.groups = {{64, 64, 64}};
  one.flops = 2 * 64.0 * 64 * 64;
  one.intensity = 10;
  one.bound_seconds = ours / 2;
  one.bound_by = "arithmetic";
  one.results = {{"tessera", "plan", ours, ours * 1.1, false},
                 {"tessera data_parallel", "plan", data_parallel, ours, false}};
  if (peer > 0) one.results.push_back({"openblas", "cblas_sgemm", peer, 0, true});
  return one;
}

std::string file_of(int records) {
  std::string text = to_json_line(settings());
  for (int i = 0; i < records; ++i) text += to_json_line(record(i, 1e-3, 2e-3, 3e-3));
  return text;
}

TEST(SweepRecords, RoundTrip) {
  const std::string text = file_of(2);
  const Sweep sweep = parse_sweep(text, "r.jsonl");
  EXPECT_EQ(sweep.settings, settings());
  ASSERT_EQ(sweep.records.size(), 2u);
  EXPECT_EQ(sweep.whole_bytes, text.size());
  EXPECT_EQ(to_json_line(sweep.records[1]), to_json_line(record(1, 1e-3, 2e-3, 3e-3)));
}

// However the process was stopped, what is there up to the last line's end is valid.
TEST(SweepRecords, EveryPrefixIsAShorterSweep) {
  const std::string text = file_of(3);
  const std::size_t header = to_json_line(settings()).size();
  for (std::size_t size = header; size < text.size(); ++size) {
    const Sweep sweep = parse_sweep(std::string_view(text).substr(0, size), "r.jsonl");
    EXPECT_LE(sweep.whole_bytes, size);
    EXPECT_TRUE(sweep.whole_bytes == 0 || text[sweep.whole_bytes - 1] == '\n');
    EXPECT_LE(sweep.records.size(), 3u);
  }
  EXPECT_THROW(parse_sweep("", "r.jsonl"), Error);
  EXPECT_THROW(parse_sweep(text.substr(0, header - 1), "r.jsonl"), Error);
}

TEST(SweepRecords, ForeignFilesAreRefusedByLine) {
  for (const std::string text :
       {"m,n,k\n", "{}\n", "[]\n", "{\"document\":\"plan\",\"schema\":1}\n"}) {
    EXPECT_THROW(parse_sweep(text, "r.jsonl"), Error) << text;
  }
  try {
    parse_sweep(file_of(1) + "{\"index\":1}\n", "r.jsonl");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
  }
}

TEST(SweepRecords, SaysWhatDiffers) {
  EXPECT_EQ(difference(settings(), settings()), std::nullopt);
  SweepSettings other = settings();
  other.seed = 2;
  EXPECT_EQ(difference(other, settings()), "seed: 2 in the file, 9223372036854775809 now");
  other = settings();
  other.contenders.pop_back();
  EXPECT_NE(difference(other, settings())->find("contenders"), std::string::npos);
  other = settings();
  other.commit = "ba9876543210";
  EXPECT_EQ(difference(other, settings()), "commit: ba9876543210 in the file, 0123456789ab now");
  other = settings();
  other.date = "2026-11-23T00:00:00Z";
  EXPECT_EQ(difference(other, settings()), std::nullopt);
  other.kernel.clear();
  EXPECT_EQ(difference(other, settings()), "kernel: the planner's in the file, cpu_avx512_f32 now");
}

TEST(SweepRecords, SpeedUpIsAgainstThePeerOrElseOurDataParallel) {
  EXPECT_DOUBLE_EQ(record(0, 1, 2, 3).speed_up(), 3);
  EXPECT_DOUBLE_EQ(record(0, 1, 2, 0).speed_up(), 2);
  EXPECT_DOUBLE_EQ(record(0, 3, 2, 6).regret(), 1.5);
  EXPECT_DOUBLE_EQ(record(0, 1, 2, 0.5).regret(), 1);
  EXPECT_DOUBLE_EQ(record(0, 1, 2, 3).over_data_parallel("tessera"), 2);
  EXPECT_DOUBLE_EQ(record(0, 1, 2, 3).over_data_parallel("openblas"), 0);
  EXPECT_DOUBLE_EQ(record(0, 1, 2, 3).over_data_parallel("tessera hybrid"), 0);
  EXPECT_DOUBLE_EQ(geometric_mean({2, 8}), 4);
  EXPECT_DOUBLE_EQ(median_of({3, 1, 2}), 2);
}

TEST(SweepPage, IsWellFormedFromNothingToAll) {
  for (const int records : {0, 1, 3}) {
    const std::string html = sweep_page(parse_sweep(file_of(records), "r.jsonl"), "tessera report");
    const std::size_t begin = html.find("<main>");
    EXPECT_EQ(
        test::xml_fault(std::string_view(html).substr(begin, html.find("</main>") + 7 - begin)),
        "");
    if (records > 0) {
      EXPECT_NE(html.find("3×"), std::string::npos);
      EXPECT_NE(html.find("The worst"), std::string::npos);
      EXPECT_NE(html.find("as predicted"), std::string::npos);
      EXPECT_NE(html.find("Schedules beside data_parallel"), std::string::npos);
    }
    EXPECT_EQ(html.find("is not complete") == std::string::npos, records == 3);
  }
}

}  // namespace
}  // namespace tessera::report
