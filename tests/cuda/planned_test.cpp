// What the planner chooses for the device at hand: random products of every type and layout, and
// the promise of `batch_invariant`.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "cuda/product.hpp"

namespace tessera::test {
namespace {

class Planned : public CudaTest {};

TEST_F(Planned, RandomProducts) {
  const Machine machine = device_machine();
  std::mt19937_64 random(29);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  // Small and large alike: uniform in the number of binary digits.
  const auto size = [&] { return below(std::int64_t{2} << below(10)) + 1; };
  using enum ElementType;
  const std::array<GemmTypes, 8> all_types = {{{bf16, bf16, bf16},
                                               {bf16, bf16, f32},
                                               {f16, f16, f16},
                                               {f16, f16, f32},
                                               {f32, f32, f32},
                                               {f64, f64, f64},
                                               {i8, i8, i32},
                                               {u8, i8, i32}}};
  for (int i = 0; i < 300; ++i) {
    const GemmTypes types = all_types[static_cast<std::size_t>(below(8))];
    const std::int64_t unit = below(2) == 0 ? 16 / size_of(types.a) : 1;
    const auto rounded = [&] { return (size() + unit - 1) / unit * unit; };
    ProductCase what{.types = types,
                     .shape = {rounded(), rounded(), rounded()},
                     .a = {.column_major = below(2) == 1},
                     .b = {.column_major = below(2) == 1},
                     .c = {.column_major = below(3) == 0},
                     .beta = static_cast<double>(below(2)),
                     .seed = static_cast<std::uint64_t>(i + 1)};
    DeviceProduct product(what);
    const Operands group = product.operands();
    const Plan plan = make_plan(product.problem(), machine);
    SCOPED_TRACE(plan.kernel + ": " + describe_case(what, plan.schedule));
    run(plan, {&group, 1});
    check(cudaDeviceSynchronize());
    EXPECT_EQ(product.verdict(what.shape.k / plan.tile.block_k + 1), "");
  }
}

// Rows 0 to m − 1 have the same bits whether m is 1 or 300.
TEST_F(Planned, BatchInvariance) {
  const Machine machine = device_machine();
  for (const GemmShape& weights : {GemmShape{300, 1024, 4096}, GemmShape{300, 264, 1000}}) {
    const DeviceProduct whole(
        {.types = gemm_types_for(ElementType::bf16), .shape = weights, .seed = 4});
    const Operands all = whole.operands();
    const auto rows_of = [&](std::int64_t m, MatrixView c) {
      Operands operands = all;
      operands.a.rows = m;
      operands.c = c;
      operands.c.rows = m;
      return operands;
    };
    const auto multiply = [&](const Operands& group) {
      const Problem problem = tessera::describe({&group, 1}, 1, 0, {});
      PlanOptions options;
      options.batch_invariant = true;
      run(make_plan(problem, machine, options), {&group, 1});
    };
    multiply(all);
    for (std::int64_t m = 1; m <= weights.m; ++m) {
      const DeviceMatrix c(ElementType::bf16, m, weights.n, DeviceFill::poison, 0);
      const DeviceMatrix expected(ElementType::bf16, m, weights.n, DeviceFill::poison, 0);
      multiply(rows_of(m, c.view()));
      check(cudaMemcpyAsync(expected.view().data, all.c.data,
                            static_cast<std::size_t>(m * weights.n * size_of(ElementType::bf16)),
                            cudaMemcpyDeviceToDevice, nullptr));
      ASSERT_EQ(c.count_differences(expected), 0) << m << " rows of " << weights.n;
    }
  }
}

}  // namespace
}  // namespace tessera::test
