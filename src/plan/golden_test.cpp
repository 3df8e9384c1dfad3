// Golden plans: tests/golden/plans.csv lists problems, machines and options, and beside each the
// plan it had when the file was last written. A change of the planner shows as a diff of that file:
//
//   scripts/update_golden.sh     rewrites the answers; a new case is a line with its first four
//   fields
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/tile_config.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

constexpr const char* kFile = TESSERA_SOURCE_DIR "/tests/golden/plans.csv";
constexpr const char* kHeader =
    "machine,types,problem,options,kernel,tile,schedule,workers,splits,order,microseconds";
constexpr std::size_t kQuestionFields = 4;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

struct Question {
  Problem problem;
  Machine machine;
  PlanOptions options;
};

std::vector<std::int64_t> sizes(const std::string& text) {
  std::vector<std::int64_t> values;
  for (const std::string& part : split(text, 'x')) values.push_back(std::stoll(part));
  values.resize(3);
  return values;
}

// "hybrid workers=82 tile=128x128x32 alignment=2 batch_invariant"
void apply_option(const std::string& option, Question& question) {
  const std::size_t equals = option.find('=');
  const std::string name = option.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (name == "workers") {
    question.options.workers = std::stoi(value);
  } else if (name == "splits") {
    question.options.splits = std::stoi(value);
  } else if (name == "tile") {
    const std::vector<std::int64_t> sides = sizes(value);
    question.options.tile = TileConfig{.block_m = static_cast<int>(sides[0]),
                                       .block_n = static_cast<int>(sides[1]),
                                       .block_k = static_cast<int>(sides[2])};
  } else if (name == "alignment") {
    question.problem.a.alignment = std::stoi(value);
  } else if (name == "batch_invariant") {
    question.options.batch_invariant = true;
  } else if (name == "one_tile") {
    question.options.two_tile = false;
  } else if (!name.empty()) {
    question.options.schedule = schedule_kind_from_name(name);
  }
}

Question question_of(const std::vector<std::string>& fields) {
  Question question;
  question.machine = machine_by_name(fields[0]);
  question.problem = dense_problem({}, gemm_types_for(element_type_from_name(fields[1])));
  question.problem.groups.clear();
  for (const std::string& group : split(fields[2], '+')) {
    const std::vector<std::int64_t> mnk = sizes(group);
    question.problem.groups.push_back({mnk[0], mnk[1], mnk[2]});
  }
  for (const std::string& option : split(fields[3], ' ')) apply_option(option, question);
  return question;
}

std::string answer_to(const Question& question) {
  const Plan plan = make_plan(question.problem, question.machine, question.options);
  char microseconds[32];
  std::snprintf(microseconds, sizeof microseconds, "%.3g", plan.cost.seconds * 1e6);
  return plan.kernel + "," + to_text(plan.tile) + (plan.tile.a_in_place ? " A in place" : "") +
         (plan.tile.b_in_place ? " B in place" : "") + "," +
         std::string(name_of(plan.schedule.kind)) + "," + std::to_string(plan.schedule.workers) +
         "," + std::to_string(plan.schedule.splits) + "," + order_text(plan.schedule) + "," +
         microseconds;
}

// Each line as it should be.
std::vector<std::string> expected_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> expected = {kHeader};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::string> fields = split(lines[i], ',');
    fields.resize(kQuestionFields);
    std::string line;
    for (const std::string& field : fields) line += field + ",";
    expected.push_back(line + answer_to(question_of(fields)));
  }
  return expected;
}

std::vector<std::string> read_lines() {
  std::ifstream file(kFile);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(GoldenPlans, AreAsRecorded) {
  const std::vector<std::string> lines = read_lines();
  ASSERT_FALSE(lines.empty()) << kFile;
  const std::vector<std::string> expected = expected_lines(lines);
  if (std::getenv("TESSERA_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(kFile);
    for (const std::string& line : expected) file << line << "\n";
    GTEST_SKIP() << kFile << " written";
  }
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i], expected[i]) << "if this is meant: scripts/update_golden.sh";
  }
}

TEST(GoldenPlans, CoverManyProblemsAndMachines) {
  std::set<std::string> questions;
  std::set<std::string> machines;
  const std::vector<std::string> lines = read_lines();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = split(lines[i], ',');
    questions.insert(fields[0] + fields[1] + fields[2] + fields[3]);
    machines.insert(fields[0]);
  }
  EXPECT_EQ(questions.size(), lines.size() - 1) << "a question is asked twice";
  EXPECT_GE(questions.size(), 200U);
  for (const std::string& name : machine_names()) EXPECT_TRUE(machines.contains(name)) << name;
}

}  // namespace
}  // namespace tessera
