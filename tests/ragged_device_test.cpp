// What the host prepares for sizes in a GPU's memory: rules from which the device makes the
// operands that the CPU would have listed, and plans that read no sizes. No GPU is needed.
#include "ragged_device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cuda/flatten.hpp"
#include "ragged.hpp"
#include "tessera/error.hpp"
#include "tessera/grouped.hpp"

namespace tessera {
namespace {

using enum ElementType;

// 3 groups over 12 rows, N = 16, K = 8.
struct Experts {
  std::vector<std::uint16_t> a = std::vector<std::uint16_t>(12 * 8);
  std::vector<std::uint16_t> b = std::vector<std::uint16_t>(3 * 8 * 16);
  std::vector<std::uint16_t> c = std::vector<std::uint16_t>(12 * 16);
  std::vector<std::uint16_t> wide_c = std::vector<std::uint16_t>(3 * 8 * 16);
  std::vector<std::uint16_t> bias = std::vector<std::uint16_t>(3 * 16);
  std::vector<std::int64_t> offsets = {1, 4, 4, 11};
  std::vector<std::int32_t> counts = {4, 0, 2};
  std::vector<std::int64_t> m = {3, 0, 12}, n = {16, 5, 1}, k = {8, 8, 0}, ld = {16, 16, 17};
  std::vector<const void*> pa = {a.data(), nullptr, a.data() + 8};
  std::vector<const void*> pb = {b.data(), b.data(), nullptr};
  std::vector<void*> pc = {c.data(), nullptr, c.data() + 5};

  template <class T>
  static auto matrix(T& values, std::int64_t rows, std::int64_t cols) {
    return MatrixView{values.data(), rows, cols, cols, 1, bf16};
  }
  template <class T>
  static BatchView stack(T& values, std::int64_t rows, std::int64_t cols) {
    return {values.data(), 3, rows, cols, rows * cols, cols, 1, bf16};
  }

  RaggedRows rows() {
    return {matrix(a, 12, 8), index_array(offsets), stack(b, 8, 16), matrix(c, 12, 16),
            matrix(bias, 3, 16)};
  }
  MaskedRows masked() {
    return {stack(a, 4, 8), index_array(counts), stack(b, 8, 16), stack(c, 4, 16),
            matrix(bias, 3, 16)};
  }
  RaggedK depth() {
    return {ConstMatrixView(matrix(a, 12, 8)).transposed(), matrix(c, 12, 16), index_array(offsets),
            stack(wide_c, 8, 16), matrix(bias, 3, 16)};
  }
  PointerArray array() {
    PointerArray array;
    array.groups = 3;
    array.types = {bf16, bf16, bf16};
    array.a = pa.data();
    array.b = pb.data();
    array.c = pc.data();
    array.m = index_array(m);
    array.n = index_array(n);
    array.k = index_array(k);
    array.lda = array.ldb = array.ldc = index_array(ld);
    array.b_major = Major::column;
    return array;
  }
};

void expect_same(const cuda::GroupOperands& found, const cuda::GroupOperands& expected) {
  EXPECT_EQ(found.m, expected.m);
  EXPECT_EQ(found.n, expected.n);
  EXPECT_EQ(found.k, expected.k);
  if (found.m > 0 && found.n > 0) {
    EXPECT_EQ(found.c, expected.c);
    EXPECT_EQ(found.bias, expected.bias);
    EXPECT_EQ(found.bias_stride, expected.bias_stride);
  }
  if (found.m > 0 && found.n > 0 && found.k > 0) {
    EXPECT_EQ(found.a, expected.a);
    EXPECT_EQ(found.b, expected.b);
  }
  EXPECT_EQ(found.a_row_stride, expected.a_row_stride);
  EXPECT_EQ(found.a_col_stride, expected.a_col_stride);
  EXPECT_EQ(found.b_row_stride, expected.b_row_stride);
  EXPECT_EQ(found.b_col_stride, expected.b_col_stride);
  EXPECT_EQ(found.c_row_stride, expected.c_row_stride);
  EXPECT_EQ(found.c_col_stride, expected.c_col_stride);
}

TEST(RaggedDevice, RulesGiveTheOperandsOfTheList) {
  Experts e;
  const Epilogue with_bias{BiasAxis::column, Activation::none};
  const std::vector<std::pair<RaggedProducts, Epilogue>> doors = {
      {e.rows(), with_bias}, {e.masked(), with_bias}, {e.depth(), with_bias}, {e.array(), {}}};
  for (const auto& [products, epilogue] : doors) {
    SCOPED_TRACE(products.index());
    const DeviceProducts device = device_products(products, 1, 0, epilogue);
    const std::vector<Operands> list = products_of(products, epilogue);
    ASSERT_EQ(device.groups.sizes.groups, static_cast<std::int32_t>(list.size()));
    for (std::size_t g = 0; g < list.size(); ++g) {
      SCOPED_TRACE(g);
      cuda::GroupOperands expected = cuda::flatten(list[g]);
      if (epilogue.bias == BiasAxis::none) {
        expected.bias = device.groups.operands(static_cast<std::int64_t>(g)).bias;
        expected.bias_stride = 1;
      }
      expect_same(device.groups.operands(static_cast<std::int64_t>(g)), expected);
    }
  }
}

TEST(RaggedDevice, PlansReadNoSizes) {
  Experts e;
  RaggedRows rows = e.rows();
  rows.offsets.data = reinterpret_cast<const void*>(std::uintptr_t{64});
  const Machine machine = machine_by_name("h200");
  const Plan plan = make_ragged_plan(rows, 1, 0, {}, machine);
  ASSERT_EQ(plan.problem.groups.size(), 3u);
  std::int64_t sum = 0;
  for (const GemmShape& shape : plan.problem.groups) sum += shape.m;
  EXPECT_EQ(sum, 12);
  EXPECT_GE(plan.problem.groups[0].m, plan.problem.groups[1].m);
  EXPECT_GT(plan.problem.groups[1].m, plan.problem.groups[2].m);
  EXPECT_NE(plan.schedule.kind, ScheduleKind::split_k);

  PlanOptions options;
  options.batch_invariant = true;
  EXPECT_NO_THROW(make_ragged_plan(e.depth(), 1, 0, {}, machine, options));
  EXPECT_NO_THROW(make_ragged_plan(e.masked(), 1, 0, {}, machine));
  EXPECT_NO_THROW(make_ragged_plan(e.array(), 1, 0, {}, machine));
}

// The tile that the rows of an average group choose, and k where it is short.
TEST(RaggedDevice, RowsChooseTheTile) {
  const Machine machine = machine_by_name("h200");
  const auto kernel_for = [&](std::int64_t mean, std::int64_t k) {
    constexpr std::int64_t kGroups = 8;
    constexpr std::int64_t kColumns = 4096;
    const std::int64_t rows = kGroups * mean;
    const auto place = [](int bit) { return reinterpret_cast<void*>(std::uintptr_t{1} << bit); };
    const RaggedRows views{{place(40), rows, k, k, 1, bf16},
                           {place(41), kGroups + 1, IndexType::i32},
                           {place(42), kGroups, k, kColumns, k * kColumns, 1, k, bf16},
                           {place(43), rows, kColumns, kColumns, 1, bf16},
                           {}};
    const Plan plan = make_ragged_plan(views, 1, 0, {}, machine);
    EXPECT_TRUE(plan.reason.starts_with("layers of experts with about ")) << plan.reason;
    return plan.kernel;
  };
  EXPECT_EQ(kernel_for(4096, 14336), "sm90_bf16_160x128x64_turns_swapped_1x2");
  EXPECT_EQ(kernel_for(1024, 14336), "sm90_bf16_256x128x64_swapped_1x2");
  EXPECT_EQ(kernel_for(4096, 7168), "sm90_bf16_256x128x64_swapped_1x2");
  EXPECT_EQ(kernel_for(1024, 7168), "sm90_bf16_256x128x64_swapped_1x2");
  EXPECT_EQ(kernel_for(1024, 4096), "sm90_bf16_160x128x64_turns_swapped_1x2");
  EXPECT_EQ(kernel_for(512, 4096), "sm90_bf16_256x128x64_swapped_1x2");
  EXPECT_EQ(kernel_for(256, 2048), "sm90_bf16_160x128x64_turns_swapped_1x2");
  EXPECT_EQ(kernel_for(128, 7168), "sm90_bf16_192x128x64_swapped_1x2");
  EXPECT_EQ(kernel_for(64, 7168), "sm90_bf16_128x128x64_swapped");
  EXPECT_EQ(kernel_for(8, 7168), "sm90_bf16_64x128x64_swapped_1x2");
  EXPECT_EQ(kernel_for(4, 7168), "sm90_bf16_64x128x64_swapped");
}

// All rows may be in one group, whose tiles have coordinates of 32 bits in the Hopper kernels.
TEST(RaggedDevice, RowsBeyondTheCoordinatesTakeAKernelThatReachesThem) {
  constexpr std::int64_t kGroups = 8;
  const auto kernel_for = [&](std::int64_t rows) {
    const auto place = [](int bit) { return reinterpret_cast<void*>(std::uintptr_t{1} << bit); };
    const RaggedRows views{{place(50), rows, 64, 64, 1, bf16},
                           {place(41), kGroups + 1, IndexType::i32},
                           {place(42), kGroups, 64, 64, 4096, 1, 64, bf16},
                           {place(51), rows, 64, 64, 1, bf16},
                           {}};
    return make_ragged_plan(views, 1, 0, {}, machine_by_name("h200")).kernel;
  };
  EXPECT_TRUE(kernel_for(std::int64_t{1} << 31).starts_with("sm80_general_"));
  EXPECT_TRUE(kernel_for(1 << 30).starts_with("sm90_"));
}

// Few tiles, but sizes may make more: all workers are planned for, and counted.
TEST(RaggedDevice, PlansHaveAllWorkers) {
  Experts e;
  PlanOptions options;
  options.schedule = ScheduleKind::stream_k;
  const Plan plan = make_ragged_plan(e.rows(), 1, 0, {}, machine_by_name("h200"), options);
  EXPECT_EQ(plan.schedule.workers * plan.tile.cluster_m * plan.tile.cluster_n, 132);
  const Decomposition& parts = plan.decomposition;
  EXPECT_EQ(parts.iterations_per_worker * plan.schedule.workers + parts.leftover_iterations,
            parts.stream_k_iterations);
}

// TMA reads from multiples of 16 bytes: a segment of a dense k begins anywhere.
TEST(RaggedDevice, AlignmentHoldsForEverySegment) {
  Experts e;
  const auto layouts = [&](const RaggedProducts& products) {
    return device_products(products, 1, 0, {}).problem;
  };
  EXPECT_EQ(layouts(e.rows()).a.alignment % 16, 0);
  EXPECT_GE(layouts(e.depth()).b.alignment, 16);
  RaggedK dense = e.depth();
  dense.a = ConstMatrixView{e.a.data(), 8, 12, 12, 1, bf16};
  EXPECT_EQ(layouts(dense).a.alignment, 2);
  RaggedRows columns = e.rows();
  columns.a = ConstMatrixView{e.a.data(), 12, 8, 1, 16, bf16};
  EXPECT_EQ(layouts(columns).a.alignment, 2);
  PointerArray array = e.array();
  EXPECT_EQ(layouts(array).a.alignment, 2);
  array.alignment = 48;
  EXPECT_EQ(layouts(array).a.alignment, 16);
}

// Where one of an array's pointers leads into the midst of an element, as describe() would say.
// What is empty may be anywhere.
TEST(RaggedDevice, PointersIntoTheMidstOfAnElementAreFaults) {
  Experts e;
  const Epilogue with_bias{BiasAxis::column, Activation::none};
  std::vector<const void*> biases = {e.bias.data(), nullptr, e.bias.data() + 16};
  PointerArray array = e.array();
  array.bias = biases.data();
  const auto faults = [&](const Epilogue& epilogue) {
    const cuda::DeviceGroups groups = device_products(array, 1, 0, epilogue).groups;
    return std::vector{groups.fault(0), groups.fault(1), groups.fault(2)};
  };
  const auto astray = [](auto pointer) {
    return reinterpret_cast<decltype(pointer)>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
  };
  using enum SizeFault;
  EXPECT_EQ(faults(with_bias), (std::vector{none, none, none}));
  const auto expect_fault_of_first = [&](auto& pointer) {
    const auto former = pointer;
    pointer = astray(pointer);
    EXPECT_EQ(faults(with_bias), (std::vector{misaligned, none, none}));
    pointer = former;
  };
  expect_fault_of_first(e.pa[0]);
  expect_fault_of_first(e.pb[0]);
  expect_fault_of_first(e.pc[0]);
  expect_fault_of_first(biases[0]);

  e.pc[1] = astray(e.c.data());  // of a group without rows
  e.pa[1] = biases[1] = e.pc[1];
  e.pa[2] = e.pb[2] = e.pa[1];  // of one without depth
  EXPECT_EQ(faults(with_bias), (std::vector{none, none, none}));
  e.pb[1] = nullptr;  // 8×5, but no product needs it
  EXPECT_EQ(faults(with_bias), (std::vector{none, none, none}));
  e.pb[1] = e.pa[1];
  biases[0] = biases[1];
  EXPECT_EQ(faults({}), (std::vector{none, misaligned, none}));
  array.bias = reinterpret_cast<const void* const*>(std::uintptr_t{64});
  EXPECT_EQ(faults({}), (std::vector{none, misaligned, none}))
      << "no bias is read unless asked for";
  e.m[0] = -1;
  EXPECT_EQ(faults({}), (std::vector{negative, misaligned, none}));
}

// A leading dimension counts where there is a second line.
TEST(RaggedDevice, NullPointersAndLinesThatRunIntoEachOtherAreFaults) {
  Experts e;
  const Epilogue with_bias{BiasAxis::column, Activation::none};
  std::vector<const void*> biases = {e.bias.data(), nullptr, e.bias.data() + 16};
  PointerArray array = e.array();
  array.bias = biases.data();
  const auto faults = [&](double alpha) {
    const cuda::DeviceGroups groups = device_products(array, alpha, 0, with_bias).groups;
    return std::vector{groups.fault(0), groups.fault(1), groups.fault(2)};
  };
  using enum SizeFault;
  const std::vector fine{none, none, none};
  const std::vector null_in_first{misaligned, none, none};
  for (const void** pointer : {&e.pa[0], &e.pb[0]}) {
    const void* const former = std::exchange(*pointer, nullptr);
    EXPECT_EQ(faults(1), null_in_first);
    EXPECT_EQ(faults(0), fine) << "A and B are not read";
    *pointer = former;
  }
  void* const former = std::exchange(e.pc[0], nullptr);
  EXPECT_EQ(faults(0), null_in_first);
  e.pc[0] = former;
  biases[0] = nullptr;
  EXPECT_EQ(faults(0), null_in_first);
  biases[0] = e.bias.data();

  // 3×16×8, nothing, 12×1 without depth; B has columns.
  std::vector<std::int64_t> narrow = {7, -9, -9};
  const auto expect_first_needs = [&](IndexArray& leading, std::int64_t least) {
    const IndexArray before = std::exchange(leading, index_array(narrow));
    narrow[0] = least - 1;
    EXPECT_EQ(faults(1)[0], too_large);
    narrow[0] = least;
    EXPECT_EQ(faults(1)[0], none);
    leading = before;
  };
  expect_first_needs(array.lda, 8);
  expect_first_needs(array.ldb, 8);
  expect_first_needs(array.ldc, 16);
  narrow = {16, -9, 0};
  array.ldc = index_array(narrow);
  EXPECT_EQ(faults(1), (std::vector{none, none, too_large})) << "twelve rows in one place";
  narrow[2] = 1;
  EXPECT_EQ(faults(1), fine);
  array.lda = index_array(narrow);
  e.m[0] = 1;
  narrow[0] = 0;
  EXPECT_EQ(faults(1), fine) << "a single row has no next one";
}

// The device's prologue finds every product's address from these; nothing later could say so.
TEST(RaggedDevice, RefusesViewsThatReachTooFar) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  Experts e;
  const auto refusal = [](const RaggedProducts& products) -> std::string {
    try {
      device_products(products, 1, 0, {BiasAxis::column, Activation::none});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto is_named = [&](const char* argument, const RaggedProducts& products) {
    return refusal(products).starts_with(std::string(argument) + ": must ");
  };
  EXPECT_EQ(refusal(e.rows()), "");
  RaggedRows rows = e.rows();
  rows.b.group_stride = kFar;
  EXPECT_TRUE(is_named("B", rows)) << refusal(rows);
  rows = e.rows();
  rows.bias.row_stride = kFar;
  EXPECT_TRUE(is_named("bias", rows)) << refusal(rows);
  rows = e.rows();
  rows.bias.data = static_cast<const std::byte*>(rows.bias.data) + 1;
  EXPECT_TRUE(is_named("bias", rows)) << refusal(rows);
  MaskedRows masked = e.masked();
  masked.c.group_stride = kFar;
  EXPECT_TRUE(is_named("C", masked)) << refusal(masked);
  RaggedK depth = e.depth();
  depth.b.row_stride = kFar;
  EXPECT_TRUE(is_named("B", depth)) << refusal(depth);
}

// The last group's memory as well as the first's.
TEST(RaggedDevice, RefusesAnOutputThatSharesMemory) {
  Experts e;
  const auto message = [](const RaggedProducts& products, const Epilogue& epilogue = {}) {
    try {
      device_products(products, 1, 0, epilogue);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(e.rows()), "");
  EXPECT_EQ(message(e.masked()), "");
  EXPECT_EQ(message(e.depth()), "");

  RaggedRows rows = e.rows();
  rows.c.data = e.b.data() + 2 * 8 * 16;
  rows.c.rows = rows.a.rows = 8;
  EXPECT_NE(message(rows).find("C of group 0: must share no memory"), std::string::npos);
  EXPECT_NE(message(rows).find("B of group 2"), std::string::npos) << message(rows);
  rows = e.rows();
  rows.c.data = e.bias.data() + 2 * 16;
  rows.c.rows = rows.a.rows = 1;
  EXPECT_NE(message(rows, {BiasAxis::column, Activation::none}).find("bias of group 2"),
            std::string::npos);

  // Rows of the groups in turn: apart, unless one group's begin where another's go on.
  std::vector<std::uint16_t> memory(1000);
  MaskedRows masked = e.masked();
  masked.c = {memory.data(), 3, 4, 16, 16, 48, 1, bf16};
  EXPECT_EQ(message(masked), "");
  masked.c = {memory.data(), 3, 4, 16, 16, 32, 1, bf16};
  EXPECT_NE(message(masked).find("C of group 2"), std::string::npos) << message(masked);
}

TEST(RaggedDevice, RefusesViewsOfAnotherPlan) {
  Experts e;
  const Plan plan = make_ragged_plan(e.rows(), 1, 0, {}, machine_by_name("h200"));
  const auto is_refused = [&](const RaggedProducts& products) {
    try {
      run_ragged(plan, products);
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  RaggedRows rows = e.rows();
  rows.b.groups = 2;
  rows.offsets.size = 3;
  EXPECT_TRUE(is_refused(rows));
  rows = e.rows();
  rows.a.cols = rows.b.rows = 4;
  EXPECT_TRUE(is_refused(rows));
  rows = e.rows();
  rows.a.row_stride = 9;
  EXPECT_TRUE(is_refused(rows));
  EXPECT_TRUE(is_refused(e.array()));
}

}  // namespace
}  // namespace tessera
