// The judge itself: it agrees with the host's naive product, finds the one wrong element among many
// products, by a sample, too, and what was written outside all of them.
#include "cuda/judge.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/reference.hpp"
#include "cuda/ragged_case.hpp"

namespace tessera::test {
namespace {

std::vector<float> download(const ConstMatrixView& view) {
  std::vector<float> values(static_cast<std::size_t>(view.rows * view.row_stride));
  check(
      cudaMemcpy(values.data(), view.data, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

void set_float(const MatrixView& view, std::int64_t row, std::int64_t col, float value) {
  check(cudaMemcpy(static_cast<float*>(view.data) + row * view.row_stride + col, &value,
                   sizeof value, cudaMemcpyHostToDevice));
}

class Judge : public CudaTest {
 protected:
  // Rows 5 to 77 of 90 belong to three groups, the second of which is empty.
  static DeviceRagged judged_ragged() {
    DeviceRagged ragged(
        {.shapes = {{30, 24, 40}, {0, 24, 40}, {42, 24, 40}}, .capacity = 90, .first = 5});
    run_ragged(*forced_ragged_plan(ragged, *find_kernel("sm80_general_f32_128x128x16"), {}),
               ragged.products());
    check(cudaDeviceSynchronize());
    EXPECT_EQ(ragged.verdict(1), "");
    return ragged;
  }

  static DeviceProduct judged_product(const GemmShape& shape) {
    DeviceProduct product({.shape = shape});
    const Operands group = product.operands();
    run(forced_plan(product.problem(), *find_kernel("sm80_general_f32_128x128x16"), {}),
        {&group, 1});
    check(cudaDeviceSynchronize());
    EXPECT_EQ(product.verdict(1), "");
    return product;
  }
};

TEST_F(Judge, AgreesWithTheHostsNaiveProduct) {
  const DeviceProduct product(
      {.shape = {50, 70, 90}, .beta = 1, .epilogue = {BiasAxis::column, Activation::gelu_tanh}});
  const Operands device = product.operands();
  const std::vector<float> a = download(device.a);
  const std::vector<float> b = download(device.b);
  std::vector<float> c = download(device.c);
  std::vector<float> bias(70);
  check(cudaMemcpy(bias.data(), device.bias.data, 70 * sizeof(float), cudaMemcpyDeviceToHost));
  reference_gemm(1,
                 {row_major(a.data(), 50, 90),
                  row_major(b.data(), 90, 70),
                  row_major(c.data(), 50, 70),
                  {bias.data(), 70, 1, ElementType::f32}},
                 1, product.what().epilogue);
  check(cudaMemcpy(device.c.data, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
  EXPECT_EQ(product.verdict(1), "");
  set_float(device.c, 49, 3, c[49 * 70 + 3] + 1e-3F);
  const std::string wrong = product.verdict(1);
  EXPECT_NE(wrong.find("1 of 3500 elements wrong; the first at (49, 3)"), std::string::npos)
      << wrong;
}

TEST_F(Judge, FindsOneWrongElementAmongManyProducts) {
  const DeviceRagged ragged = judged_ragged();
  set_float(ragged.c().view(), 5 + 30 + 7, 11, 1000);
  const std::string wrong = ragged.verdict(1);
  EXPECT_NE(wrong.find("1 of 1728 elements wrong; the first at (7, 11) of product 2"),
            std::string::npos)
      << wrong;
}

// Far more samples than elements meet every one of them.
TEST_F(Judge, FindsOneWrongElementByItsSample) {
  for (const auto& [row, col] : {std::pair{0, 0}, {0, 69}, {17, 31}, {49, 3}, {49, 69}}) {
    const DeviceProduct product = judged_product({50, 70, 90});
    EXPECT_EQ(product.verdict(1, 100'000), "");
    set_float(product.operands().c, row, col, 1000);
    const std::string wrong = product.verdict(1, 100'000);
    const std::string where =
        "the first at (" + std::to_string(row) + ", " + std::to_string(col) + ") of product 0";
    EXPECT_NE(wrong.find(where), std::string::npos) << wrong;
  }
}

TEST_F(Judge, SamplesCoverTheEdges) {
  constexpr std::int64_t kRows = 3000;
  constexpr std::int64_t kCols = 2000;
  struct Part {
    std::int64_t row, col, rows, cols, samples;
  };
  for (const Part& part :
       {Part{0, 0, 1, 1, 4}, Part{0, kCols - 1, 1, 1, 4}, Part{kRows - 1, 0, 1, 1, 4},
        Part{kRows - 1, kCols - 1, 1, 1, 4}, Part{0, 1, 1, kCols - 2, 32},
        Part{kRows - 1, 1, 1, kCols - 2, 32}, Part{1, 0, kRows - 2, 1, 32},
        Part{1, kCols - 1, kRows - 2, 1, 32}, Part{1, 1, kRows - 2, kCols - 2, 32}}) {
    const DeviceProduct product = judged_product({kRows, kCols, 20});
    EXPECT_EQ(product.verdict(1, part.samples), "");
    const MatrixView c = product.operands().c;
    check(cudaMemset2D(static_cast<float*>(c.data) + part.row * c.row_stride + part.col,
                       c.row_stride * sizeof(float), 0x7f, part.cols * sizeof(float), part.rows));
    EXPECT_NE(product.verdict(1, part.samples), "")
        << part.rows << "×" << part.cols << " from (" << part.row << ", " << part.col << ")";
  }
  const DeviceProduct product = judged_product({kRows, kCols, 20});
  set_float(product.operands().c, kRows / 2, kCols / 2, 1000);
  EXPECT_EQ(product.verdict(1, 32), "") << "a sample is not the whole";
}

TEST_F(Judge, FindsWhatIsWrittenOutsideAllProducts) {
  for (const std::int64_t row : {0, 4, 77, 89}) {
    const DeviceRagged ragged = judged_ragged();
    set_float(ragged.c().view(), row, 23, 0);
    const std::string wrong = ragged.verdict(1);
    EXPECT_NE(wrong.find("1 elements outside all products changed"), std::string::npos) << wrong;
  }
  const DeviceRagged ragged = judged_ragged();
  set_float(ragged.c().view(), 90, 0, 0);
  EXPECT_NE(ragged.verdict(1), "") << "a guard";
}

}  // namespace
}  // namespace tessera::test
