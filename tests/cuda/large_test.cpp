// Matrices of more than 2^31 elements, judged at random places.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

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

// Sides that no coordinate of 32 bits reaches the end of, planned and run as any other. Operands
// are bytes of 0x3f, which is 0.75 in bf16, or zeros.
class LargeSide : public CudaTest {
 protected:
  static constexpr std::int64_t kSide = (std::int64_t{1} << 31) + 8192;
  static constexpr float kValue = std::bit_cast<float>(0x3f3f0000);

  // With room to spare, or nothing.
  static bool has_room(std::int64_t bytes) {
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &all_bytes));
    return static_cast<std::int64_t>(free_bytes) > bytes + (std::int64_t{4} << 30);
  }
  static float value_of(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

TEST_F(LargeSide, K) {
  constexpr std::int64_t kTail = 4096;
  constexpr std::size_t kBytes = kSide * 2;
  if (!has_room(2 * kBytes)) GTEST_SKIP() << "too little device memory";
  const DeviceBuffer a(kBytes);
  const DeviceBuffer b(kBytes);
  const DeviceBuffer c(16);
  for (const DeviceBuffer* const operand : {&a, &b}) {
    auto* const bytes = static_cast<std::byte*>(operand->data());
    check(cudaMemset(bytes, 0, kBytes));
    check(cudaMemset(bytes + kBytes - 2 * kTail, 0x3f, 2 * kTail));
  }
  check(cudaMemset(c.data(), 0xff, c.size()));
  RunOptions options;
  options.device = 0;
  using enum ElementType;
  gemm(1, {a.data(), 1, kSide, kSide, 1, bf16}, {b.data(), kSide, 1, 1, kSide, bf16}, 0,
       {c.data(), 1, 1, 1, 1, f32}, {}, {}, options);
  float found = 0;
  check(cudaMemcpy(&found, c.data(), sizeof found, cudaMemcpyDeviceToHost));
  EXPECT_NEAR(found, kTail * kValue * kValue, 1);
}

TEST_F(LargeSide, M) {
  constexpr std::int64_t kDepth = 8;
  constexpr std::size_t kBytes = kSide * kDepth * 2;
  if (!has_room(kBytes + kSide * 2)) GTEST_SKIP() << "too little device memory";
  const DeviceBuffer a(kBytes);
  const DeviceBuffer b(kDepth * 2);
  const DeviceBuffer c(kSide * 2);
  check(cudaMemset(a.data(), 0x3f, a.size()));
  check(cudaMemset(b.data(), 0x3f, b.size()));
  check(cudaMemset(c.data(), 0xff, c.size()));
  RunOptions options;
  options.device = 0;
  using enum ElementType;
  gemm(1, {a.data(), kSide, kDepth, kDepth, 1, bf16}, {b.data(), kDepth, 1, 1, kDepth, bf16}, 0,
       {c.data(), kSide, 1, 1, 1, bf16}, {}, {}, options);
  constexpr std::int64_t kLooked = 1 << 16;
  for (const std::int64_t first : {std::int64_t{0}, kSide - kLooked}) {
    std::vector<std::uint16_t> found(kLooked);
    check(cudaMemcpy(found.data(), static_cast<const std::uint16_t*>(c.data()) + first,
                     found.size() * 2, cudaMemcpyDeviceToHost));
    const auto is_wrong = [](std::uint16_t bits) {
      return !(std::abs(value_of(bits) - kDepth * kValue * kValue) < 0.02F);
    };
    EXPECT_EQ(std::ranges::count_if(found, is_wrong), 0) << "from row " << first << " on";
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Large, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
