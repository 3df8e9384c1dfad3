// Small products repeated by tessera::gemm and tessera::run, which take a shorter way from the
// third or second call on (src/small_calls.hpp): same bits, same refusals, same log.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "support/check_product.hpp"
#include "tessera/error.hpp"
#include "tessera/log.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using test::Fill;
using test::Placement;
using test::Product;

constexpr std::int64_t kMostContributors = 200;
constexpr int kCalls = 5;

TEST(SmallCalls, GiveTheBitsOfThePlan) {
  std::uint64_t seed = 1;
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::bf16}) {
    for (const bool column_major : {false, true}) {
      for (const std::int64_t side : {1, 4, 9, 16, 33, 64, 65}) {
        for (const double beta : {0.0, 0.5}) {
          GemmTypes types = gemm_types_for(type);
          types.c = accumulator_of(types);
          const Placement place{.column_major = column_major, .padding = side % 3};
          for (int call = 0; call < kCalls; ++call) {
            // Operands of their own for each call; the addresses change, the rest does not.
            Product product(types, {side, side, side}, beta, Fill::normal, seed, place, place,
                            place);
            Product planned(types, {side, side, side}, beta, Fill::normal, seed, place, place,
                            place);
            ++seed;
            const Operands operands = planned.operands();
            const Plan plan = make_plan(describe({&operands, 1}, 1.5, beta, {}), host_machine());
            run(plan, {&operands, 1});
            gemm(1.5, product.operands(), beta);
            ASSERT_EQ(product.c.bytes(), planned.c.bytes()) << "side " << side << ", call " << call;
            ASSERT_EQ(check_product(product, 1.5, beta, {}, kMostContributors), "");
          }
        }
      }
    }
  }
}

// A product that has been called often enough, and whose addresses tests then break.
struct Repeated {
  Repeated() {
    for (int call = 0; call < kCalls; ++call) gemm(1, operands, 0);
  }

  static constexpr std::int64_t kSide = 12;
  std::vector<float> a = std::vector<float>(kSide * kSide + 1, 1);
  std::vector<float> b = std::vector<float>(kSide * kSide + 1, 1);
  std::vector<float> c = std::vector<float>(kSide * kSide + 1);
  Operands operands{row_major(a.data(), kSide, kSide), row_major(b.data(), kSide, kSide),
                    row_major(c.data(), kSide, kSide)};
};

TEST(SmallCalls, RefuseWhatTheFirstCallRefuses) {
  const auto past = [](const void* data, std::int64_t bytes) {
    return const_cast<unsigned char*>(static_cast<const unsigned char*>(data)) + bytes;
  };
  const std::vector<std::function<void(Operands&)>> mistakes = {
      [](Operands& o) { o.a.data = nullptr; },
      [](Operands& o) { o.b.data = nullptr; },
      [](Operands& o) { o.c.data = nullptr; },
      [&](Operands& o) { o.a.data = past(o.a.data, 1); },
      [&](Operands& o) { o.b.data = past(o.b.data, 2); },
      [&](Operands& o) { o.c.data = past(o.c.data, 3); },
      [](Operands& o) { o.c.data = const_cast<void*>(o.a.data); },
      [&](Operands& o) { o.c.data = past(o.b.data, 4); },
      [&](Operands& o) { o.a.data = past(o.c.data, 4); },
      [](Operands& o) { o.a.cols = 11; },
      [](Operands& o) { o.c.row_stride = 11; },
  };
  for (const auto& make : mistakes) {
    Repeated repeated;
    Operands wrong = repeated.operands;
    make(wrong);
    EXPECT_THROW(gemm(1, wrong, 0), Error);
  }
  Repeated repeated;
  EXPECT_THROW(gemm(1, repeated.operands, 0, {}, {.threads = -1}), Error);
  EXPECT_THROW(gemm(1, repeated.operands, 0, {.bias = BiasAxis::row}), Error);
}

TEST(SmallCalls, AcceptInterleavedSubmatricesOfOneBuffer) {
  constexpr std::int64_t kSide = 8;
  std::vector<float> buffer(kSide * 3 * kSide, 1);
  const float* first = buffer.data();
  const Operands operands{row_major(first, kSide, kSide, 3 * kSide),
                          row_major(first + kSide, kSide, kSide, 3 * kSide),
                          row_major(buffer.data() + 2 * kSide, kSide, kSide, 3 * kSide)};
  for (int call = 0; call < kCalls; ++call) {
    gemm(call, operands, 0);
    for (std::int64_t i = 0; i < kSide; ++i) {
      ASSERT_EQ(buffer[static_cast<std::size_t>(i * 3 * kSide + 2 * kSide)],
                8.0F * static_cast<float>(call));
    }
  }
}

TEST(SmallCalls, FollowAlphaAndBeta) {
  Repeated repeated;
  float expected = 12;
  for (int call = 1; call < 4 * kCalls; ++call) {
    const double alpha = call % 3;
    const double beta = call % 2;
    gemm(alpha, repeated.operands, beta);
    expected = static_cast<float>(alpha) * 12 + static_cast<float>(beta) * expected;
    ASSERT_EQ(repeated.c[0], expected);
    ASSERT_EQ(repeated.c[143], expected);
  }
  EXPECT_EQ(repeated.c[144], 0);
}

// Runs of several plans for the same operands, one after another.
TEST(SmallCalls, RunsFollowTheirPlans) {
  const GemmShape shape{13, 37, 29};
  Product product({}, shape, 0, Fill::normal, 7);
  const Operands operands = product.operands();
  const auto plan_for = [&](double alpha, const PlanOptions& options) {
    return make_plan(describe({&operands, 1}, alpha, 0, {}), host_machine(), options);
  };
  PlanOptions scalar;
  scalar.kernel = "cpu_scalar_f32";
  const std::vector<Plan> plans = {plan_for(1, {}), plan_for(1, scalar), plan_for(0.3, {})};
  std::vector<std::vector<std::byte>> expected;
  for (const Plan& plan : plans) {
    // A thread of its own has kept nothing.
    std::thread([&] { run(plan, {&operands, 1}); }).join();
    expected.push_back(product.c.bytes());
  }
  for (std::size_t call = 0; call < 30; ++call) {
    const std::size_t which = call % 4 == 3 ? call / 4 % 3 : call % plans.size();
    run(plans[which], {&operands, 1});
    ASSERT_EQ(product.c.bytes(), expected[which]) << "call " << call;
    gemm(1, operands, 0);
    ASSERT_EQ(product.c.bytes(), expected[0]) << "call " << call;
  }
  Plan other = plans[0];
  run(other, {&operands, 1});
  other.problem.groups[0].k = 28;
  EXPECT_THROW(run(other, {&operands, 1}), Error);
  Operands wrong = operands;
  wrong.c.data = const_cast<void*>(operands.a.data);
  EXPECT_THROW(run(plans[0], {&wrong, 1}), Error);
}

// Of several blocks of k, whose sums a plan may divide.
TEST(SmallCalls, KeepSchedulesApart) {
  const GemmTypes types = gemm_types_for(ElementType::f32);
  const GemmShape shape{30, 24, 2400};
  PlanOptions options;
  options.schedule = ScheduleKind::data_parallel;
  options.workers = 2;
  const auto bits = [&](const Plan& plan, int calls) {
    Product product(types, shape, 0, Fill::normal, 7);
    const Operands operands = product.operands();
    for (int call = 0; call < calls; ++call) run(plan, {&operands, 1}, {.threads = 1});
    EXPECT_EQ(check_product(product, 1, 0, {}, kMostContributors), "");
    return product.c.bytes();
  };
  Product product(types, shape, 0, Fill::normal, 7);
  const Operands operands = product.operands();
  const Problem problem = describe({&operands, 1}, 1, 0, {});
  const Plan whole = make_plan(problem, host_machine(), options);
  options.schedule = ScheduleKind::split_k;
  options.splits = 2;
  options.tile = whole.tile;
  const Plan split = make_plan(problem, host_machine(), options);
  ASSERT_EQ(split.tile, whole.tile);
  const std::vector<std::byte> of_split = bits(split, 1);
  const std::vector<std::byte> of_whole = bits(whole, kCalls);
  EXPECT_TRUE(bits(split, kCalls) == of_split);
  EXPECT_TRUE(bits(whole, kCalls) == of_whole);
}

// What was planned for one thread is not taken for calls that may use more, whose plan may have
// other bits, nor the other way round.
TEST(SmallCalls, KeepThreadCountsApart) {
  const GemmShape shape{40, 40, 1300};
  Product product(gemm_types_for(ElementType::f32), shape, 0, Fill::normal, 7);
  const Operands operands = product.operands();
  const auto bits = [&](int threads) {
    gemm(1, operands, 0, {}, {.threads = threads});
    return product.c.bytes();
  };
  std::vector<std::vector<std::byte>> expected;
  for (const int threads : {1, 2, 4}) {
    std::thread([&] { expected.push_back(bits(threads)); }).join();
  }
  for (int call = 0; call < kCalls; ++call) EXPECT_TRUE(bits(1) == expected[0]);
  EXPECT_TRUE(bits(2) == expected[1]);
  EXPECT_TRUE(bits(4) == expected[2]);
  for (int call = 0; call < kCalls; ++call) EXPECT_TRUE(bits(2) == expected[1]);
  EXPECT_TRUE(bits(1) == expected[0]);
}

TEST(SmallCalls, AreLogged) {
  Repeated repeated;
  const Plan plan = make_plan(describe({&repeated.operands, 1}, 1, 0, {}), host_machine());
  run(plan, {&repeated.operands, 1});
  int lines = 0;
  set_log([&](std::string_view) { ++lines; });
  for (int call = 0; call < kCalls; ++call) {
    gemm(1, repeated.operands, 0);
    run(plan, {&repeated.operands, 1});
  }
  set_log(nullptr);
  EXPECT_EQ(lines, 2 * kCalls);
}

}  // namespace
}  // namespace tessera
