// The catalogue and the compiled Hopper kernels agree: they are listed in two places, because one
// of them is there without a CUDA compiler. Runs without a device.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/catalogue.hpp"
#include "core/sm90_tiles.hpp"
#include "cuda/run.hpp"
#include "cuda/sm90_kernels.hpp"

namespace tessera::test {
namespace {

std::vector<KernelEntry> hopper_rows(const Sm90Block& block, ElementType input) {
  std::vector<KernelEntry> rows;
  std::ranges::copy_if(cuda_kernels(), std::back_inserter(rows), [&](const KernelEntry& row) {
    return row.needs_tma && row.a == input && sm90_block(row.tile) == block;
  });
  return rows;
}

TEST(WithoutDeviceCatalogue, EveryRowHasItsKernel) {
  int rows = 0;
  for (const KernelEntry& row : cuda_kernels()) {
    if (!row.needs_tma) continue;
    SCOPED_TRACE(row.name);
    const cuda::Sm90Kernel* const kernel = cuda::find_sm90_kernel(row.a, sm90_block(row.tile));
    ASSERT_NE(kernel, nullptr);
    EXPECT_TRUE(kernel->has(cuda::Sm90Purpose::any));
    EXPECT_EQ(kernel->has(cuda::Sm90Purpose::plain), !row.is_for_layers);
    EXPECT_EQ(kernel->has(cuda::Sm90Purpose::finishing), !row.is_for_layers);
    if (row.has_group_code) {
      EXPECT_TRUE(kernel->has(cuda::Sm90Purpose::groups));
    }
    ++rows;
  }
  EXPECT_GT(rows, 100);
}

TEST(WithoutDeviceCatalogue, EveryKernelHasItsRow) {
  int kernels = 0;
  int for_groups = 0;
  const auto expect_rows = [&](const Sm90Block& block, ElementType input) {
    const cuda::Sm90Kernel* const kernel = cuda::find_sm90_kernel(input, block);
    if (kernel == nullptr) return;
    ++kernels;
    const std::vector<KernelEntry> rows = hopper_rows(block, input);
    EXPECT_FALSE(rows.empty());
    if (kernel->has(cuda::Sm90Purpose::groups)) {
      ++for_groups;
      EXPECT_TRUE(std::ranges::any_of(rows, &KernelEntry::has_group_code));
    }
    if (kernel->has(cuda::Sm90Purpose::gated_pairs)) {
      EXPECT_TRUE(find_kernel(cuda::gated_kernel_name(input)) != nullptr);
    }
  };
  // Whatever block could be compiled.
  constexpr int kMostStages = 16;
  for (const ElementType input : {ElementType::bf16, ElementType::f16}) {
    for (const int rows : {64, 128, 192, 256}) {
      for (int cols = 8; cols <= 256; cols += 8) {
        for (int stages = 1; stages <= kMostStages; ++stages) {
          for (const bool in_turns : {false, true}) {
            SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(cols));
            expect_rows({rows, cols, stages, in_turns}, input);
          }
        }
      }
    }
  }
  EXPECT_GE(kernels, 20);
  EXPECT_GE(for_groups, 10);
}

}  // namespace
}  // namespace tessera::test
