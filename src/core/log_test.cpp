// Who hears the log, and what the environment says.
#include "tessera/log.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/environment.hpp"
#include "support/setting.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

using test::Setting;

TEST(Log, ReachesTheReceiverAlone) {
  std::vector<std::string> lines;
  testing::internal::CaptureStderr();
  set_log([&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_TRUE(is_logged(LogTopic::dispatch));
  log_line("one");
  set_log({});
  EXPECT_FALSE(is_logged(LogTopic::dispatch));
  log_line("two");
  EXPECT_EQ(lines, std::vector<std::string>{"one"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Log, GoesToStandardErrorWhereTheEnvironmentAsks) {
  const Setting setting("TESSERA_VERBOSE", "other,dispatch");
  set_log({});
  testing::internal::CaptureStderr();
  EXPECT_TRUE(is_logged(LogTopic::dispatch));
  log_line("a line");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tessera: a line\n");
  unsetenv("TESSERA_VERBOSE");
  set_log({});
}

TEST(Log, AReceiverMaySetAnother) {
  int calls = 0;
  set_log([&](std::string_view) {
    ++calls;
    set_log({});
  });
  log_line("one");
  log_line("two");
  EXPECT_EQ(calls, 1);
}

TEST(Environment, ListsWhatIsSet) {
  const Setting setting("TESSERA_THREADS", "3");
  bool seen = false;
  for (const EnvironmentVariable& variable : environment_variables()) {
    EXPECT_FALSE(variable.meaning.empty());
    if (variable.name == "TESSERA_THREADS") {
      EXPECT_EQ(variable.value, "3");
      seen = true;
    }
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(environment_number("TESSERA_THREADS", 1, 4), 3);
  EXPECT_EQ(environment_value("TESSERA_PLAN_CACHE"), std::nullopt);
}

TEST(Environment, NamesTheVariableThatIsWrong) {
  for (const char* const value : {"many", "0", "-1", "3 ", "5", "99999999999"}) {
    const Setting setting("TESSERA_THREADS", value);
    try {
      environment_number("TESSERA_THREADS", 1, 4);
      ADD_FAILURE() << value;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("TESSERA_THREADS"), std::string::npos);
    }
  }
}

TEST(Environment, FindsWholeWords) {
  const Setting setting("TESSERA_VERBOSE", "dispatcher,plan");
  EXPECT_TRUE(environment_names("TESSERA_VERBOSE", "plan"));
  EXPECT_FALSE(environment_names("TESSERA_VERBOSE", "dispatch"));
}

}  // namespace
}  // namespace tessera
