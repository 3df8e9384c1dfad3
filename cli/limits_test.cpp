// The experiments of `tessera limits` on this machine's CPU, small.
#include <gtest/gtest.h>

#include "cli/limit_device.hpp"
#include "cli/limit_experiments.hpp"
#include "tessera/machine.hpp"

namespace tessera::cli {
namespace {

std::unique_ptr<LimitDevice> small_device() {
  return open_cpu(host_machine(), 1, 4 << 20);
}

TEST(Limits, MemoryEndsWithARefusalAndEverythingFreed) {
  const auto device = small_device();
  LimitOptions options;
  options.shape = {64, 64, 64};
  options.tile = {.block_m = 32, .block_n = 32, .block_k = 32};
  options.repeats = 1;
  const LimitFindings found = find_memory_limit(*device, options);
  EXPECT_EQ(device->allocated_bytes(), 0);
  // 64·k·4·2 + 16384 bytes fit 4 MB up to k = 4096.
  ASSERT_EQ(found.steps.size(), 7u + 1);
  EXPECT_TRUE(found.steps.back().contains("refused"));
  EXPECT_EQ(found.steps.back()["k"], 8192);
  for (std::size_t i = 0; i + 1 < found.steps.size(); ++i) {
    EXPECT_EQ(found.steps[i]["scratchpad_bytes"], found.steps[0]["scratchpad_bytes"]);
    EXPECT_EQ(found.steps[i]["k"], 64 << i);
    EXPECT_GT(found.steps[i]["seconds"], 0);
  }
}

TEST(Limits, DeeperBlocksCostScratchpadAndNothingIsRefusedOnACpu) {
  const auto device = small_device();
  LimitOptions options;
  options.shape = {64, 64, 256};
  options.tile = {.block_m = 64, .block_n = 64, .block_k = 16};
  options.repeats = 1;
  const LimitFindings found = find_scratchpad_limit(*device, options);
  ASSERT_EQ(found.steps.size(), 5u);  // 16, 32, 64, 128, 256
  for (std::size_t i = 1; i < found.steps.size(); ++i) {
    EXPECT_GT(found.steps[i]["scratchpad_bytes"], found.steps[i - 1]["scratchpad_bytes"]);
    EXPECT_TRUE(found.steps[i].contains("seconds"));
  }
  EXPECT_EQ(device->allocated_bytes(), 0);
}

TEST(Limits, IntensityDoublesWithTheEdge) {
  const auto device = small_device();
  LimitOptions options;
  options.shape = {64, 64, 64};
  options.repeats = 1;
  const LimitFindings found = find_intensity_limit(*device, options);
  ASSERT_EQ(found.steps.size(), 9u);  // 1 … 256
  for (std::size_t i = 1; i < found.steps.size(); ++i) {
    EXPECT_DOUBLE_EQ(found.steps[i]["flops_per_byte"].get<double>(),
                     2 * found.steps[i - 1]["flops_per_byte"].get<double>());
  }
  EXPECT_DOUBLE_EQ(found.steps[0]["flops_per_byte"].get<double>(), 0.25);
}

TEST(Limits, StagesHaveOneStepOnACpu) {
  const auto device = small_device();
  LimitOptions options;
  options.shape = {64, 64, 64};
  EXPECT_EQ(find_stage_limit(*device, options).steps.size(), 1u);
}

// A device that allocates nothing and says what an H200 says.
class PaperDevice : public LimitDevice {
 public:
  const Machine& machine() const override { return machine_; }
  std::unique_ptr<LimitBuffer> allocate(std::int64_t) override {
    struct Nothing : LimitBuffer {
      void* data() override { return nullptr; }
    };
    return std::make_unique<Nothing>();
  }
  std::int64_t allocated_bytes() const override { return 0; }
  std::int64_t memory_left() const override { return std::int64_t{141} << 30; }
  double seconds(const Plan& plan, std::span<const Operands>, int) override {
    return plan.cost.seconds;
  }
  std::int64_t scratchpad_limit() const override { return machine_.scratchpad_bytes; }

 private:
  Machine machine_ = machine_by_name("h200");
};

TEST(Limits, AGpuRefusesWhatTheDeviceWouldRefuse) {
  PaperDevice device;
  LimitOptions options;
  options.types = gemm_types_for(ElementType::bf16);
  const LimitFindings found = find_scratchpad_limit(device, options);
  int refused = 0;
  for (const auto& step : found.steps) {
    const bool too_large = step["scratchpad_bytes"] > step["limit_bytes"];
    EXPECT_EQ(step.contains("refusal"), too_large) << step.dump();
    refused += too_large ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
  ASSERT_FALSE(found.conclusions.empty());
  EXPECT_NE(found.conclusions[0].find("agrees"), std::string::npos) << found.conclusions[0];
}

TEST(Limits, CountedBytesStandBesideThePredictedOnes) {
  PaperDevice device;
  LimitOptions options;
  options.types = gemm_types_for(ElementType::bf16);
  options.count_bytes = [](const GemmShape& shape, const TileConfig& tile) {
    EXPECT_EQ(shape, (GemmShape{4096, 4096, 4096}));
    return CounterReading{CountedBytes{1e6, 2e6, 1e6 * tile.block_m}, ""};
  };
  const LimitFindings found = find_intensity_limit(device, options);
  int counted = 0;
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    EXPECT_EQ(found.rows[i].size(), found.columns.size());
    const nlohmann::json& step = found.steps[i];
    EXPECT_EQ(step.contains("measured_cache_bytes"), step.contains("flops_per_second"));
    if (!step.contains("measured_cache_bytes")) continue;
    ++counted;
    EXPECT_EQ(step["measured_memory_bytes_read"], 1e6);
    EXPECT_EQ(step["measured_cache_bytes"], 1e6 * step["edge"].get<int>());
    EXPECT_GT(step["predicted_memory_bytes"], 3 * 4096 * 4096 * 2 * 0.9);
  }
  EXPECT_GE(counted, 2);
}

TEST(Limits, WithoutCountersOneLineSaysWhyAndNothingIsTriedTwice) {
  PaperDevice device;
  LimitOptions options;
  options.types = gemm_types_for(ElementType::bf16);
  int calls = 0;
  options.count_bytes = [&](const GemmShape&, const TileConfig&) {
    ++calls;
    return CounterReading{{}, "nobody counts here"};
  };
  const LimitFindings found = find_intensity_limit(device, options);
  EXPECT_EQ(calls, 1);
  ASSERT_FALSE(found.conclusions.empty());
  EXPECT_EQ(found.conclusions.back(), "Bytes moved were not counted: nobody counts here.");
  EXPECT_EQ(found.columns.size(), 6u);
}

TEST(Limits, StagesOfAGpuFillItsScratchpad) {
  PaperDevice device;
  LimitOptions options;
  options.types = gemm_types_for(ElementType::bf16);
  const LimitFindings found = find_stage_limit(device, options);
  ASSERT_EQ(found.steps.size(), 8u);
  EXPECT_TRUE(found.steps[0]["fits"].get<bool>());
  EXPECT_FALSE(found.steps[7]["fits"].get<bool>());
}

}  // namespace
}  // namespace tessera::cli
