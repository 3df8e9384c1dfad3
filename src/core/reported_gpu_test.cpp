// What becomes of the names and numbers that drivers give: as seen on an H200, the others by their
// data sheets.
#include "core/reported_gpu.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tessera/error.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

ReportedGpu hopper(const std::string& name, int multiprocessors, std::int64_t memory_kilohertz,
                   std::int64_t memory_bus_bits, std::int64_t cache_mib) {
  return {.name = name,
          .major = 9,
          .minor = 0,
          .multiprocessors = multiprocessors,
          .scratchpad_bytes = 227 * 1024,
          .cache_bytes = cache_mib * kMiB,
          .memory_kilohertz = memory_kilohertz,
          .memory_bus_bits = memory_bus_bits};
}

const ReportedGpu kH100 = hopper("NVIDIA H100 80GB HBM3", 132, 2619000, 5120, 50);

TEST(ReportedGpu, IsTheShippedDescriptionWhereItIsThatDevice) {
  struct Case {
    ReportedGpu gpu;
    const char* shipped;
  };
  for (const Case& one :
       {Case{hopper("NVIDIA H200", 132, 3201000, 6144, 60), "h200"}, Case{kH100, "h100"},
        Case{hopper("NVIDIA H100 PCIe", 114, 1593000, 5120, 50), "h100-pcie"},
        Case{hopper("NVIDIA H100 NVL", 132, 2619000, 6016, 60), "h100-nvl"},
        Case{hopper("NVIDIA GH200 480GB", 132, 2619000, 6144, 60), "gh200"}}) {
    SCOPED_TRACE(one.gpu.name);
    Machine expected = machine_by_name(one.shipped);
    expected.name = one.gpu.name;
    EXPECT_EQ(to_json(machine_of(one.gpu)), to_json(expected));
  }
}

TEST(ReportedGpu, TakesItsMemorysClockWhereThatDiffers) {
  const Machine nvl = machine_of(hopper("NVIDIA H200 NVL", 132, 3201000, 6144, 60));
  EXPECT_EQ(nvl.peak(ElementType::bf16), machine_by_name("h100-nvl").peak(ElementType::bf16));
  EXPECT_NEAR(nvl.memory_bytes_per_second, 4.3e12, 0.05e12);
  EXPECT_NE(nvl.cost.source.find("bandwidth by the memory clock"), std::string::npos);

  const Machine grace = machine_of(hopper("NVIDIA GH200 144G HBM3e", 132, 3201000, 6144, 60));
  EXPECT_NEAR(grace.memory_bytes_per_second, 4.3e12, 0.05e12);

  const Machine a100 =
      machine_of({"NVIDIA A100-SXM4-40GB", 8, 0, 108, 163 * 1024, 40 * kMiB, 1215000, 5120});
  EXPECT_NEAR(a100.memory_bytes_per_second, 0.88 * 1.555e12, 0.01e12);
  EXPECT_EQ(a100.architecture, "sm_80");
  EXPECT_EQ(a100.peak(ElementType::f64), machine_by_name("a100-108sm").peak(ElementType::f64));
}

// A clock of 0 would be a memory without bandwidth, which the planner divides by.
TEST(ReportedGpu, KeepsTheKindsBandwidthWhereNoClockIsTold) {
  ReportedGpu silent = kH100;
  silent.memory_kilohertz = 0;
  const auto expect_shipped_memory = [](const ReportedGpu& gpu) {
    const Machine machine = machine_of(gpu);
    EXPECT_EQ(machine.memory_bytes_per_second, machine_by_name("h100").memory_bytes_per_second);
    EXPECT_NE(machine.cost.source.find("tells no memory clock"), std::string::npos);
    EXPECT_NO_THROW(make_plan(dense_problem({512, 512, 512}), machine));
  };
  expect_shipped_memory(silent);
  silent.memory_kilohertz = -1;
  expect_shipped_memory(silent);
  silent = kH100;
  silent.memory_bus_bits = 0;
  expect_shipped_memory(silent);
  silent.cache_bytes = 0;
  EXPECT_EQ(machine_of(silent).cache_bytes, machine_by_name("h100").cache_bytes);
}

TEST(ReportedGpu, ASliceHasItsShare) {
  ReportedGpu slice = hopper("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16, 0, 0, 6);
  const Machine whole = machine_by_name("h100");
  const Machine machine = machine_of(slice);
  EXPECT_EQ(machine.workers, 16);
  EXPECT_EQ(machine.cache_bytes, 6 * kMiB);
  EXPECT_DOUBLE_EQ(machine.cache_bytes_per_second, whole.cache_bytes_per_second * 16 / 132);
  EXPECT_LE(machine.memory_bytes_per_second, 16 * whole.worker_memory_bytes_per_second);
  EXPECT_EQ(machine.architecture, "sm_90");
}

TEST(ReportedGpu, KindsThatDoNotShip) {
  const Machine workstation =
      machine_of({"NVIDIA RTX A6000", 8, 6, 84, 99 * 1024, 6 * kMiB, 8001000, 384});
  EXPECT_EQ(workstation.peak(ElementType::f64), machine_by_name("gpu-84sm").peak(ElementType::f64));
  EXPECT_EQ(workstation.scratchpad_bytes, 99 * 1024);

  // Its kernels are the general ones, whatever its name.
  const Machine newer = machine_of({"NVIDIA B200", 10, 0, 148, 227 * 1024, 126 * kMiB, 0, 8192});
  EXPECT_EQ(newer.architecture, "sm_80");
  EXPECT_EQ(newer.cache_bytes, 126 * kMiB);
  EXPECT_EQ(newer.workers, 148);
  EXPECT_EQ(newer.name, "NVIDIA B200");

  try {
    machine_of({"Tesla T4", 7, 5, 40, 64 * 1024, 4 * kMiB, 5001000, 256});
    FAIL() << "a device without kernels was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("7.5"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera
