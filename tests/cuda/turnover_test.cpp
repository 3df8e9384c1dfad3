// More clusters than find room at a time, of kernels for groups, whose workers claim tiles: others
// start in the shared memory that those leave behind which are done.
//
// TESSERA_REPLAYS sets how many times they are launched (20000 for a long run).
#include <gtest/gtest.h>

#include <cstdlib>

#include "cuda/hog.hpp"
#include "cuda/ragged_case.hpp"

namespace tessera::test {
namespace {

int launches() {
  const char* const text = std::getenv("TESSERA_REPLAYS");
  return text != nullptr ? std::atoi(text) : 100;
}

class Turnover : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  static constexpr int kGroups = 600;

  const KernelEntry& kernel() const { return GetParam(); }

  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped() && !kernel().has_group_code) GTEST_SKIP() << "claims no tiles";
  }

  // Of eight tiles seven load nothing, so that nothing lies between a claim and the next, or the
  // end.
  RaggedCase tiny_tiles() const {
    RaggedCase what{.door = DoorKind::array,
                    .types = {kernel().a, kernel().b, gemm_types_for(kernel().a).c},
                    .is_b_transposed = true,
                    .alignment = 16};
    for (int g = 0; g < kGroups; ++g) what.shapes.push_back({8, 8, g % 8 == 7 ? 24 : 0});
    return what;
  }
};

TEST_P(Turnover, ClustersThatLeave) {
  const DeviceRagged ragged(tiny_tiles());
  const auto plan = forced_ragged_plan(
      ragged, kernel(), {.kind = ScheduleKind::data_parallel, .workers = kGroups / 2});
  ASSERT_TRUE(plan);
  for (int i = 0; i < launches(); ++i) run_ragged(*plan, ragged.products());
  check(cudaDeviceSynchronize());
  EXPECT_EQ(ragged.verdict(64), "");
}

TEST_P(Turnover, BesideAHog) {
  using enum ScheduleKind;
  for (const Schedule& schedule :
       {Schedule{.kind = data_parallel, .workers = 40}, Schedule{.kind = stream_k, .workers = 40},
        Schedule{.kind = hybrid, .workers = 40}}) {
    const DeviceRagged ragged(tiny_tiles());
    const auto plan = forced_ragged_plan(ragged, kernel(), schedule);
    ASSERT_TRUE(plan);
    const Stream stream;
    const auto queue = [&] { run_ragged(*plan, ragged.products(), {.stream = stream}); };
    // The driver loads a kernel when it is first started, and waits for the device.
    queue();
    check(cudaStreamSynchronize(stream));
    ragged.reset_c();
    check(cudaDeviceSynchronize());
    {
      const Hog hog;
      for (int i = 0; i < 5; ++i) queue();
      check(cudaStreamSynchronize(stream));
      EXPECT_TRUE(hog.is_running()) << "products waited for the hog to end";
    }
    EXPECT_EQ(ragged.verdict(64), "") << name_of(schedule.kind);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Turnover, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
