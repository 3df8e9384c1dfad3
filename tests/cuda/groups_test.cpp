// Several products in one launch: ragged, empty, more than fit into a kernel's parameters, and
// strided batches.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "cuda/product.hpp"

namespace tessera::test {
namespace {

class Groups : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  const KernelEntry& kernel() const { return GetParam(); }

  static std::int64_t round_up(std::int64_t x, std::int64_t unit) {
    return (x + unit - 1) / unit * unit;
  }

  void expect_right(const std::vector<GemmShape>& shapes, double beta, const Schedule& schedule) {
    const GemmTypes types{kernel().a, kernel().b, gemm_types_for(kernel().a).c};
    const std::int64_t unit = 16 / size_of(types.a);
    std::deque<DeviceProduct> products;
    std::vector<Operands> groups;
    for (const GemmShape& shape : shapes) {
      ProductCase what{.types = types, .shape = shape, .beta = beta};
      what.a.padding = round_up(shape.k, unit) - shape.k;
      what.b.padding = round_up(shape.n, unit) - shape.n;
      what.seed = products.size() + 1;
      groups.push_back(products.emplace_back(what).operands());
    }
    const Plan plan = forced_plan(tessera::describe(groups, 1, beta, {}), kernel(), schedule);
    run(plan, groups);
    check(cudaDeviceSynchronize());
    for (std::size_t g = 0; g < products.size(); ++g) {
      EXPECT_EQ(products[g].verdict(64), "")
          << "group " << g << ": " << describe_case(products[g].what(), schedule);
    }
  }

  std::vector<Schedule> schedules() const {
    using enum ScheduleKind;
    const int processors = device_under_test().workers;
    return {{.kind = data_parallel, .workers = processors},
            {.kind = split_k, .workers = processors, .splits = 3},
            {.kind = stream_k, .workers = processors},
            {.kind = hybrid, .workers = 5}};
  }
};

TEST_P(Groups, RaggedAndEmpty) {
  const TileConfig& t = kernel().tile;
  const std::vector<GemmShape> shapes = {{0, 64, 32},
                                         {t.block_m + 3, 2 * t.block_n + 8, 5 * t.block_k},
                                         {1, 1, 1},
                                         {17, 0, 64},
                                         {t.block_m, t.block_n, 0},
                                         {3 * t.block_m, 40, 9 * t.block_k + 8},
                                         {5, 7, 11},
                                         {64, 64, 0}};
  for (const Schedule& schedule : schedules()) {
    for (const double beta : {0.0, 1.0}) expect_right(shapes, beta, schedule);
  }
}

TEST_P(Groups, AllEmpty) {
  expect_right({{0, 8, 8}, {8, 0, 8}, {0, 0, 0}}, 0, schedules()[2]);
}

TEST_P(Groups, MoreThanKernelParametersHold) {
  std::mt19937_64 random(3);
  std::vector<GemmShape> shapes;
  for (int g = 0; g < 70; ++g) {
    shapes.push_back(
        {static_cast<std::int64_t>(random() % 200), 96, static_cast<std::int64_t>(random() % 256)});
  }
  for (const Schedule& schedule : schedules()) expect_right(shapes, 0, schedule);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Groups, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
