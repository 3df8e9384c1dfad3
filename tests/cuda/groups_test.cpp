// Several products in one launch, whose sizes the host knows: ragged, empty, more than fit into a
// kernel's parameters, and with every epilogue.
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

  GemmTypes types() const { return {kernel().a, kernel().b, gemm_types_for(kernel().a).c}; }

  // Products that are alike but for their shapes and contents.
  void expect_right(const std::vector<GemmShape>& shapes, ProductCase what,
                    const Schedule& schedule) const {
    const std::int64_t unit = 16 / size_of(what.types.a);
    std::deque<DeviceProduct> products;
    std::vector<Operands> groups;
    for (const GemmShape& shape : shapes) {
      what.shape = shape;
      what.a.padding = round_up(shape.k, unit) - shape.k;
      what.b.padding = round_up(shape.n, unit) - shape.n;
      what.seed = products.size() + 1;
      groups.push_back(products.emplace_back(what).operands());
    }
    const Problem problem = tessera::describe(groups, what.alpha, what.beta, what.epilogue);
    run(forced_plan(problem, kernel(), schedule), groups);
    check(cudaDeviceSynchronize());
    for (std::size_t g = 0; g < products.size(); ++g) {
      EXPECT_EQ(products[g].verdict(64), "")
          << "group " << g << ": " << describe_case(products[g].what(), schedule);
    }
  }

  // Several tiles and less than one, nothing at all, and k without iterations.
  std::vector<GemmShape> ragged_and_empty() const {
    const TileConfig& t = kernel().tile;
    return {{0, 64, 32},
            {t.block_m + 3, 2 * t.block_n + 8, 5 * t.block_k},
            {1, 1, 1},
            {17, 0, 64},
            {t.block_m, t.block_n, 0},
            {3 * t.block_m, 40, 9 * t.block_k + 8},
            {5, 7, 11},
            {64, 64, 0}};
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
  for (const Schedule& schedule : schedules()) {
    for (const double beta : {0.0, 1.0}) {
      expect_right(ragged_and_empty(), {.types = types(), .beta = beta}, schedule);
    }
  }
}

TEST_P(Groups, AllEmpty) {
  expect_right({{0, 8, 8}, {8, 0, 8}, {0, 0, 0}}, {.types = types()}, schedules()[2]);
}

TEST_P(Groups, MoreThanKernelParametersHold) {
  std::mt19937_64 random(3);
  std::vector<GemmShape> shapes;
  for (int g = 0; g < 70; ++g) {
    shapes.push_back(
        {static_cast<std::int64_t>(random() % 200), 96, static_cast<std::int64_t>(random() % 256)});
  }
  for (const Schedule& schedule : schedules()) {
    expect_right(shapes, {.types = types()}, schedule);
  }
}

// Without a product to add, tiles are written all the same: beta·C, a bias, or zeros.
TEST_P(Groups, WithoutAlpha) {
  for (const Schedule& schedule : schedules()) {
    for (const double beta : {0.0, -1.0}) {
      for (const BiasAxis bias : {BiasAxis::none, BiasAxis::column}) {
        expect_right(
            ragged_and_empty(),
            {.types = types(), .alpha = 0, .beta = beta, .epilogue = {bias, Activation::none}},
            schedule);
      }
    }
  }
}

TEST_P(Groups, WithEpilogue) {
  const Activation activation =
      types().c == ElementType::i32 ? Activation::relu : Activation::gelu_tanh;
  for (const Schedule& schedule : schedules()) {
    for (const BiasAxis bias : {BiasAxis::row, BiasAxis::column}) {
      expect_right(ragged_and_empty(),
                   {.types = types(), .alpha = 2, .beta = 1, .epilogue = {bias, activation}},
                   schedule);
    }
  }
}

// A C that is wider than its inputs is not for the code for groups; one in columns is.
TEST_P(Groups, OtherC) {
  GemmTypes wide = types();
  if (is_supported({wide.a, wide.b, ElementType::f32})) wide.c = ElementType::f32;
  for (const Schedule& schedule : schedules()) {
    for (const double beta : {0.0, 1.0}) {
      expect_right(ragged_and_empty(), {.types = wide, .beta = beta}, schedule);
      expect_right(ragged_and_empty(),
                   {.types = types(), .c = {.column_major = true}, .beta = beta}, schedule);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Groups, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
