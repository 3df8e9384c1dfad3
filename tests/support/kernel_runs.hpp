// Plans for one microkernel of the CPU, put together by hand, and their runs judged: what is tested
// with them is the backend, whatever the planner would choose.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "core/catalogue.hpp"
#include "support/check_product.hpp"
#include "tessera/plan.hpp"

namespace tessera::test {

// No tile of these tests has more (see expected_element).
inline constexpr std::int64_t kMostPeers = 200;

inline constexpr std::array kSchedules = {
    Schedule{.kind = ScheduleKind::data_parallel, .workers = 3},
    Schedule{.kind = ScheduleKind::split_k, .workers = 4, .splits = 3, .order = TileOrder::swizzle},
    Schedule{.kind = ScheduleKind::stream_k, .workers = 7, .order = TileOrder::hilbert},
    Schedule{.kind = ScheduleKind::hybrid, .workers = 5},
    Schedule{.kind = ScheduleKind::stream_k, .workers = 132}};

struct Blocks {
  std::int64_t block_m;
  std::int64_t block_n;
  std::int64_t block_k;
};

// The kernel's own types; C, where it is wide, of its accumulator's.
GemmTypes types_of(const KernelEntry& kernel, bool wide_c = false);

Plan plan_for(const KernelEntry& kernel, const GemmTypes& types, const GemmShape& shape,
              const Blocks& blocks, const Schedule& schedule);

// Empty, or what is wrong with the result.
std::string run_and_check(Plan& plan, Product& product, int threads);

// The tests of all kernels. One that this processor cannot run is skipped by name.
class Kernels : public testing::TestWithParam<const KernelEntry*> {
 protected:
  void SetUp() override;
  const KernelEntry& kernel() const { return *GetParam(); }
};

}  // namespace tessera::test
