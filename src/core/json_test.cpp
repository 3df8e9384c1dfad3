// Machines and plans survive JSON unchanged, and text that is neither is refused by name.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "tessera/error.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

Plan some_plan() {
  Plan plan;
  plan.problem = dense_problem({1536, 1792, 6016}, gemm_types_for(ElementType::bf16));
  plan.problem.groups.push_back({0, 7, 1 << 30});
  plan.problem.alpha = 0.1;
  plan.problem.beta = -1.0 / 3;
  plan.problem.epilogue = {BiasAxis::column, Activation::gelu_erf};
  plan.problem.b = {Major::column, 2};
  plan.machine = machine_by_name("gpu-84sm");
  plan.kernel = "a kernel";
  plan.tile = {.block_m = 128, .block_n = 256, .block_k = 64, .stages = 3, .warpgroups = 2};
  plan.schedule = {.kind = ScheduleKind::hybrid, .workers = 84, .order = TileOrder::swizzle};
  plan.decomposition.stream_k_iterations = 15792;
  plan.cost = {1e-3, {{"arithmetic", 9e-4}, {"launch", 1e-4}}, 1e9, 2e9};
  plan.reason = "because \"it\" is → fastest";
  plan.others = {{"slower", plan.tile, plan.schedule, plan.cost, ""},
                 {"rejected", {}, {}, std::nullopt, "needs 128 KB; the machine has 99 KB"}};
  return plan;
}

// The message of the Error(io) that reading `text` raises; "" where it raises none.
template <class Read>
std::string complaint(Read read, const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(Json, ShippedMachinesRoundTrip) {
  for (const std::string& name : machine_names()) {
    const Machine machine = machine_by_name(name);
    EXPECT_EQ(machine.name, name);
    const Machine back = machine_from_json(to_json(machine));
    EXPECT_EQ(to_json(back), to_json(machine));
    EXPECT_EQ(back.cost.source, machine.cost.source);
    EXPECT_EQ(back.peak(ElementType::bf16), machine.peak(ElementType::bf16));
  }
}

// Descriptions from before they were fields do not split.
TEST(Json, WhetherAMachineSplitsMayBeMissing) {
  for (const auto& [name, splits] :
       {std::pair("splits_f32", &Machine::splits_f32), {"splits_f64", &Machine::splits_f64}}) {
    Machine machine = machine_by_name("sapphire-rapids");
    machine.*splits = true;
    const std::string text = to_json(machine);
    EXPECT_TRUE(machine_from_json(text).*splits);
    const std::string key = std::string("\"") + name + "\": ";
    EXPECT_FALSE(machine_from_json(replaced(text, key + "true,", "")).*splits);
    const std::string wrong =
        complaint(machine_from_json, replaced(text, key + "true,", key + "1,"));
    EXPECT_NE(wrong.find(name), std::string::npos);
  }
}

TEST(Json, UnknownMachineListsTheKnownOnes) {
  try {
    machine_by_name("cray-1");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a100-108sm"), std::string::npos);
  }
}

TEST(Json, PlansRoundTrip) {
  const Plan plan = some_plan();
  const Plan back = plan_from_json(to_json(plan));
  EXPECT_EQ(to_json(back), to_json(plan));
  EXPECT_EQ(back.tile, plan.tile);
  EXPECT_EQ(back.schedule, plan.schedule);
  EXPECT_EQ(back.problem.groups, plan.problem.groups);
  EXPECT_EQ(back.problem.beta, plan.problem.beta);
  EXPECT_EQ(back.reason, plan.reason);
  ASSERT_EQ(back.others.size(), 2U);
  EXPECT_FALSE(back.others[1].cost.has_value());
  EXPECT_EQ(back.others[1].rejection, plan.others[1].rejection);
}

TEST(Json, ScalarsMayBeAnyNumber) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Plan plan = some_plan();
  plan.problem.alpha = std::numeric_limits<double>::quiet_NaN();
  plan.problem.beta = -kInfinity;
  const std::string text = to_json(plan);
  EXPECT_EQ(text.find("null"), std::string::npos) << text;
  EXPECT_TRUE(std::isnan(plan_from_json(text).problem.alpha));
  EXPECT_EQ(plan_from_json(text).problem.beta, -kInfinity);
  EXPECT_EQ(plan_from_json(replaced(text, "\"nan\"", "\"inf\"")).problem.alpha, kInfinity);
  for (const char* other : {"null", "\"NaN\"", "\"1\"", "true"}) {
    const std::string message = complaint(plan_from_json, replaced(text, "\"nan\"", other));
    EXPECT_NE(message.find("plan.problem.alpha: must be a finite number, \"nan\""),
              std::string::npos)
        << message;
  }
  const std::string cost = replaced(text, "\"seconds\": 0.001", "\"seconds\": \"inf\"");
  EXPECT_NE(complaint(plan_from_json, cost).find("plan.cost.seconds"), std::string::npos);
}

// A seed that is refused at its first field leads a fuzzer nowhere.
TEST(Json, SeedsOfTheFuzzersAreRead) {
  const auto text_of = [](const std::string& seed) {
    std::ifstream file(TESSERA_SOURCE_DIR "/tests/fuzz/corpus/" + seed);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(plan_from_json(text_of("plan/dense.json")).others.size(), 1U);
  EXPECT_EQ(machine_from_json(text_of("machine/h200.json")).name, "h200");
}

TEST(Json, ForeignSchemaNamesBothVersions) {
  const std::string text = replaced(to_json(some_plan()), "\"schema\": 1", "\"schema\": 7");
  const std::string message = complaint(plan_from_json, text);
  EXPECT_NE(message.find("be 1"), std::string::npos) << message;
  EXPECT_NE(message.find("version 7"), std::string::npos) << message;
}

TEST(Json, ComplaintsNameTheField) {
  const std::string machine = to_json(machine_by_name("h200"));
  const std::string plan = to_json(some_plan());
  const auto machine_complaint = [&](const std::string& from, const std::string& to) {
    return complaint(machine_from_json, replaced(machine, from, to));
  };
  const auto plan_complaint = [&](const std::string& from, const std::string& to) {
    return complaint(plan_from_json, replaced(plan, from, to));
  };
  EXPECT_NE(machine_complaint("\"workers\"", "\"wrokers\"").find("machine.workers"),
            std::string::npos);
  EXPECT_NE(machine_complaint("\"name\"", "\"nickname\": 1, \"name\"").find("machine.nickname"),
            std::string::npos);
  EXPECT_NE(machine_complaint("\"workers\": 132", "\"workers\": 0").find("machine.workers"),
            std::string::npos);
  EXPECT_NE(machine_complaint("\"workers\": 132", "\"workers\": 1.5").find("machine.workers"),
            std::string::npos);
  EXPECT_NE(machine_complaint("\"f16\"", "\"bf16\"").find("machine.peaks[1].type"),
            std::string::npos);
  EXPECT_NE(machine_complaint("\"gpu\"", "\"tpu\"").find("machine.kind"), std::string::npos);
  EXPECT_NE(machine_complaint("\"compute_efficiency\": ", "\"compute_efficiency\": -")
                .find("machine.cost.compute_efficiency"),
            std::string::npos);
  EXPECT_NE(machine_complaint("\"document\": \"machine\"", "\"document\": \"plan\"")
                .find("machine.document"),
            std::string::npos);
  EXPECT_NE(plan_complaint("\"m\": 0", "\"m\": -1").find("plan.problem.groups[1].m"),
            std::string::npos);
  EXPECT_NE(plan_complaint("\"a\": \"bf16\"", "\"a\": \"f64\"").find("plan.problem.types"),
            std::string::npos);
  EXPECT_NE(plan_complaint("\"block_m\": 128", "\"block_m\": 0").find("plan.tile"),
            std::string::npos);
  EXPECT_NE(plan_complaint("\"kind\": \"hybrid\",\n    \"workers\": 84",
                           "\"kind\": \"hybrid\",\n    \"workers\": 0")
                .find("plan.schedule"),
            std::string::npos);
  EXPECT_NE(plan_complaint("\"hybrid\"", "\"lottery\"").find("plan.schedule.kind"),
            std::string::npos);
}

TEST(Json, OtherTextIsRefused) {
  for (const char* text :
       {"", "{", "[]", "null", "1", "\"plan\"", "{}", "{\"document\": \"plan\"}", "\xff\xfe",
        "{\"schema\": 1}", "{\"document\":\"machine\",\"schema\":1}"}) {
    EXPECT_NE(complaint(machine_from_json, text), "") << text;
    EXPECT_NE(complaint(plan_from_json, text), "") << text;
  }
  const std::string nested(100000, '[');
  EXPECT_NE(complaint(machine_from_json, nested).find("nest"), std::string::npos);
}

// A file cut short or with any byte changed is either refused with an Error or still a sound plan.
RC_GTEST_PROP(Json, DamageNeverEscapesAsAnythingButError, ()) {
  static const std::string sound = to_json(some_plan());
  std::string text = sound;
  const auto size = static_cast<int>(text.size());
  if (*rc::gen::arbitrary<bool>())
    text.resize(static_cast<std::size_t>(*rc::gen::inRange(0, size)));
  const auto changes = *rc::gen::inRange(0, 4);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *rc::gen::inRange(0, static_cast<int>(text.size()));
    text[static_cast<std::size_t>(at)] = *rc::gen::arbitrary<char>();
  }
  try {
    const Plan plan = plan_from_json(text);
    RC_ASSERT(plan.tile.block_m > 0);
    RC_ASSERT(plan.schedule.workers > 0);
  } catch (const Error&) {
  }
}

// Every number comes back as the same bits.
RC_GTEST_PROP(Json, NumbersAreExact, (double seconds, std::int64_t bytes)) {
  RC_PRE(std::isfinite(seconds));
  Machine machine = machine_by_name("zen4");
  machine.cost.launch_seconds = std::abs(seconds);
  machine.cache_bytes = std::abs(bytes % (std::int64_t{1} << 50));
  const Machine back = machine_from_json(to_json(machine));
  RC_ASSERT(back.cost.launch_seconds == machine.cost.launch_seconds);
  RC_ASSERT(back.cache_bytes == machine.cache_bytes);
}

}  // namespace
}  // namespace tessera
