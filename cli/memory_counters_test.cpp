// What ncu prints, with its own words and the profiled program's between them; and a stand-in for
// it.
#include "cli/memory_counters.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tessera::cli {
namespace {

constexpr const char* kOutput = R"csv(==PROF== Connected to process 4711 (/usr/bin/tessera)
==PROF== Profiling "dense_kernel" - 0: 0%....50%....100% - 3 passes
problem               4096x4096x4096, bf16 x bf16 -> bf16
time                  183 us, 750000.0 GFLOP/s
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","tessera","127.0.0.1","void tessera::dense_kernel<(Config){128, 256}>(Plan, ""quoted"")","1","7","(384, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","101,234,560"
"0","4711","tessera","127.0.0.1","void tessera::dense_kernel<(Config){128, 256}>(Plan, ""quoted"")","1","7","(384, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","byte","12345"
"0","4711","tessera","127.0.0.1","void tessera::dense_kernel<(Config){128, 256}>(Plan, ""quoted"")","1","7","(384, 1, 1)","(132, 1, 1)","0","9.0","Command line profiler metrics","lts__t_bytes.sum","byte","2,013,265,920"
)csv";

TEST(MemoryCounters, ReadsTheTable) {
  const CounterReading reading = parse_counters(kOutput);
  ASSERT_TRUE(reading.counted) << reading.why_not;
  EXPECT_EQ(reading.counted->memory_read, 101234560);
  EXPECT_EQ(reading.counted->memory_written, 12345);
  EXPECT_EQ(reading.counted->cache, 2013265920);
}

// A column more, or another order, is no trouble; another unit or a missing value is.
TEST(MemoryCounters, GoesByNamesOfColumns) {
  const std::string table =
      "\"ID\",\"Metric Value\",\"Metric Name\",\"Metric Unit\"\n"
      "\"0\",\"1\",\"dram__bytes_read.sum\",\"byte\"\n\"0\",\"2\",\"dram__bytes_write.sum\","
      "\"byte\"\n";
  EXPECT_TRUE(parse_counters(table + "\"0\",\"3\",\"lts__t_bytes.sum\",\"byte\"\r\n").counted);
  EXPECT_FALSE(parse_counters(table + "\"0\",\"3\",\"lts__t_bytes.sum\",\"Mbyte\"\n").counted);
  EXPECT_FALSE(parse_counters(table + "\"0\",\"n/a\",\"lts__t_bytes.sum\",\"byte\"\n").counted);
  EXPECT_FALSE(parse_counters(table + "\"0\",\"3\"\n").counted);
  EXPECT_FALSE(parse_counters(table).counted);
  EXPECT_FALSE(parse_counters("").counted);
}

TEST(MemoryCounters, SaysWhyThereIsNone) {
  const auto why = [](const char* output) { return parse_counters(output).why_not; };
  EXPECT_NE(why("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n")
                .find("this user may not read"),
            std::string::npos);
  EXPECT_EQ(why("==PROF== Connected\n==ERROR== LibraryNotLoaded\n"), "ncu said: LibraryNotLoaded");
  EXPECT_EQ(why("tessera: no memory\n==WARNING== No kernels were profiled.\n"),
            "under ncu this command said: no memory");
  EXPECT_EQ(why("==WARNING== No kernels were profiled.\n"),
            "ncu printed no values of dram__bytes_read.sum");
}

// A folder with a program `ncu` in front of PATH.
class FakeNcu {
 public:
  explicit FakeNcu(const std::string& script)
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("fake ncu " + std::to_string(getpid()))),
        path_(std::getenv("PATH")) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "ncu") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(folder_ / "ncu", std::filesystem::perms::owner_all);
    setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
  }
  ~FakeNcu() {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  FakeNcu(const FakeNcu&) = delete;
  FakeNcu& operator=(const FakeNcu&) = delete;
  std::filesystem::path folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

TEST(MemoryCounters, RunsItselfAsAChildOfNcu) {
  const FakeNcu fake("printf '%s\\n' \"$@\" > \"$(dirname \"$0\")/arguments\"\ncat <<'TABLE'\n" +
                     std::string(kOutput) + "TABLE\n");
  const CounterReading reading = count_first_launch({"run", "8x8x8", "it's one"});
  ASSERT_TRUE(reading.counted) << reading.why_not;
  EXPECT_EQ(reading.counted->memory_written, 12345);
  std::vector<std::string> arguments;
  std::ifstream file(fake.folder() / "arguments");
  for (std::string line; std::getline(file, line);) arguments.push_back(line);
  ASSERT_GT(arguments.size(), 4u);
  const std::vector<std::string> last(arguments.end() - 4, arguments.end());
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(last, (std::vector<std::string>{self, "run", "8x8x8", "it's one"}));
}

TEST(MemoryCounters, AFailedChildHasItsStatusInTheReason) {
  const FakeNcu fake("echo '==ERROR== out of luck' >&2\nexit 9\n");
  EXPECT_EQ(count_first_launch({"run"}).why_not, "ncu said: out of luck (exit status 9)");
}

}  // namespace
}  // namespace tessera::cli
