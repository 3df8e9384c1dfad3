// Every shipped machine is complete: the planner finds whatever it asks for.
#include <gtest/gtest.h>

#include "core/catalogue.hpp"
#include "tessera/machine.hpp"

namespace tessera {
namespace {

TEST(Machines, AreComplete) {
  for (const std::string& name : machine_names()) {
    SCOPED_TRACE(name);
    const Machine m = machine_by_name(name);
    EXPECT_GT(m.workers, 0);
    EXPECT_GT(m.scratchpad_bytes, 0);
    EXPECT_GT(m.cache_bytes, 0);
    EXPECT_EQ(m.l1_bytes > 0, m.kind == MachineKind::cpu);
    EXPECT_GT(m.memory_bytes_per_second, 0);
    // A shared cache is faster than the memory behind it, and one worker draws less than all.
    EXPECT_GT(m.cache_bytes_per_second, m.memory_bytes_per_second);
    EXPECT_LT(m.worker_memory_bytes_per_second, m.memory_bytes_per_second);
    EXPECT_GT(m.cost.compute_efficiency, 0);
    EXPECT_LE(m.cost.compute_efficiency, 1);
    EXPECT_FALSE(m.cost.source.empty());
    for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16,
                                   ElementType::bf16, ElementType::i8, ElementType::u8}) {
      EXPECT_GT(m.peak(type), 0) << name_of(type);
    }
    EXPECT_EQ(m.peak(ElementType::i32), 0);
  }
}

TEST(Machines, HaveAKernelForEveryType) {
  for (const std::string& name : machine_names()) {
    const Machine m = machine_by_name(name);
    for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16,
                                   ElementType::bf16, ElementType::i8, ElementType::u8}) {
      const Problem problem = dense_problem({100, 100, 100}, gemm_types_for(type));
      bool found = false;
      for (const KernelEntry& kernel : catalogue()) {
        found = found || !why_not(kernel, problem, m).has_value();
      }
      EXPECT_TRUE(found) << name << " " << name_of(type);
    }
  }
}

TEST(Machines, FewerThreadsForkAndJoinSooner) {
  for (const std::string_view name : {"zen5", "sapphire-rapids"}) {
    const Machine all = machine_by_name(name);
    EXPECT_LT(with_workers(all, 4).cost.launch_seconds, all.cost.launch_seconds) << name;
    EXPECT_GT(with_workers(all, 128).cost.launch_seconds, all.cost.launch_seconds) << name;
    EXPECT_DOUBLE_EQ(with_workers(with_workers(all, 128), all.workers).cost.launch_seconds,
                     all.cost.launch_seconds);
  }
  // Also where calibration has found less than all of its threads would take.
  Machine quick = machine_by_name("sapphire-rapids");
  quick.cost.launch_seconds = 1e-6;
  EXPECT_GT(with_workers(quick, 2).cost.launch_seconds, 0);
  const Machine gpu = machine_by_name("h200");
  EXPECT_EQ(with_workers(gpu, 66).cost.launch_seconds, gpu.cost.launch_seconds);
}

}  // namespace
}  // namespace tessera
