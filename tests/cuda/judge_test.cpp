// The judge itself: it agrees with the host's naive product, finds the one wrong element among many
// products, and what was written outside all of them.
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
