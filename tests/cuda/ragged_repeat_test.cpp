// Sizes that change from call to call: replayed graphs, the same bits again, rows that do not
// depend on the other groups, and wrong sizes, which are reported and leave C alone.
//
// TESSERA_REPLAYS sets how many times each graph is replayed (100000 for a long run).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "cuda/ragged_case.hpp"
#include "cuda/repeat.hpp"
#include "tessera/error.hpp"

namespace tessera::test {
namespace {

int replays() {
  const char* const text = std::getenv("TESSERA_REPLAYS");
  return text != nullptr ? std::atoi(text) : 2000;
}

// Sizes that share out `total`, many of them 0.
std::vector<std::int64_t> sizes_within(std::int64_t total, std::int64_t groups,
                                       std::uint64_t seed) {
  std::vector<std::int64_t> sizes = draw_sizes(groups, total / 2, seed);
  for (std::int64_t& size : sizes) {
    size = std::min(size, total);
    total -= size;
  }
  return sizes;
}

class RaggedRepeat : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  const KernelEntry& kernel() const { return GetParam(); }
  GemmTypes types() const { return {kernel().a, kernel().b, gemm_types_for(kernel().a).c}; }
  std::int64_t unit() const { return 16 / size_of(kernel().a); }

  RaggedCase experts(std::int64_t rows, std::int64_t groups) const {
    RaggedCase what{.types = types(), .capacity = rows};
    for (const std::int64_t m : sizes_within(rows, groups, 1)) {
      what.shapes.push_back({m, 40 * unit(), 24 * unit()});
    }
    return what;
  }
  std::vector<Schedule> schedules() const {
    using enum ScheduleKind;
    const int processors = device_under_test().workers / kernel().tile.cluster_m;
    return {{.kind = data_parallel, .workers = processors},
            {.kind = stream_k, .workers = processors},
            {.kind = hybrid, .workers = 9}};
  }
};

TEST_P(RaggedRepeat, GraphReplaysWithOtherSizes) {
  constexpr std::size_t kSets = 12;
  constexpr std::int64_t kRows = 700;
  constexpr std::int64_t kGroups = 30;
  for (const Schedule& schedule : schedules()) {
    DeviceRagged ragged(experts(kRows, kGroups));
    const auto plan = forced_ragged_plan(ragged, kernel(), schedule);
    if (!plan) GTEST_SKIP() << "the kernel cannot take these operands";
    const Stream stream;
    const GuardedWorkspace workspace(ragged_workspace_bytes(*plan, ragged.products()));
    const RunOptions options = workspace.options(stream);

    std::vector<std::vector<std::int64_t>> sets;
    std::vector<DeviceMatrix> expected;
    for (std::size_t i = 0; i < kSets; ++i) {
      sets.push_back(sizes_within(kRows, kGroups, i + 7));
      ragged.set_sizes(sets.back(), stream);
      ragged.reset_c(stream);
      run_ragged(*plan, ragged.products(), options);
      check(cudaStreamSynchronize(stream));
      ASSERT_EQ(ragged.verdict(64), "") << name_of(schedule.kind) << " set " << i;
      expected.emplace_back(types().c, kRows, 40 * unit(), DeviceFill::poison, 0);
      check(cudaDeviceSynchronize());
      expected.back().copy_from(ragged.c(), stream);
    }

    const Graph graph(stream, [&] { run_ragged(*plan, ragged.products(), options); });
    std::int64_t differences = 0;
    for (int i = 0; i < replays(); ++i) {
      const auto which = static_cast<std::size_t>(i) * 5 % kSets;
      ragged.set_sizes(sets[which], stream);
      const bool is_judged = i % 16 == 0;
      if (is_judged) ragged.reset_c(stream);
      graph.replay(stream);
      if (is_judged) differences += ragged.c().count_differences(expected[which], stream);
    }
    check(cudaStreamSynchronize(stream));
    EXPECT_EQ(differences, 0) << name_of(schedule.kind);
    EXPECT_NO_THROW(check_sizes(options));
    EXPECT_EQ(workspace.damage(), "") << name_of(schedule.kind);
  }
}

// Group 3's rows have the same bits whatever the others have, though its place changes.
TEST_P(RaggedRepeat, BatchInvariance) {
  constexpr std::int64_t kRows = 640;
  DeviceRagged ragged(experts(kRows, 6));
  PlanOptions options;
  options.batch_invariant = true;
  options.kernel = std::string(kernel().name);
  Plan plan;
  try {
    plan = make_ragged_plan(ragged.products(), 1, 0, {}, device_machine(), options);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  // The rows that group 3 gets are those at `begin`; the same ones have to lie there.
  const auto run_with = [&](const std::vector<std::int64_t>& sizes) {
    ragged.set_sizes(sizes);
    ragged.reset_c();
    run_ragged(plan, ragged.products());
    check(cudaDeviceSynchronize());
    EXPECT_EQ(ragged.verdict(64), "");
    const MatrixView c = ragged.c().view();
    std::vector<std::byte> rows(static_cast<std::size_t>(57 * c.row_stride * size_of(c.type)));
    check(cudaMemcpy(rows.data(),
                     static_cast<const std::byte*>(c.data) + 200 * c.row_stride * size_of(c.type),
                     rows.size(), cudaMemcpyDeviceToHost));
    return rows;
  };
  const std::vector<std::byte> first = run_with({200, 0, 0, 57, 100, 200});
  EXPECT_TRUE(first == run_with({1, 98, 101, 57, 0, 0}));
  EXPECT_TRUE(first == run_with({0, 129, 71, 57, 383, 0}));
}

TEST_P(RaggedRepeat, WrongSizesAreReportedAndWriteNothing) {
  DeviceRagged ragged(experts(100, 4));
  const auto plan =
      forced_ragged_plan(ragged, kernel(), {.kind = ScheduleKind::stream_k, .workers = 20});
  if (!plan) GTEST_SKIP() << "the kernel cannot take these operands";
  const Stream stream;
  const RunOptions options{.stream = stream};
  struct Wrong {
    std::vector<std::int64_t> offsets;
    std::string group;
  };
  const std::vector<Wrong> wrongs = {{{0, 50, 40, 60, 100}, "group 1"},
                                     {{0, 50, 60, 101, 101}, "group 2"},
                                     {{-1, 50, 60, 70, 100}, "group 0"},
                                     {{0, 1 << 30, 60, 70, 100}, "group 0"}};
  for (const Wrong& wrong : wrongs) {
    ragged.set_numbers(wrong.offsets, stream);
    ragged.reset_c(stream);
    run_ragged(*plan, ragged.products(), options);
    std::string message;
    try {
      check_sizes(options);
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find(wrong.group), std::string::npos) << message;
    EXPECT_EQ(ragged.c().count_differences(ragged.c_before()), 0);
    EXPECT_EQ(ragged.c().damage(), "");
    // Asked and answered.
    EXPECT_NO_THROW(check_sizes(options));
  }
  ragged.set_numbers({0, 50, 60, 70, 100}, stream);
  run_ragged(*plan, ragged.products(), options);
  check(cudaStreamSynchronize(stream));
  EXPECT_EQ(ragged.verdict(64), "");
  EXPECT_NO_THROW(check_sizes(options));
}

TEST_P(RaggedRepeat, BrokenPromiseOfAlignment) {
  RaggedCase what{.door = DoorKind::array, .types = types(), .alignment = 16};
  what.shapes.assign(5, {40, 5 * unit(), 3 * unit()});
  DeviceRagged ragged(what);
  auto products = std::get<PointerArray>(ragged.products());
  const auto plan =
      forced_ragged_plan(ragged, kernel(), {.kind = ScheduleKind::data_parallel, .workers = 20});
  if (!plan) GTEST_SKIP() << "the kernel cannot take these operands";
  if (!kernel().needs_tma) GTEST_SKIP() << "needs no promise";
  std::vector<const void*> pointers(5);
  check(cudaMemcpy(pointers.data(), products.a, 40, cudaMemcpyDeviceToHost));
  pointers[3] = static_cast<const std::byte*>(pointers[3]) + 2;
  check(cudaMemcpy(const_cast<const void**>(products.a), pointers.data(), 40,
                   cudaMemcpyHostToDevice));
  run_ragged(*plan, products);
  EXPECT_THROW(check_sizes({}), Error);
  EXPECT_EQ(ragged.c().count_differences(ragged.c_before()), 0);
}

// Puts a value into device memory; returns what was there.
template <class T>
T exchange(const void* where, T value) {
  void* const at = const_cast<void*>(where);
  T former;
  check(cudaMemcpy(&former, at, sizeof former, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(at, &value, sizeof value, cudaMemcpyHostToDevice));
  return former;
}

// What a kernel would trap on, or write over another product's rows: each of the four pointers
// within an element, and null; lines that run into each other. Where nothing is there all is well.
TEST_P(RaggedRepeat, WrongPointersAndLinesAreReportedAndWriteNothing) {
  RaggedCase what{.door = DoorKind::array,
                  .types = types(),
                  .alignment = 16,
                  .epilogue = {.bias = BiasAxis::column, .activation = Activation::none}};
  what.shapes.assign(5, {40, 5 * unit(), 3 * unit()});
  what.shapes[4] = {0, 5 * unit(), 3 * unit()};
  const DeviceRagged ragged(what);
  const auto products = std::get<PointerArray>(ragged.products());
  const auto plan =
      forced_ragged_plan(ragged, kernel(), {.kind = ScheduleKind::data_parallel, .workers = 20});
  if (!plan) GTEST_SKIP() << "the kernel cannot take these operands";
  const auto expect_fault = [&](const std::string& words) {
    run_ragged(*plan, products);
    std::string message = "no error";
    try {
      check_sizes({});
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("group 3: must " + words), std::string::npos) << message;
    EXPECT_EQ(ragged.c().count_differences(ragged.c_before()), 0);
    EXPECT_EQ(ragged.c().damage(), "");
  };
  using Address = std::uintptr_t;
  const auto address_of = [](const auto* pointers, int group) {
    return static_cast<const void*>(pointers + group);
  };
  struct Array {
    const char* name;
    const void* third;
    ElementType type;
  };
  for (const Array& array : {Array{"A", address_of(products.a, 3), types().a},
                             Array{"B", address_of(products.b, 3), types().b},
                             Array{"C", address_of(products.c, 3), types().c},
                             Array{"bias", address_of(products.bias, 3), types().c}}) {
    SCOPED_TRACE(array.name);
    const auto former = exchange<Address>(array.third, 0);
    expect_fault("have pointers to its elements");
    exchange(array.third, former + 1);
    if (size_of(array.type) > 1) expect_fault("have pointers to its elements");
    exchange(array.third, former);
  }
  for (const IndexArray& leading : {products.lda, products.ldb, products.ldc}) {
    const void* const third = static_cast<const std::int32_t*>(leading.data) + 3;
    const auto former = exchange<std::int32_t>(third, 1);
    expect_fault("lie within the matrices' bounds, and in lines");
    exchange(third, former);
  }
  exchange(address_of(products.a, 4), Address{1});
  exchange(address_of(products.c, 4), Address{1});
  exchange<std::int32_t>(static_cast<const std::int32_t*>(products.ldc.data) + 4, -1);
  run_ragged(*plan, products);
  EXPECT_NO_THROW(check_sizes({}));
  EXPECT_EQ(ragged.verdict(64), "");
}

INSTANTIATE_TEST_SUITE_P(Catalogue, RaggedRepeat, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
