// What goes wrong is said clearly, and the device works on afterwards. The first test runs where
// there is no device at all.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cuda/device_memory.hpp"
#include "cuda/product.hpp"
#include "cuda/ragged_case.hpp"

namespace tessera::test {
namespace {

const KernelEntry& general_kernel() {
  return *find_kernel("sm80_general_f32_128x128x16");
}

TEST(WithoutDevice, RunSaysSo) {
  if (why_no_device().empty()) GTEST_SKIP() << "a CUDA device is present";
  Plan plan;
  plan.problem = dense_problem({64, 64, 64});
  plan.machine.kind = MachineKind::gpu;
  plan.machine.architecture = "sm_90";
  plan.kernel = general_kernel().name;
  plan.tile = general_kernel().tile;
  std::vector<float> memory(64 * 64 * 3);
  const Operands group{row_major(static_cast<const float*>(memory.data()), 64, 64),
                       row_major(static_cast<const float*>(memory.data()) + 4096, 64, 64),
                       row_major(memory.data() + 8192, 64, 64),
                       {}};
  try {
    run(plan, {&group, 1});
    FAIL() << "no error without a device";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
  }
}

// Their number, if each is as large as it may be, has no place in 64 bits.
TEST(WithoutDevice, TooManyTilesToCutAreRefused) {
  const std::vector<std::int64_t> sizes(std::size_t{1} << 18, 8);
  const std::vector<void*> matrices(sizes.size());
  const std::vector<const void*> operands(sizes.size());
  PointerArray array;
  array.groups = static_cast<std::int64_t>(sizes.size());
  array.m = array.n = array.k = array.lda = array.ldb = array.ldc = index_array(sizes);
  array.a = array.b = operands.data();
  array.c = matrices.data();
  array.bound = {std::int64_t{1} << 30, std::int64_t{1} << 30, 8};
  Plan plan;
  plan.problem = dense_problem({8, 8, 8});
  plan.problem.groups.assign(sizes.size(), {8, 8, 8});
  plan.machine.kind = MachineKind::gpu;
  plan.machine.architecture = "sm_90";
  plan.kernel = general_kernel().name;
  plan.tile = general_kernel().tile;
  plan.schedule = {.kind = ScheduleKind::split_k, .workers = 132, .splits = 2};
  try {
    ragged_workspace_bytes(plan, array);
    ADD_FAILURE() << "a workspace was said to suffice";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
  }
}

class Failure : public CudaTest {
 protected:
  // That a plain product still works.
  static void expect_usable() {
    const ProductCase what{.types = {}, .shape = {200, 130, 90}};
    const auto verdict =
        run_case(what, general_kernel(), {.kind = ScheduleKind::stream_k, .workers = 9});
    ASSERT_TRUE(verdict.has_value());
    EXPECT_EQ(*verdict, "");
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
};

TEST_F(Failure, WorkspaceTooSmall) {
  DeviceProduct product({.types = {}, .shape = {300, 300, 5000}});
  const Operands group = product.operands();
  const Plan plan = forced_plan(product.problem(), general_kernel(),
                                {.kind = ScheduleKind::stream_k, .workers = 40});
  const std::size_t needed = workspace_bytes(plan);
  ASSERT_GT(needed, 0U);
  const DeviceBuffer memory(needed);
  const RunOptions options{.workspace = memory.data(), .workspace_size = needed - 1};
  try {
    run(plan, {&group, 1}, options);
    FAIL() << "a workspace of one byte too few was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    const std::string text = error.what();
    EXPECT_NE(text.find(std::to_string(needed)), std::string::npos) << text;
  }
  check(cudaDeviceSynchronize());
  EXPECT_EQ(product.c().count_differences(product.c_before()), 0) << "C was written";
  expect_usable();
}

TEST_F(Failure, DeviceMemoryExhausted) {
  // Needs gigabytes of partial tiles on a device where next to nothing is left.
  DeviceProduct product({.types = {}, .shape = {8192, 8192, 2048}});
  const Operands group = product.operands();
  const Plan plan = forced_plan(product.problem(), general_kernel(),
                                {.kind = ScheduleKind::split_k, .workers = 132, .splits = 4});
  check(cudaDeviceSynchronize());
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &all_bytes));
  const std::size_t left = std::size_t{512} << 20;
  ASSERT_GT(workspace_bytes(plan), left);
  {
    const DeviceBuffer ballast(free_bytes > left ? free_bytes - left : 0);
    const Stream stream;
    try {
      run(plan, {&group, 1}, {.stream = stream});
      check(cudaStreamSynchronize(stream));
      FAIL() << "no error with the device's memory exhausted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the failure lingers in the runtime";
  }
  expect_usable();
}

// A program that asks for too much and goes on has an error pending, which is nobody's but its own.
class PendingError : public Failure {
 protected:
  static void leave_an_error() {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, std::size_t{1} << 60), cudaErrorMemoryAllocation);
  }
};

TEST_F(PendingError, IsNotTakenForALaunchs) {
  if (device_under_test().architecture != "sm_90") GTEST_SKIP() << "groups take the general kernel";
  const GemmTypes types{ElementType::bf16, ElementType::bf16, ElementType::bf16};
  const DeviceRagged ragged(
      {.types = types, .shapes = {{200, 256, 128}, {70, 256, 128}, {9, 256, 128}}});
  const std::vector<Operands> groups = ragged.list();
  const Plan plan = make_plan(describe(groups, 1, 0, {}), device_machine());
  ASSERT_TRUE(plan.kernel.starts_with("sm90_"));
  leave_an_error();
  EXPECT_NO_THROW(run(plan, groups));
  static_cast<void>(cudaGetLastError());  // a launch that goes well may have taken it
  EXPECT_EQ(ragged.verdict(64), "");
}

// Destructors have nobody to tell.
TEST_F(PendingError, IsNotLeftByWhatCannotBeFreed) {
  int on_the_host = 0;
  cuda::release(&on_the_host, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cuda::restore_current_device(1 << 20);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  expect_usable();
}

TEST_F(PendingError, IsToldBeforeTheGeneralKernelStarts) {
  DeviceProduct product({.types = {}, .shape = {100, 100, 100}});
  const Operands group = product.operands();
  const Plan plan = forced_plan(product.problem(), general_kernel(), {.workers = 4});
  check(cudaDeviceSynchronize());
  leave_an_error();
  try {
    run(plan, {&group, 1});
    ADD_FAILURE() << "the error that was pending did not matter";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device);
    EXPECT_NE(std::string(error.what()).find("an earlier CUDA call"), std::string::npos);
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation) << "the program's own error is gone";
  EXPECT_EQ(product.c().count_differences(product.c_before()), 0) << "C was written";
  expect_usable();
}

TEST_F(Failure, ADeviceThatIsNotCurrent) {
  int count = 0;
  check(cudaGetDeviceCount(&count));
  if (count < 2) GTEST_SKIP() << "there is one device";
  DeviceProduct product({.types = {}, .shape = {100, 100, 100}});
  check(cudaDeviceSynchronize());
  RunOptions options;
  options.device = 1;
  try {
    gemm(1, product.operands(), 0, {}, options);
    ADD_FAILURE() << "ran on a device that was not asked for";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
  EXPECT_EQ(product.c().count_differences(product.c_before()), 0) << "C was written";
  expect_usable();
}

TEST_F(Failure, OperandsThatDoNotFitThePlan) {
  DeviceProduct planned({.types = {}, .shape = {64, 64, 64}});
  DeviceProduct given({.types = {}, .shape = {64, 65, 64}});
  const Plan plan = forced_plan(planned.problem(), general_kernel(), {.workers = 4});
  const Operands group = given.operands();
  EXPECT_THROW(run(plan, {&group, 1}), Error);
  expect_usable();
}

// As a text that was changed, or made by another version, may say.
TEST_F(Failure, APlanThatDoesNotFitItsKernel) {
  DeviceProduct product({.types = {}, .shape = {300, 300, 100}});
  const Operands group = product.operands();
  Plan plan = forced_plan(product.problem(), general_kernel(), {.workers = 4});
  plan.tile.block_m = 256;
  EXPECT_THROW(run(plan, {&group, 1}), Error);
  plan = forced_plan(product.problem(), *find_kernel("sm80_general_f64_64x64x16"), {.workers = 4});
  EXPECT_THROW(run(plan, {&group, 1}), Error);
  check(cudaDeviceSynchronize());
  EXPECT_EQ(product.c().count_differences(product.c_before()), 0) << "C was written";
  expect_usable();
}

// A product without columns has no bias and so no say in what type biases have.
TEST_F(Failure, BiasesOfAnotherTypeThanTheFirst) {
  using enum ElementType;
  const Epilogue with_bias{BiasAxis::column, Activation::none};
  DeviceProduct product(
      {.types = {bf16, bf16, bf16}, .shape = {200, 256, 128}, .epilogue = with_bias});
  DeviceProduct other(
      {.types = {bf16, bf16, bf16}, .shape = {100, 256, 128}, .epilogue = with_bias, .seed = 2});
  const Operands empty{{nullptr, 5, 128, 128, 1, bf16},
                       {nullptr, 128, 0, 1, 1, bf16},
                       {nullptr, 5, 0, 1, 1, bf16},
                       {}};
  RunOptions options;
  options.device = 0;
  std::vector<Operands> groups{empty, product.operands(), other.operands()};
  check(cudaDeviceSynchronize());
  grouped_gemm(1, groups, 0, with_bias, options);
  check(cudaDeviceSynchronize());
  EXPECT_EQ(product.verdict(64), "");
  EXPECT_EQ(other.verdict(64), "");

  const DeviceBuffer wide(256 * sizeof(float));
  check(cudaMemset(wide.data(), 0, wide.size()));
  groups.back().bias = {wide.data(), 256, 1, f32};
  product.reset_c();
  try {
    grouped_gemm(1, groups, 0, with_bias, options);
    ADD_FAILURE() << "biases of two types were taken for one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("bias of group 2"), std::string::npos) << error.what();
  }
  check(cudaDeviceSynchronize());
  EXPECT_EQ(product.c().count_differences(product.c_before()), 0) << "C was written";
}

TEST_F(Failure, LayoutThatTheKernelCannotRead) {
  const KernelEntry* const tma = [] {
    for (const KernelEntry& kernel : catalogue()) {
      if (kernel.needs_tma) return &kernel;
    }
    return static_cast<const KernelEntry*>(nullptr);
  }();
  if (tma == nullptr || device_under_test().architecture != "sm_90") {
    GTEST_SKIP() << "no kernel here asks anything of its operands";
  }
  const GemmTypes types{tma->a, tma->b, tma->a};
  const DeviceProduct aligned({.types = types, .shape = {256, 256, 256}});
  const DeviceProduct odd({.types = types, .shape = {256, 256, 256}, .a = {.padding = 1}});
  const Plan plan = forced_plan(aligned.problem(), *tma, {.workers = 4});
  const Operands group = odd.operands();
  EXPECT_THROW(run(plan, {&group, 1}), Error);
  expect_usable();
}

}  // namespace
}  // namespace tessera::test
