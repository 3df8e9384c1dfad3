// Sweeps: which contenders, what a wrong result says, and files that are continued or refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/command_line.hpp"
#include "cli/sweep_file.hpp"
#include "cli/sweep_steps.hpp"
#include "cli/text_file.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

class SweepFileTest : public testing::Test {
 protected:
  SweepFileTest()
      : path_(std::filesystem::temp_directory_path() /
              ("tessera_sweep_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    settings_.corpus = "log256";
    settings_.count = 5;
    settings_.types = "f32,f32,f32";
    settings_.contenders = {"tessera"};
    settings_.machine = "host";
  }
  ~SweepFileTest() override { std::filesystem::remove(path_); }

  static report::SweepRecord record(int index) {
    report::SweepRecord one;
    one.index = index;
    one.name = "8x8x8";
    one.groups = {{8, 8, 8}};
    one.results = {{"tessera", "", 1e-3, 1e-3, false}};
    return one;
  }

  std::filesystem::path path_;
  report::SweepSettings settings_;
};

TEST_F(SweepFileTest, ContinuesWhereItStopped) {
  {
    SweepFile file(path_, settings_);
    EXPECT_TRUE(file.earlier().empty());
    file.append(record(0));
    file.append(record(1));
  }
  // As if the process had been killed within a line.
  std::ofstream(path_, std::ios::app) << "{\"index\":2,\"na";
  {
    SweepFile file(path_, settings_);
    ASSERT_EQ(file.earlier().size(), 2u);
    file.append(record(2));
  }
  const report::Sweep sweep = report::parse_sweep(read_text_file(path_), "r");
  ASSERT_EQ(sweep.records.size(), 3u);
  EXPECT_EQ(sweep.records[2].index, 2);
}

TEST_F(SweepFileTest, RefusesOtherSettingsAndForeignFilesUnchanged) {
  {
    SweepFile file(path_, settings_);
    file.append(record(0));
  }
  report::SweepSettings other = settings_;
  other.seed = 7;
  try {
    SweepFile file(path_, other);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("seed: 0 in the file, 7 now"), std::string::npos);
  }
  std::ofstream(path_) << "m,n,k\n1,2,3\n";
  EXPECT_THROW(SweepFile(path_, settings_), Error);
  EXPECT_EQ(read_text_file(path_), "m,n,k\n1,2,3\n");
  EXPECT_THROW(SweepFile("/proc/no/such/place", settings_), Error);
}

TEST_F(SweepFileTest, BelongsToOneProcessAtATime) {
  SweepFile file(path_, settings_);
  EXPECT_THROW(SweepFile(path_, settings_), Error);
}

TEST(SweepVariants, EverySettingAskedFor) {
  EXPECT_EQ(sweep_variants({}, {}, "on", "").size(), 1u);
  const std::vector<Variant> variants =
      sweep_variants({"data_parallel", "hybrid"}, {2, 4}, "both", "");
  ASSERT_EQ(variants.size(), 1u + 2 + 4);
  EXPECT_EQ(variants[0].name, "tessera");
  EXPECT_EQ(variants[1].name, "tessera 2-worker data_parallel");
  EXPECT_EQ(*variants[1].options.workers, 2);
  EXPECT_EQ(variants[4].name, "tessera 2-worker one-tile hybrid");
  EXPECT_FALSE(variants[4].options.two_tile);
  const std::vector<Variant> pieces = sweep_variants({"split_k(3)", "split_k(12)"}, {}, "both", "");
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[1].name, "tessera split_k(3)");
  EXPECT_EQ(*pieces[1].options.splits, 3);
  EXPECT_EQ(*pieces[2].options.splits, 12);
  for (const char* const wrong : {"no such", "split_k(", "split_k()", "split_k(3", "split_k(x)"}) {
    EXPECT_THROW(sweep_variants({wrong}, {}, "on", ""), Error) << wrong;
  }
}

TEST(SweepSteps, AWrongResultNamesShapeSeedAndCommand) {
  CpuBenchOptions options;
  options.variants = sweep_variants({"hybrid"}, {3}, "off", "cpu_f64");
  CaseResult result;
  result.measured = {"5x6x7", "", {{5, 6, 7}}};
  result.types = gemm_types_for(ElementType::f64);
  result.threads = 2;
  ContenderResult good;
  good.name = "tessera";
  ContenderResult bad;
  bad.name = "tessera 3-worker one-tile hybrid";
  bad.wrong = "C(0, 0) is 1";
  ContenderResult peer;
  peer.name = "openblas";
  peer.is_peer = true;
  peer.wrong = "C(0, 0) is 2";
  result.results = {good, peer};
  EXPECT_EQ(wrong_result(result, options, 4, 9), std::nullopt);
  EXPECT_EQ(record_from(result, 4).results.size(), 1u);
  result.results.push_back(bad);
  const std::string text = wrong_result(result, options, 4, 9).value();
  EXPECT_NE(text.find("5x6x7"), std::string::npos);
  EXPECT_NE(text.find("corpus seed 9"), std::string::npos);
  EXPECT_NE(text.find("C(0, 0) is 1"), std::string::npos);
  EXPECT_NE(text.find("tessera run 5x6x7 --type f64 --out-type f64 --kernel cpu_f64 --schedule "
                      "hybrid --workers 3 --no-two-tile --threads 2 --seed 0 --check"),
            std::string::npos)
      << text;
}

TEST(SweepSteps, ContentsNameACorpus) {
  EXPECT_EQ(named_by_contents("a.csv", "x"), named_by_contents("a.csv", "x"));
  EXPECT_NE(named_by_contents("a.csv", "x"), named_by_contents("a.csv", "y"));
}

TEST(CommandLine, IsQuotedForAShell) {
  EXPECT_EQ(shell_quoted("1536x1792"), "1536x1792");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace tessera::cli
