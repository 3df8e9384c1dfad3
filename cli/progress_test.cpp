// The text of the progress bar.
#include "cli/progress.hpp"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(Progress, ShowsShareRateAndTimeLeft) {
  const std::string line = progress_line("measuring", 5, 20, "shapes", 10, 200);
  EXPECT_NE(line.find("measuring ["), std::string::npos);
  EXPECT_NE(line.find("25 %"), std::string::npos) << line;
  EXPECT_NE(line.find("0.5 shapes/s"), std::string::npos) << line;
  EXPECT_NE(line.find("30 s left"), std::string::npos) << line;
  EXPECT_NE(progress_line("x", 1, 100, "s", 10, 200).find("16:30 min left"), std::string::npos);
}

TEST(Progress, FitsTheTerminalAndAnyNumbers) {
  EXPECT_LT(progress_line("measuring", 5, 20, "shapes", 10, 30).size(), 30u);
  EXPECT_NE(progress_line("x", 30, 20, "s", 1, 100).find("100 %"), std::string::npos);
  EXPECT_NE(progress_line("x", 0, 0, "s", 0, 100).find("100 %"), std::string::npos);
}

TEST(Progress, IsQuietWhereNobodyLooks) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("measuring", 2, "shapes");
    progress.at(1);
  }
  // Under a test runner stderr is captured into a file.
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace tessera::cli
