// Every kernel × schedule × type of C × major orders × edge sizes × scalars × epilogues against
// float64. Each parameterised test runs one kernel of the catalogue over a few hundred products.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "cuda/product.hpp"

namespace tessera::test {
namespace {

std::vector<ElementType> output_types(const KernelEntry& kernel) {
  std::vector<ElementType> types;
  for (const ElementType c : {ElementType::f64, ElementType::f32, ElementType::f16,
                              ElementType::bf16, ElementType::i32}) {
    if (is_supported({kernel.a, kernel.b, c})) types.push_back(c);
  }
  return types;
}

bool is_integer(const KernelEntry& kernel) {
  return accumulator_of({kernel.a, kernel.b, {}}) == ElementType::i32;
}

// Row lengths that are a multiple of 16 bytes, as the tensor memory accelerator wants.
DeviceLayout aligned(ElementType type, std::int64_t rows, std::int64_t cols, bool column_major) {
  const std::int64_t length = column_major ? rows : cols;
  const std::int64_t unit = 16 / size_of(type);
  return {.column_major = column_major, .padding = (length + unit - 1) / unit * unit - length};
}

// The four schedules, with worker counts below, at and far above what a GPU holds at once.
std::vector<Schedule> schedules(int processors) {
  using enum ScheduleKind;
  return {{.kind = data_parallel, .workers = processors, .order = TileOrder::swizzle, .group_m = 3},
          {.kind = data_parallel, .workers = 1},
          {.kind = split_k, .workers = processors, .splits = 3, .order = TileOrder::hilbert},
          {.kind = split_k, .workers = 5, .splits = 11},
          {.kind = stream_k, .workers = 7},
          {.kind = stream_k, .workers = processors, .order = TileOrder::hilbert},
          {.kind = stream_k, .workers = 1000},
          {.kind = hybrid, .workers = 4, .order = TileOrder::swizzle, .group_m = 2},
          {.kind = hybrid, .workers = 3, .two_tile = false}};
}

class Kernels : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    processors_ = device_under_test().workers;
  }

  const KernelEntry& kernel() const { return GetParam(); }

  void expect_right(const ProductCase& what, const Schedule& schedule) {
    SCOPED_TRACE(describe_case(what, schedule));
    const auto verdict = run_case(what, kernel(), schedule);
    if (!verdict) return;
    ++judged_;
    EXPECT_EQ(*verdict, "");
  }

  void TearDown() override {
    if (!IsSkipped()) RecordProperty("products", judged_);
  }

  int processors_ = 0;
  int judged_ = 0;
};

// Sizes around zero, one and the tile, and primes.
TEST_P(Kernels, EdgeSizes) {
  const TileConfig& tile = kernel().tile;
  const std::array<std::int64_t, 6> ms = {
      1, tile.block_m - 1, tile.block_m, tile.block_m + 1, 2 * tile.block_m + 37, 3 * tile.block_m};
  const std::array<std::int64_t, 6> ns = {
      1, tile.block_n - 1, tile.block_n, tile.block_n + 1, 2 * tile.block_n + 53, 8};
  const std::array<std::int64_t, 7> ks = {
      1, tile.block_k - 1, tile.block_k, tile.block_k + 1, 7 * tile.block_k + 19,
      0, 40 * tile.block_k};
  const auto all = schedules(processors_);
  int turn = 0;
  for (const std::int64_t m : ms) {
    for (const std::int64_t n : ns) {
      for (const std::int64_t k : ks) {
        const GemmTypes types{kernel().a, kernel().b, output_types(kernel()).back()};
        ProductCase what{.types = types, .shape = {m, n, k}, .beta = turn % 3 == 0 ? 1.0 : 0.0};
        what.a = aligned(types.a, m, k, false);
        what.b = aligned(types.b, k, n, turn % 2 == 0);
        what.c = aligned(types.c, m, n, false);
        what.seed = static_cast<std::uint64_t>(turn + 1);
        expect_right(what, all[static_cast<std::size_t>(turn) % all.size()]);
        ++turn;
      }
    }
  }
  EXPECT_GT(judged_, 200);
}

// C = alpha·A·B in the input's type: where it has whole 16 bytes to a line, the last tiles of
// Hopper's kernels lie back over their neighbours.
TEST_P(Kernels, LastTilesInside) {
  const TileConfig& tile = kernel().tile;
  const GemmTypes types = gemm_types_for(kernel().a);
  for (const Schedule& schedule :
       {Schedule{.workers = 7},
        Schedule{.kind = ScheduleKind::split_k, .workers = processors_, .splits = 3}}) {
    for (const std::int64_t m : {72, tile.block_m + 8, 2 * tile.block_m + 40}) {
      for (const std::int64_t n : {72, tile.block_n + 8, 2 * tile.block_n + 40}) {
        for (const bool column_major : {false, true}) {
          ProductCase what{.types = types, .shape = {m, n, 5 * tile.block_k + 8}, .alpha = 2};
          what.a = aligned(types.a, m, what.shape.k, column_major);
          what.b = aligned(types.b, what.shape.k, n, column_major);
          what.c = aligned(types.c, m, n, column_major);
          expect_right(what, schedule);
        }
      }
    }
  }
  EXPECT_EQ(judged_, 36);
}

// Every schedule with every combination of major orders and every type of C.
TEST_P(Kernels, MajorOrders) {
  const TileConfig& tile = kernel().tile;
  const GemmShape shape{tile.block_m + 40, 2 * tile.block_n + 24, 5 * tile.block_k + 8};
  for (const Schedule& schedule : schedules(processors_)) {
    for (const ElementType c : output_types(kernel())) {
      for (int majors = 0; majors < 8; ++majors) {
        const GemmTypes types{kernel().a, kernel().b, c};
        ProductCase what{.types = types, .shape = shape, .alpha = 2, .beta = -1};
        what.a = aligned(types.a, shape.m, shape.k, (majors & 1) != 0);
        what.b = aligned(types.b, shape.k, shape.n, (majors & 2) != 0);
        what.c = aligned(types.c, shape.m, shape.n, (majors & 4) != 0);
        expect_right(what, schedule);
      }
    }
  }
  EXPECT_GE(judged_, 72);
}

// Scalars and epilogues. Integers take whole scalars and ReLU alone.
TEST_P(Kernels, Epilogues) {
  const TileConfig& tile = kernel().tile;
  const GemmShape shape{tile.block_m + 9, tile.block_n + 17, 3 * tile.block_k};
  const auto all = schedules(processors_);
  int turn = 0;
  for (const ElementType c : output_types(kernel())) {
    for (const double beta : {0.0, 1.0, -0.5}) {
      for (const double alpha : {1.0, -0.75, 0.0}) {
        for (const BiasAxis bias : {BiasAxis::none, BiasAxis::row, BiasAxis::column}) {
          for (const Activation activation :
               {Activation::none, Activation::relu, Activation::gelu_tanh, Activation::gelu_erf,
                Activation::silu}) {
            const bool whole = is_integer(kernel());
            if (whole && activation != Activation::none && activation != Activation::relu) continue;
            const GemmTypes types{kernel().a, kernel().b, c};
            ProductCase what{.types = types,
                             .shape = shape,
                             .alpha = whole ? alpha * 4 : alpha,
                             .beta = whole ? beta * 2 : beta,
                             .epilogue = {bias, activation},
                             .bias_stride = 1 + turn % 2};
            what.a = aligned(types.a, shape.m, shape.k, false);
            what.b = aligned(types.b, shape.k, shape.n, false);
            what.c = aligned(types.c, shape.m, shape.n, turn % 4 == 3);
            what.seed = static_cast<std::uint64_t>(turn + 1);
            expect_right(what, all[static_cast<std::size_t>(turn) % all.size()]);
            ++turn;
          }
        }
      }
    }
  }
  EXPECT_GT(judged_, 0);
}

// Small whole numbers have one right answer, whoever adds what when.
TEST_P(Kernels, IntegersAreExact) {
  const TileConfig& tile = kernel().tile;
  const GemmShape shape{2 * tile.block_m + 8, tile.block_n + 8, 97 * tile.block_k};
  for (const Schedule& schedule : schedules(processors_)) {
    for (const ElementType c : output_types(kernel())) {
      for (const double beta : {0.0, 1.0, -1.0}) {
        const GemmTypes types{kernel().a, kernel().b, c};
        ProductCase what{
            .types = types, .shape = shape, .beta = beta, .fill = DeviceFill::integers};
        what.a = aligned(types.a, shape.m, shape.k, false);
        what.b = aligned(types.b, shape.k, shape.n, false);
        what.c = aligned(types.c, shape.m, shape.n, false);
        expect_right(what, schedule);
      }
    }
  }
  EXPECT_GT(judged_, 0);
}

// Odd paddings, misaligned bases and matrices without a unit stride: what ordinary loads take, and
// the Hopper kernels after copying.
TEST_P(Kernels, AnyStridesAndAlignment) {
  const int products = kernel().needs_tma ? 60 : 300;
  std::mt19937_64 random(11);
  const auto all = schedules(processors_);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  const auto layout = [&] {
    const std::array<std::int64_t, 6> paddings = {0, 1, 2, 4, 8, 37};
    return DeviceLayout{.column_major = below(2) == 1,
                        .padding = paddings[static_cast<std::size_t>(below(6))],
                        .step = below(4) == 0 ? 3 : 1,
                        .offset = below(3) == 0 ? below(9) : 0};
  };
  for (int i = 0; i < products; ++i) {
    const auto types = output_types(kernel());
    const ElementType c =
        types[static_cast<std::size_t>(below(static_cast<std::int64_t>(types.size())))];
    const ProductCase what{.types = {kernel().a, kernel().b, c},
                           .shape = {1 + below(300), 1 + below(300), below(400)},
                           .a = layout(),
                           .b = layout(),
                           .c = layout(),
                           .beta = static_cast<double>(below(2)),
                           .seed = static_cast<std::uint64_t>(i + 1)};
    expect_right(what, all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))]);
  }
  EXPECT_EQ(judged_, products);
}

// C by vectors and by elements, along both sides, with everything that its epilogue may hold; rows
// that begin anywhere, and tiles that reach over the edge by 1 to 4 elements.
TEST_P(Kernels, EveryWayToC) {
  const TileConfig& tile = kernel().tile;
  const auto all = schedules(processors_);
  const bool whole = is_integer(kernel());
  int turn = 0;
  for (const ElementType c : output_types(kernel())) {
    for (const std::int64_t edge : {1, 2, 3, 4, 8, 20}) {
      for (const std::int64_t padding : {0, 1, 2, 3, 4, 8}) {
        for (const bool column_major : {false, true}) {
          const GemmTypes types{kernel().a, kernel().b, c};
          const std::int64_t other = turn % 3 * 5;
          ProductCase what{
              .types = types,
              .shape = {tile.block_m + (column_major ? edge : other),
                        tile.block_n + (column_major ? other : edge), 2 * tile.block_k},
              .alpha = 2,
              .beta = static_cast<double>(turn % 2),
              .epilogue = {static_cast<BiasAxis>(turn % 5 % 3), turn % 7 > 1 ? Activation::none
                                                                : whole      ? Activation::relu
                                                                : turn % 7 > 0
                                                                    ? Activation::gelu_tanh
                                                                    : Activation::silu},
              .bias_stride = 1 + turn / 2 % 2,
              .seed = static_cast<std::uint64_t>(turn + 1)};
          what.a = aligned(types.a, what.shape.m, what.shape.k, false);
          what.b = aligned(types.b, what.shape.k, what.shape.n, turn % 2 == 0);
          what.c = {.column_major = column_major, .padding = padding, .offset = turn % 11 / 8};
          expect_right(what, all[static_cast<std::size_t>(turn) % all.size()]);
          ++turn;
        }
      }
    }
  }
  EXPECT_EQ(judged_, turn);
}

// Where C lies so that the tensor memory accelerator can write it, the epilogue happens in
// registers; where a line of it begins elsewhere, on another way to C.
TEST_P(Kernels, BothWaysToCMakeTheSameBits) {
  if (!kernel().needs_tma) GTEST_SKIP() << "it has one way to C";
  const TileConfig& tile = kernel().tile;
  const GemmShape shape{2 * tile.block_m + 8, tile.block_n + 24, 3 * tile.block_k};
  const auto all = schedules(processors_);
  int turn = 0;
  for (const ElementType c : {kernel().a, ElementType::f32}) {
    for (const BiasAxis bias : {BiasAxis::none, BiasAxis::row, BiasAxis::column}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_tanh,
                                          Activation::gelu_erf, Activation::silu}) {
        for (const bool column_major : {false, true}) {
          ProductCase what{.types = {kernel().a, kernel().b, c},
                           .shape = shape,
                           .alpha = -0.75,
                           .beta = turn % 3 == 0 ? 0 : 0.5,
                           .epilogue = {bias, activation},
                           .bias_stride = 1 + turn % 2,
                           .seed = static_cast<std::uint64_t>(turn + 1)};
          what.c = aligned(c, shape.m, shape.n, column_major);
          const Schedule& schedule = all[static_cast<std::size_t>(turn) % all.size()];
          SCOPED_TRACE(describe_case(what, schedule));
          DeviceProduct by_boxes(what);
          what.c.padding += 1;
          DeviceProduct by_lines(what);
          for (DeviceProduct* const product : {&by_boxes, &by_lines}) {
            const Operands group = product->operands();
            run(forced_plan(product->problem(), kernel(), schedule), {&group, 1});
          }
          EXPECT_EQ(by_boxes.verdict(3), "");
          EXPECT_EQ(by_boxes.c().count_differences(by_lines.c()), 0);
          ++turn;
        }
      }
    }
  }
}

// A few small products under every schedule, some with all that C may depend on: short enough for
// compute-sanitizer. The peers of the last one's six tiles meet.
TEST_P(Kernels, Sanitizer) {
  const TileConfig& tile = kernel().tile;
  const bool whole = is_integer(kernel());
  const ElementType last_type = output_types(kernel()).back();
  struct Sample {
    Schedule schedule;
    ElementType c;
    double beta = 0;
    Epilogue epilogue = {};
    int iterations = 4;
  };
  using enum ScheduleKind;
  const Epilogue all = {BiasAxis::column, whole ? Activation::relu : Activation::silu};
  for (const Sample& sample :
       {Sample{{.kind = data_parallel, .workers = 3}, gemm_types_for(kernel().a).c},
        Sample{{.kind = split_k, .workers = 4, .splits = 3}, last_type, 0, all},
        Sample{{.kind = stream_k, .workers = 11}, last_type, 1},
        Sample{{.kind = hybrid, .workers = 3}, last_type, 1},
        Sample{{.kind = data_parallel, .workers = 3},
               gemm_types_for(kernel().a).c,
               1,
               {BiasAxis::row, Activation::relu}},
        Sample{{.kind = split_k, .workers = 48, .splits = 8}, last_type, 0, {}, 8}}) {
    const GemmShape shape{tile.block_m + 8, 2 * tile.block_n + 8,
                          sample.iterations * tile.block_k + 8};
    const GemmTypes types{kernel().a, kernel().b, sample.c};
    ProductCase what{
        .types = types, .shape = shape, .beta = sample.beta, .epilogue = sample.epilogue};
    what.a = aligned(types.a, shape.m, shape.k, false);
    what.b = aligned(types.b, shape.k, shape.n, sample.schedule.splits == 3);
    what.c = aligned(types.c, shape.m, shape.n, false);
    expect_right(what, sample.schedule);
  }
  EXPECT_EQ(judged_, 6);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Kernels, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
