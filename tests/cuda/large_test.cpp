// Matrices of more than 2^31 elements, judged at random places.
#include <gtest/gtest.h>

#include "cuda/product.hpp"

namespace tessera::test {
namespace {

class Large : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  void expect_right(const GemmShape& shape) {
    const KernelEntry& kernel = GetParam();
    if (kernel.a != ElementType::bf16 && kernel.a != ElementType::i8) {
      GTEST_SKIP() << "one 16-bit type and one 8-bit type stand for all";
    }
    const GemmTypes types{kernel.a, kernel.b, gemm_types_for(kernel.a).c};
    const double bytes =
        static_cast<double>(size_of(types.a)) * static_cast<double>(shape.m) *
            static_cast<double>(shape.k) +
        static_cast<double>(size_of(types.b)) * static_cast<double>(shape.k) *
            static_cast<double>(shape.n) +
        2.0 * size_of(types.c) * static_cast<double>(shape.m) * static_cast<double>(shape.n);
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &all_bytes));
    if (static_cast<double>(free_bytes) < 1.1 * bytes) GTEST_SKIP() << "too little device memory";

    const DeviceProduct product({.types = types, .shape = shape});
    const Operands group = product.operands();
    const Plan plan =
        forced_plan(product.problem(), kernel,
                    {.kind = ScheduleKind::hybrid, .workers = device_under_test().workers});
    run(plan, {&group, 1});
    check(cudaDeviceSynchronize());
    // Long sums are judged at fewer places: still several in every tile.
    EXPECT_EQ(product.verdict(shape.k, shape.k > 1000 ? 20'000 : 200'000), "");
  }
};

TEST_P(Large, Output) {
  expect_right({49152, 45056, 64});
}
TEST_P(Large, FirstOperand) {
  expect_right({36864, 64, 65536});
}
TEST_P(Large, SecondOperand) {
  expect_right({64, 36864, 65536});
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Large, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
